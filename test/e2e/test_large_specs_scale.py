"""A Spec of thousands of resources beside others, killed on the way. With KUSION_TEST_LONG there are 10,000."""

import gzip
import json
import time
from pathlib import Path

import pytest

from kusion_e2e.controller import Controller
from kusion_e2e.long import LONG
from kusion_e2e.rights import account, bound, wait_until_may
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.wait import eventually
from test_large_specs import Sourced, manifest, ref, stream

COUNT = 10000 if LONG else 600
PATIENT = 900  # seconds
MEMORY = 192 << 20  # of the chart's limit, what five eighths for providers leave


def content(namespace, level="1", count=COUNT):
    return gzip.compress(stream(*(manifest(f"n{i}", namespace, level) for i in range(count))).encode())


def resident(controller):
    for line in Path(f"/proc/{controller.process.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    raise AssertionError("it has ended")


def counted(spec):
    path = f"/api/v1/namespaces/{spec.namespace}/configmaps?labelSelector=api.kusion.io/owner"
    return len(spec.cluster.api.get(path).must().object["items"])


@pytest.fixture
def other_tenant(state_namespace):
    name = state_namespace.new_namespace("tenant")
    with bound(state_namespace, name, "cluster-admin", name):
        wait_until_may(state_namespace, account(name), "*", "*", group="*")
        yield name
        state_namespace.delete_namespace(name)


@pytest.fixture
def controller(state_namespace):
    controller = Controller(state_namespace).wait_leading()
    yield controller
    controller.stop()


def test_thousands_beside_another_tenant(state_namespace, tenant, other_tenant, controller):
    cluster = state_namespace
    spec = Sourced(cluster, tenant)
    spec.put("all", content(tenant))
    spec.take(ref("all"), interval="1h", timeout="30m")
    eventually(lambda: spec.level("n0") == "1", PATIENT)
    other = Spec(cluster, other_tenant, "other").apply([config_map("other", other_tenant)])
    other.wait("True")
    assert counted(spec) < COUNT  # it did not wait for the thousands (hack/bench fairness: how long it takes)
    spec.wait("True", PATIENT)
    status = spec.get()["status"]
    assert status["plan"]["create"] == COUNT and status["resources"]["total"] == COUNT
    assert len(json.dumps(spec.get())) < 1 << 20
    [release] = [one for one in spec.records()]
    assert release["status"]["plan"]["create"] == COUNT
    assert len(json.dumps(release)) < 1 << 20
    assert "planRef" in release["status"] or len(release["status"]["results"]) == COUNT
    # A check, a change of one, and the deletion of all.
    before = resident(controller)
    spec.look()
    assert len(spec.records()) == 1
    texts = [manifest(f"n{i}", tenant, "2" if i == 7 else "1") for i in range(COUNT)]
    spec.put("all", gzip.compress(stream(*texts).encode()))
    spec.wait_level("n7", "2")
    spec.wait("True", PATIENT)
    ended = eventually(lambda: [one for one in spec.records() if one["status"].get("phase") == "succeeded"][1:]
                       and spec.records())  # Ready is True until the status says that something is changed
    assert [one["status"]["plan"]["update"] for one in ended] == [0, 1]
    assert resident(controller) < MEMORY, (before, resident(controller))
    spec.delete(PATIENT)
    assert counted(spec) == 0


def test_a_cut_source_prunes_none_of_thousands(state_namespace, tenant, controller):
    spec = Sourced(state_namespace, tenant)
    spec.put("all", content(tenant, count=300))
    spec.take(ref("all"), interval="1h").wait("True", PATIENT)
    whole = content(tenant, "2", count=300)
    spec.put("all", whole[: len(whole) // 2])
    assert "cut or damaged" in spec.message("InvalidSource")
    assert counted(spec) == 300 and spec.level("n299") == "1"


@pytest.mark.parametrize("moment", [0, 0.3, 1.0])  # seconds after the change
def test_killed_while_a_change_is_applied(state_namespace, tenant, moment):
    controller = Controller(state_namespace).wait_leading()
    try:
        spec = Sourced(state_namespace, tenant)
        spec.put("one", stream(manifest("a", tenant), manifest("b", tenant)))
        spec.take(ref("one")).wait("True")
        spec.put("one", stream(*(manifest(f"n{i}", tenant, "2") for i in range(200))))
        time.sleep(moment)
        controller.crash()
        controller = Controller(state_namespace).wait_leading()
        eventually(lambda: spec.level("a") is None and spec.level("n199") == "2")
        spec.wait("True")
        eventually(lambda: [one["status"].get("phase") for one in spec.records()] == ["succeeded", "succeeded"])
    finally:
        controller.crash()
