"""Plans that are rejected, and requests that are withdrawn while their plan waits for approval."""

import json

import pytest

from kusion_e2e.approved import MANUAL
from kusion_e2e.releases import releases_path
from kusion_e2e.requested import Requested
from kusion_e2e.specs import config_map
from kusion_e2e.wait import eventually


@pytest.fixture
def spec(controlled, tenant):
    """Revision 1 is in force, of x: 1."""
    spec = Requested(controlled, tenant)
    spec.fields = MANUAL
    apply(spec, "1")
    return spec


def apply(spec, x):
    spec.apply([config_map("a", spec.namespace, {"x": x})])
    spec.approve(spec.waiting())
    spec.wait("True")


def ready(release):
    return next(one for one in release["status"]["conditions"] if one["type"] == "Ready")


def reject(spec, release, reason="too risky"):
    body = {"spec": {"rejected": True, "reason": reason}}
    return spec.cluster.api.patch(f"{spec.release_path(release)}?fieldManager=carol", body)


def delete_release(spec, name):
    spec.cluster.api.delete(releases_path(spec.namespace, f"/{name}")).must()


def events(spec, kind, name):
    path = f"/api/v1/namespaces/{spec.namespace}/events"
    return {one["reason"] for one in spec.cluster.api.get(path).must().object["items"]
            if one["involvedObject"]["kind"] == kind and one["involvedObject"]["name"] == name
            and one["involvedObject"].get("uid")}


def stays(spec, check):
    """Also after the Spec was looked at again."""
    for _ in range(2):
        spec.look()
        check()


@pytest.mark.parametrize("operation", ["Destroy", "Rollback"])
@pytest.mark.parametrize("what", ["request", "record"])
def test_a_request_is_withdrawn_by_deletion(spec, operation, what):
    apply(spec, "2")
    request = spec.request(operation)
    record = eventually(spec.waiting_record)["metadata"]["name"]
    spec.wait_reason("AwaitingApproval")
    delete_release(spec, request if what == "request" else record)
    spec.wait("True")
    assert spec.live("configmaps", "a")["data"] == {"x": "2"}
    if what == "request":
        other = spec.release(record)
    else:
        other = spec.wait_request(request, "cancelled")
    assert (other["status"]["phase"], ready(other)["reason"]) == ("cancelled", "Withdrawn"), other["status"]
    assert ready(other)["message"].startswith("withdrawn: ")
    eventually(lambda: "RequestWithdrawn" in events(spec, "Spec", spec.name))
    stays(spec, lambda: spec.wait("True"))
    assert "awaitingApproval" not in spec.phases()


@pytest.mark.parametrize("end", ["withdrawn", "rejected"])
def test_what_was_in_force_before_is_in_force_again(spec, end):
    """A Spec that was rolled back stays so, when a Destroy comes to nothing."""
    apply(spec, "2")
    spec.request("Rollback")
    spec.approve(eventually(spec.waiting_record))
    spec.wait_reason("RolledBack")
    request = spec.request("Destroy")
    record = eventually(spec.waiting_record)
    spec.wait_reason("AwaitingApproval")
    if end == "withdrawn":
        delete_release(spec, request)
    else:
        reject(spec, record).must()
        assert ready(spec.wait_request(request, "cancelled"))["reason"] == "Rejected"
    spec.wait_reason("RolledBack")
    stays(spec, lambda: spec.wait_reason("RolledBack"))
    assert spec.live("configmaps", "a")["data"] == {"x": "1"}


def test_a_request_that_was_carried_out_is_not_withdrawn(spec):
    """Its Release may go: the Spec stays destroyed."""
    request = spec.request("Destroy")
    spec.approve(eventually(spec.waiting_record))
    spec.wait_request(request)
    spec.wait_reason("Destroyed")
    delete_release(spec, request)
    stays(spec, lambda: spec.wait_reason("Destroyed"))
    assert spec.live("configmaps", "a") is None


def test_a_plan_is_rejected_with_a_reason(spec):
    spec.apply([config_map("a", spec.namespace, {"x": "2"})])
    release = spec.waiting()
    reject(spec, release).must()
    said = spec.wait_reason("Rejected")
    name = release["metadata"]["name"]
    assert said["status"] == "False" and f"Release {name} was rejected by carol: too risky" in said["message"]
    assert spec.condition("Stalled")["status"] == "True"
    ended = spec.release(name)
    assert (ended["status"]["phase"], ready(ended)["reason"]) == ("cancelled", "Rejected")
    for kind, of in ("Spec", spec.name), ("Release", name):
        eventually(lambda: {"PlanReady", "PlanRejected"} <= events(spec, kind, of))
    stays(spec, lambda: spec.wait_reason("Rejected"))
    assert spec.phases() == ["succeeded", "cancelled"], "it is not shown again"
    assert spec.live("configmaps", "a")["data"] == {"x": "1"}


@pytest.mark.parametrize("how", ["another plan", "the Spec changes", "the Release is deleted"])
def test_a_rejection_ends(spec, how):
    spec.apply([config_map("a", spec.namespace, {"x": "2"})])
    release = spec.waiting()
    reject(spec, release).must()
    spec.wait_reason("Rejected")
    if how == "another plan":
        spec.edit_live("a", x="3")
        spec.look()
    elif how == "the Spec changes":
        spec.apply([config_map("a", spec.namespace, {"x": "2"})], interval="20m")
    else:
        delete_release(spec, release["metadata"]["name"])
        spec.look()
    spec.approve(spec.waiting(update=1))
    spec.wait("True")
    assert spec.live("configmaps", "a")["data"] == {"x": "2"}


def test_only_what_waits_can_be_rejected(spec):
    release = spec.releases()[-1]
    answer = reject(spec, release)
    assert answer.code == 422 and "only a plan that waits for approval" in answer.message, answer


def test_who_approved_is_told(spec, at_work):
    """In events of both objects, and in the log."""
    release = spec.releases()[-1]
    for kind, of in ("Spec", spec.name), ("Release", release["metadata"]["name"]):
        eventually(lambda: {"PlanReady", "PlanApproved"} <= events(spec, kind, of))
    lines = [json.loads(line) for line in at_work.logged().splitlines() if '"plan approved"' in line]
    approved = release["status"]["approval"]["manager"], release["status"]["plan"]["digest"]
    assert [(one["approver"], one["plan"]) for one in lines if one["namespace"] == spec.namespace] == [approved]
