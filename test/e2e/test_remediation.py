"""`remediation.strategy: rollback`: after failures, the last revision that succeeded is applied."""

import pytest

from kusion_e2e.requested import Requested
from kusion_e2e.specs import config_map, resource
from kusion_e2e.wait import eventually


@pytest.fixture
def spec(controlled, tenant):
    spec = Requested(controlled, tenant)
    spec.fields.update(remediation={"strategy": "rollback"}, retryInterval="1s")
    yield spec


def bad(spec):
    """What the API server refuses, beside what it takes."""
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": spec.namespace},
               "spec": {"ports": [{"port": 99999}]}}
    return [config_map("a", spec.namespace, {"level": "bad"}), resource(service)]


def good(spec):
    return [config_map("a", spec.namespace, {"level": "good"})]


def phases(spec):
    return [(one["spec"]["operation"], one["status"]["phase"]) for one in spec.records()]


def test_rolls_back_after_a_failure_once_and_says_so(spec):
    spec.apply(good(spec)).wait("True")
    spec.apply(bad(spec))
    ready = spec.wait_reason("RolledBack")
    assert ready["message"].startswith("revision 3: rolled back to revision 1: 1 configured; generation 2 failed: ")
    assert "port" in ready["message"] and "applied again when it changes" in ready["message"]
    assert spec.data("a") == {"level": "good"}
    assert phases(spec) == [("Apply", "succeeded"), ("Apply", "failed"), ("Rollback", "succeeded")]
    spec.look()
    assert len(phases(spec)) == 3 and spec.data("a") == {"level": "good"}
    spec.apply([config_map("a", spec.namespace, {"level": "better"})]).wait("True")
    assert spec.data("a") == {"level": "better"}


def test_retries_first(spec):
    spec.fields["remediation"] = {"strategy": "rollback", "retries": 2}
    spec.apply(good(spec)).wait("True")
    spec.apply(bad(spec))
    eventually(lambda: (spec.get()["status"].get("failures") or 0) >= 1)
    assert spec.data("a") == {"level": "bad"}
    spec.wait_reason("RolledBack")
    assert "failures" not in spec.get()["status"]


def test_there_is_nothing_to_roll_back_to(spec):
    spec.apply(bad(spec)).wait("False")
    spec.wait_event("RemediationFailed", "no revision that succeeded")
    eventually(lambda: spec.get()["status"]["failures"] >= 2)  # it is retried
    assert phases(spec) == [("Apply", "failed")]


def test_waits_for_approval_where_the_mode_is_manual(spec):
    spec.apply(good(spec)).wait("True")
    spec.fields["approval"] = {"mode": "Manual"}
    out_of_range = {"apiVersion": "v1", "kind": "Service",  # no dry-run sees that
                    "metadata": {"name": "s", "namespace": spec.namespace},
                    "spec": {"type": "NodePort", "ports": [{"port": 80, "nodePort": 100}]}}
    spec.apply([config_map("a", spec.namespace, {"level": "bad"}), resource(out_of_range)])
    spec.approve(eventually(spec.waiting_record))
    eventually(lambda: spec.waiting_record()["spec"]["operation"] == "Rollback")
    assert spec.data("a") == {"level": "bad"}
    spec.approve(spec.waiting_record())
    spec.wait_reason("RolledBack")
    assert spec.data("a") == {"level": "good"}
