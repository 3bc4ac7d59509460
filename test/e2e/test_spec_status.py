"""What a Spec's status says when nothing is done, and while something is in the way."""

import re
import time

import pytest

from kusion_e2e.shell import type_in
from kusion_e2e.specs import Spec, config_map, held, resource
from kusion_e2e.state_backend import need_objects
from kusion_e2e.wait import eventually


@pytest.mark.parametrize("applied_before", [False, True])
def test_one_that_is_suspended_says_so(controlled, tenant, applied_before):
    spec = Spec(controlled, tenant)
    if applied_before:
        spec.apply([config_map("a", tenant)])
        spec.wait("True")
    spec.apply([config_map("a", tenant, {"a": "new"})], suspend=True)
    eventually(lambda: spec.condition("Finished"))
    status = spec.get()["status"]
    ready = next(one for one in status["conditions"] if one["type"] == "Ready")
    kept = ("True", 1) if applied_before else ("Unknown", 1)
    assert (ready["status"], ready["observedGeneration"]) == kept
    assert ready["reason"] == "Suspended" and "suspended" in ready["message"], ready
    assert status["policy"]["suspend"] is True
    assert bool(controlled.get_json("configmap", "a", "-n", tenant)) is applied_before
    spec.apply([config_map("a", tenant, {"a": "new"})])
    spec.wait("True")
    assert controlled.get_json("configmap", "a", "-n", tenant)["data"] == {"a": "new"}
    spec.delete()


def test_one_that_does_not_go_names_what_is_in_the_way(controlled, tenant):
    spec = Spec(controlled, tenant).apply(
        [config_map("free", tenant), config_map("kept", tenant)], timeout="10s", retryInterval="1s")
    spec.wait("True")
    finalizers = {"metadata": {"finalizers": ["example.com/keep"]}}
    kept = f"/api/v1/namespaces/{tenant}/configmaps/kept"
    controlled.api.patch(kept, finalizers).must()
    controlled.api.delete(spec.path).must()
    eventually(lambda: spec.get()["status"]["conditions"][0]["reason"] == "PruneFailed")
    status = spec.get()["status"]
    assert [one["id"] for one in status["resources"]["failed"]] == [f"v1:ConfigMap:{tenant}:kept"]
    [failed] = status["resources"]["failed"]
    assert "being deleted: it has the finalizer example.com/keep" in failed["message"], failed
    assert (status["resources"]["total"], status["resources"]["ready"]) == (1, 0)
    assert (status["plan"]["create"], status["plan"]["delete"]) in ((0, 2), (0, 1))
    assert status["lastAttemptedRevision"] == spec.releases()[-1]["status"]["revision"] == 2
    controlled.api.patch(kept, {"metadata": {"finalizers": None}}).must()
    eventually(lambda: spec.get() is None)


def test_one_that_fails_says_when_it_is_tried_next_and_how_to_have_it_now(controlled, tenant):
    missing = f"{tenant}-later"
    spec = Spec(controlled, tenant).apply([config_map("a", missing)], retryInterval="10m")
    ready = spec.wait("False")
    assert ready["reason"] == "NamespaceNotFound", ready
    [command] = re.findall(r"\nnext try within 10m; now: (.*)$", ready["message"])
    controlled.kubectl("create", "namespace", missing)
    type_in(controlled, command)
    spec.wait("True")
    spec.delete()


def test_one_that_fails_again_and_again_is_not_written_again(controlled, tenant):
    """The message has no time in it that would differ at each try."""
    spec = Spec(controlled, tenant).apply([config_map("a", f"{tenant}-not")], retryInterval="1s")
    spec.wait("False")
    before = spec.get()["metadata"]["resourceVersion"]
    time.sleep(5)  # two tries at least
    assert spec.get()["metadata"]["resourceVersion"] == before
    spec.apply([], suspend=True)
    spec.delete()


def test_one_that_waits_names_what_it_waits_for(controlled, tenant):
    need_objects()
    claim = resource({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                      "metadata": {"name": "never", "namespace": tenant},
                      "spec": {"storageClassName": "none", "accessModes": ["ReadWriteOnce"],
                               "resources": {"requests": {"storage": "1Gi"}}}})
    spec = Spec(controlled, tenant).apply([claim])
    expected = f"applying: 0 of 1 done, waiting for {claim['id']}: not Bound yet"
    eventually(lambda: spec.condition() and spec.condition()["message"].startswith(expected))
    line = columns(controlled, "release", "spec-1", tenant)
    assert line["PHASE"] == "applying"
    shown = columns(controlled, "spec", "spec", tenant)
    assert shown["STATUS"].startswith("waiting for PersistentVolumeClaim/never: not Bound yet"), shown
    assert shown["OBJECTS"] == "0/1", shown
    assert line["SUMMARY"].startswith("0 of 1 done, waiting for PersistentVolumeClaim/never: not"), line
    spec.delete()


def columns(cluster, kind, name, namespace):
    """What `kubectl get` shows of one object, by column."""
    lines = cluster.kubectl("get", kind, name, "-n", namespace).stdout.splitlines()
    starts = [lines[0].index(word) for word in lines[0].split()]
    ends = [*starts[1:], None]
    return {lines[0][start:end].strip(): lines[1][start:end].strip()
            for start, end in zip(starts, ends)}


def test_kubectl_get_shows_it_in_a_line(controlled, tenant):
    need_objects()
    spec = Spec(controlled, tenant).apply([config_map("a", tenant)])
    spec.wait("True")
    line = columns(controlled, "spec", "spec", tenant)
    assert line.pop("AGE")
    assert line == {"NAME": "spec", "READY": "True", "OBJECTS": "1/1", "REASON": "ReconciliationSucceeded",
                    "STATUS": "revision 1: 1 created"}
    line = columns(controlled, "release", "spec-1", tenant)
    assert line.pop("AGE")
    assert line == {"NAME": "spec-1", "OPERATION": "Apply", "REVISION": "1", "PHASE": "succeeded",
                    "SUMMARY": "1 created", "APPROVER": ""}
    spec.apply([config_map("a", tenant)] + [config_map(f"m{i}", f"{tenant}-not") for i in range(9)])
    spec.wait("False")
    line = columns(controlled, "spec", "spec", tenant)
    assert (line["READY"], line["OBJECTS"], line["REASON"]) == ("False", "1/10", "NamespaceNotFound")
    assert line["STATUS"].startswith(f'9 of 10 failed: namespaces "{tenant}-not" not found: create ')
    assert line["STATUS"].endswith("… (9x)")
    spec.apply([config_map("a", tenant, depends_on=["x" * 200])])
    spec.wait("False")
    line = columns(controlled, "spec", "spec", tenant)
    assert line["REASON"] == "InvalidSpec" and line["STATUS"].endswith("x…")
    assert len(line["STATUS"]) <= 100
    spec.delete()


def test_counts_move_while_it_waits(controlled, tenant):
    """Also between what it says of what it waits for, every thirty seconds."""
    names = ["a", "b", "c"]
    spec = Spec(controlled, tenant).apply([held(tenant, name) for name in names])
    eventually(lambda: spec.condition() and "0 of 3 done, waiting for" in spec.condition()["message"])
    for count, name in enumerate(names[:2], 1):
        controlled.kubectl("label", "pods", "-n", tenant, "-l", f"app={name}", "kwok-hold-")
        eventually(lambda: f"{count} of 3 done" in spec.condition()["message"])
        assert spec.get()["status"]["objects"] == f"{count}/3"
    assert not [one for one in spec.events() if "1 of 3 done" in one["message"]], "no Event for a number"
    spec.delete()


def test_a_failure_is_told_once(controlled, tenant):
    """In full by Ready; by the others in short."""
    spec = Spec(controlled, tenant).apply([held(tenant), config_map("a", tenant)], timeout="5s")
    ready = spec.wait("False")
    assert "apps/v1:Deployment:" in ready["message"] and "not healthy within 5 s (timeout): " in ready["message"]
    status = spec.get()["status"]
    assert status["summary"].startswith("Deployment/held: Available: 0/1"), status
    assert spec.condition("Healthy")["message"] == "1 of 2 healthy"
    assert spec.condition("Stalled")["message"] == spec.condition("Finished")["message"] == status["summary"]
    spec.delete()


def test_it_tells_what_the_spec_owns(controlled, tenant):
    maps = [config_map(f"m{i:03}", tenant) for i in range(103)]
    spec = Spec(controlled, tenant).apply(maps[:2])
    spec.wait("True")
    status = spec.get()["status"]
    entries = [{"id": one["id"], "type": "Kubernetes"} for one in maps]
    assert status["inventory"] == {"total": 2, "entries": entries[:2], "omitted": 0}
    found = controlled.kubectl("get", "configmaps", "-n", tenant, "-o", "name", "-l",
                               f"api.kusion.io/owner={status['owner']}").stdout.split()
    assert found == ["configmap/m000", "configmap/m001"]
    spec.apply([*maps, config_map("bad", f"{tenant}-not")])
    spec.wait("False")
    inventory = spec.get()["status"]["inventory"]
    assert inventory == {"total": 103, "entries": entries[:100], "omitted": 3}
    spec.apply([])
    spec.wait("True")
    assert spec.get()["status"]["inventory"] == {"total": 0, "entries": [], "omitted": 0}
    spec.delete()


def test_a_preview_says_what_would_change(controlled, tenant):
    spec = Spec(controlled, tenant).apply([config_map("a", tenant), config_map("b", tenant)])
    spec.wait("True")
    spec.apply([config_map("a", tenant, {"a": "new"}), config_map("c", tenant)], suspend=True)
    controlled.api.create(f"/apis/api.kusion.io/v1/namespaces/{tenant}/releases", {
        "apiVersion": "api.kusion.io/v1", "kind": "Release", "metadata": {"name": "look"},
        "spec": {"specRef": {"name": "spec"}, "operation": "Preview"}}).must()
    controlled.kubectl("wait", "--for=condition=Finished", "release/look", "-n", tenant,
                       "--timeout=60s")
    line = columns(controlled, "release", "look", tenant)
    assert line["SUMMARY"] == "1 to create, 1 to update, 1 to delete"
    spec.delete()
