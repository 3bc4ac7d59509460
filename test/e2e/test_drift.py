"""Drift at once: what others do to a Spec's objects is told by watches, and no check falls into a
test: the interval is longer than any."""

import json
import time

import pytest

from kusion_e2e.controller import Controller
from kusion_e2e.rights import account, bound, wait_until_may
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.wait import eventually

LONG = "20m"
QUIET = 3  # seconds in which nothing happens that must not happen
OWNER = "api.kusion.io/owner"


def maps(namespace, name=""):
    return f"/api/v1/namespaces/{namespace}/configmaps/{name}".rstrip("/")


@pytest.fixture(scope="module")
def controlled(state_namespace):
    controller = Controller(state_namespace, flags=["--log-level", "debug"]).wait_leading()
    state_namespace.controller = controller
    yield state_namespace
    assert controller.stop() == 0


@pytest.fixture
def spec(controlled, tenant):
    return Spec(controlled, tenant)


def live(spec, name):
    answer = spec.cluster.api.get(maps(spec.namespace, name))
    return answer.object if answer.ok else None


def data(spec, name="a"):
    return (live(spec, name) or {}).get("data")


def edit(spec, name="a", **fields):
    spec.cluster.api.patch(maps(spec.namespace, name), {"data": fields}).must()


def reconciles(spec, result=None):
    """How often the Spec was reconciled."""
    found = (json.loads(line) for line in spec.cluster.controller.logged().splitlines() if '"reconciled"' in line)
    return sum(one["controller"] == "spec" and one["key"] == f"{spec.namespace}/{spec.name}"
               and result in (None, one["result"]) for one in found)


def settled(spec, resources, **fields):
    spec.apply(resources, **{"interval": LONG, **fields}).wait("True")
    eventually(lambda: quiet(spec))
    return spec


def quiet(spec):
    before = reconciles(spec)
    time.sleep(1)
    assert reconciles(spec) == before
    return True


def a_map(spec, name="a", **more):
    return config_map(name, spec.namespace, {"a": "b"}, **more)


# ---- Corrected at once ----

def edited(spec):
    edit(spec, a="other")


def key_removed(spec):
    edit(spec, a=None)


def deleted(spec):
    spec.cluster.api.delete(maps(spec.namespace, "a")).must()


def made_anew(spec):
    deleted(spec)
    spec.cluster.api.create(maps(spec.namespace), {"metadata": {"name": "a"}, "data": {"a": "other"}})


def managers_cleared(spec):
    spec.cluster.api.patch(maps(spec.namespace, "a"), {"metadata": {"managedFields": [{}]}, "data": {"a": "other"}}).must()


def label_removed(spec):
    spec.cluster.api.patch(maps(spec.namespace, "a"), {"metadata": {"labels": {OWNER: None}}}).must()


@pytest.mark.parametrize("change", [edited, key_removed, deleted, managers_cleared, label_removed],
                         ids=lambda change: change.__name__)
def test_drift_is_corrected_at_once(spec, change):
    settled(spec, [a_map(spec), a_map(spec, "b")])
    change(spec)

    def corrected():
        one = live(spec, "a")
        assert one and one.get("data") == {"a": "b"} and OWNER in one["metadata"].get("labels", {}), one
        return True

    eventually(corrected)
    eventually(lambda: spec.get()["status"].get("driftCorrections", {}).get("count") == 1)
    spec.wait("True")
    assert "driftDetection" not in spec.get()["status"]
    eventually(lambda: quiet(spec))


def test_what_others_do_beside_our_fields_is_no_drift(spec):
    settled(spec, [a_map(spec)])
    before = reconciles(spec)
    edit(spec, other="theirs")
    spec.cluster.api.patch(maps(spec.namespace, "a"), {"metadata": {"annotations": {"theirs": "yes"}}}).must()
    time.sleep(QUIET)
    assert reconciles(spec) == before and data(spec) == {"a": "b", "other": "theirs"}


def test_our_own_writes_wake_nobody(spec):
    """Their events come before the answers, or after them."""
    for round in range(10):
        spec.apply([config_map(f"m{i}", spec.namespace, {"a": str(round)}) for i in range(20)],
                   interval=LONG).wait("True")
    eventually(lambda: quiet(spec))
    assert "driftCorrections" not in spec.get()["status"]
    assert len(spec.releases()) == 10
    checks = [line for line in spec.cluster.controller.logged().splitlines()
              if '"nothing to do"' in line and f'"namespace":"{spec.namespace}"' in line]
    assert not checks, checks


def test_drift_while_nobody_looked_is_found_at_the_start(spec):
    settled(spec, [a_map(spec)])
    controller = spec.cluster.controller
    controller.crash()
    edit(spec, a="other")
    spec.cluster.controller = Controller(spec.cluster, flags=["--log-level", "debug"]).wait_leading()
    controller.process, controller.log = spec.cluster.controller.process, spec.cluster.controller.log
    eventually(lambda: data(spec) == {"a": "b"})


# ---- Modes ----

def test_warn_tells_and_changes_nothing(spec):
    settled(spec, [a_map(spec), a_map(spec, "b")], driftDetection={"mode": "warn"})
    edit(spec, a="other")
    spec.cluster.api.delete(maps(spec.namespace, "b")).must()

    def told():
        drifted = spec.condition("Drifted")
        assert drifted and f"v1:ConfigMap:{spec.namespace}:b: it is gone" in drifted["message"], drifted
        return drifted

    drifted = eventually(told)
    assert (drifted["status"], drifted["reason"]) == ("True", "DriftDetected")
    assert f"v1:ConfigMap:{spec.namespace}:a: data.a" in drifted["message"], drifted
    assert spec.condition()["status"] == "True"
    spec.wait_event("DriftDetected", "data.a", "Warning")
    eventually(lambda: quiet(spec))
    assert data(spec) == {"a": "other"} and not live(spec, "b") and len(spec.releases()) == 1
    version = spec.get()["metadata"]["resourceVersion"]
    edit(spec, a="a third")  # the same drift, with another value
    time.sleep(QUIET)
    assert spec.get()["metadata"]["resourceVersion"] == version
    spec.apply([a_map(spec), a_map(spec, "b")], interval=LONG, driftDetection={"mode": "warn"},
               commonMetadata={}, timeout="4m").wait("True")  # a change of the Spec
    assert data(spec) == {"a": "b"} and live(spec, "b")
    eventually(lambda: not spec.condition("Drifted"))


def test_warn_is_over_when_it_is_set_back(spec):
    settled(spec, [a_map(spec)], driftDetection={"mode": "warn"})
    spec.cluster.api.delete(maps(spec.namespace, "a")).must()
    eventually(lambda: spec.condition("Drifted"))
    spec.apply([a_map(spec)], interval=LONG, driftDetection={"mode": "enabled"}).wait("True")
    assert data(spec) == {"a": "b"} and not spec.condition("Drifted")


def test_disabled_ignores_drift_until_the_spec_changes(spec):
    spec.apply([a_map(spec)], driftDetection={"mode": "disabled"}, interval="1s").wait("True")
    edit(spec, a="other")
    time.sleep(QUIET)
    assert data(spec) == {"a": "other"} and not spec.condition("Drifted") and len(spec.releases()) == 1
    spec.apply([a_map(spec), a_map(spec, "b")], driftDetection={"mode": "disabled"}).wait("True")
    assert data(spec) == {"a": "b"}


@pytest.mark.parametrize("mode, words", [("off", "spec.driftDetection.mode: Unsupported value"),
                                         ("Enabled", "spec.driftDetection.mode: Unsupported value")])
def test_a_mode_that_is_none(spec, mode, words):
    body = {"apiVersion": "api.kusion.io/v1", "kind": "Spec", "metadata": {"name": "wrong"},
            "spec": {"resources": [], "driftDetection": {"mode": mode}}}
    answer = spec.cluster.api.create(f"/apis/api.kusion.io/v1/namespaces/{spec.namespace}/specs", body)
    assert answer.code == 422 and words in answer.message, answer.message


# ---- Fights ----

def test_a_fight_slows_down(spec):
    """Another writes each time that it is corrected."""
    settled(spec, [a_map(spec), a_map(spec, "b")])
    corrected, end = 0, time.monotonic() + 30
    while time.monotonic() < end:
        if data(spec) == {"a": "b"}:
            corrected += 1
            edit(spec, a=f"theirs {corrected}")
        time.sleep(0.05)
    assert 3 <= corrected - 1 <= 5, corrected  # three at once, then one in a minute
    drifted = spec.condition("Drifted")
    assert drifted["reason"] == "FieldFight" and "data.a" in drifted["message"], drifted
    spec.cluster.api.delete(maps(spec.namespace, "b")).must()  # what is not fought for is corrected
    eventually(lambda: live(spec, "b"))


def test_an_object_that_changes_all_the_time_keeps_nobody_busy(spec):
    settled(spec, [a_map(spec)], driftDetection={"mode": "warn"})
    before, writes, end = reconciles(spec), 0, time.monotonic() + 10
    while time.monotonic() < end:
        writes += 1
        edit(spec, a=f"theirs {writes}")
        edit(spec, a=None)
    assert writes > 40
    # ten at once, then one in a second; each wake in vain is a reconcile that ends at once
    checks = [line for line in spec.cluster.controller.logged().splitlines()
              if '"a list begins"' in line and spec.namespace in line]
    assert len(checks) <= 5, checks
    assert reconciles(spec) - before < 3 * 2 * writes


# ---- Without whole watches ----

def test_a_refused_watch_falls_back_to_the_interval(controlled, state_namespace):
    """The account may not watch: the status says so, and the regular check corrects."""
    namespace = controlled.new_namespace("nowatch")
    controlled.kubectl("create", "role", "maps", "-n", namespace, "--resource=configmaps",
                       "--verb=get,list,create,patch,delete")
    controlled.kubectl("create", "rolebinding", "maps", "-n", namespace, "--role=maps",
                       f"--serviceaccount={namespace}:default")
    wait_until_may(controlled, account(namespace), "patch", "configmaps", namespace)
    spec = Spec(controlled, namespace)
    try:
        spec.apply([a_map(spec), a_map(spec, "b")], interval="1s").wait("True")
        told = eventually(lambda: spec.get()["status"].get("driftDetection"))
        assert told["by"] == "Interval" and "watch" in told["message"] and "configmaps" in told["message"], told
        edit(spec, a="other")
        eventually(lambda: data(spec) == {"a": "b"})
        controlled.kubectl("delete", "role", "maps", "-n", namespace)
        controlled.kubectl("create", "role", "maps", "-n", namespace, "--resource=configmaps",
                           "--verb=get,list,create,patch,delete,watch")
        eventually(lambda: "driftDetection" not in spec.get()["status"], 90)  # the watch is tried again
    finally:
        spec.delete()
        controlled.delete_namespace(namespace)
