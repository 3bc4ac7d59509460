"""Edits, approvals and drift that come at once: one outcome, and nothing that was not approved."""

import pytest

from kusion_e2e.approved import Approved
from kusion_e2e.rights import account, may, wait_until_may
from kusion_e2e.specs import Spec, config_map, held, resource
from kusion_e2e.wait import eventually

ENDED = {"succeeded", "failed", "cancelled"}


@pytest.fixture
def spec(controlled, tenant):
    return Approved(controlled, tenant)


def put(spec, value, **fields):
    return spec.apply([config_map("a", spec.namespace, {"a": value})], **fields)


def ready(spec, value):
    put(spec, value)
    spec.approve(spec.waiting())
    spec.wait("True")


def digest(release):
    return release["status"]["plan"]["digest"]


def test_there_and_back_without_approval(controlled, tenant):
    spec = Spec(controlled, tenant)
    for _ in range(3):
        for value in "aba":
            put(spec, value)
        spec.wait("True")
        assert spec.releases()[-1]["status"]["phase"] == "succeeded"
        config = f"/api/v1/namespaces/{tenant}/configmaps/a"
        assert controlled.api.get(config).must().object["data"] == {"a": "a"}
    assert {one["status"]["phase"] for one in spec.releases()} <= ENDED


@pytest.mark.parametrize("waits", [False, True])
def test_there_and_back_needs_no_approval(spec, waits):
    """What the Spec says again is there already."""
    ready(spec, "a")
    for _ in range(3):
        put(spec, "b")
        if waits:
            spec.waiting(update=1)
        put(spec, "a")
        spec.wait("True")
        assert spec.data("a") == {"a": "a"}
    assert set(spec.phases()) <= ENDED and "failed" not in spec.phases()


@pytest.mark.parametrize("approval_first", [False, True])
def test_an_approval_and_an_edit_in_the_same_second(spec, approval_first):
    """The approval is of the first plan: the second one's value needs another."""
    ready(spec, "a")
    put(spec, "b")
    first = spec.waiting(update=1)
    body = {"spec": {"approvedPlan": digest(first)}}
    if approval_first:
        spec.approve(first)
    put(spec, "c")
    if not approval_first:
        answer = spec.cluster.api.patch(spec.release_path(first), body)
        assert answer.code in (200, 422), answer  # 422: it is cancelled already
    second = spec.waiting(update=1)
    assert spec.data("a")["a"] in "ab" and digest(second) != digest(first)
    assert spec.phases()[-1:] == ["awaitingApproval"] and set(spec.phases()[:-1]) <= ENDED
    spec.approve(second)
    spec.wait("True")
    assert spec.data("a") == {"a": "c"}


def test_two_approvals_of_two_plans(spec):
    """The digest of the old plan approves the new one neither in its Release nor in the Spec."""
    ready(spec, "a")
    put(spec, "b")
    old = spec.waiting(update=1)
    put(spec, "c")
    new = spec.waiting(update=1)
    answer = spec.cluster.api.patch(spec.release_path(new), {"spec": {"approvedPlan": digest(old)}})
    assert answer.code == 422 and "not the digest of this Release's plan" in answer.message
    spec.approve_in_spec(digest(old))
    shown = spec.waiting(update=1)
    assert digest(shown) == digest(new) and spec.data("a") == {"a": "a"}
    spec.approve(shown)
    spec.wait("True")
    assert spec.data("a") == {"a": "c"}
    assert spec.releases()[-1]["status"]["approval"]["manager"] == "alice"


def test_drift_while_a_plan_waits_is_in_the_next_plan(spec):
    both = [config_map("a", spec.namespace, {"a": "1"}), config_map("b", spec.namespace, {"b": "1"})]
    spec.apply(both)
    spec.approve(spec.waiting(create=2))
    spec.wait("True")
    both[0] = config_map("a", spec.namespace, {"a": "2"})
    spec.apply(both)
    first = spec.waiting(update=1)
    path = f"/api/v1/namespaces/{spec.namespace}/configmaps/b"
    spec.cluster.api.patch(path, {"data": {"b": "theirs"}}).must()
    spec.approve(first)
    second = spec.waiting(update=2)
    assert (spec.data("a"), spec.data("b")) == ({"a": "1"}, {"b": "theirs"})
    assert spec.phases() == ["succeeded", "cancelled", "awaitingApproval"]
    spec.approve(second)
    spec.wait("True")
    assert (spec.data("a"), spec.data("b")) == ({"a": "2"}, {"b": "1"})


def test_a_waiting_release_that_is_deleted_is_made_again(spec):
    put(spec, "a")
    first = spec.waiting(create=1)
    spec.cluster.api.delete(spec.release_path(first)).must()

    def made_again():
        release = spec.waiting(create=1)
        assert release["metadata"]["uid"] != first["metadata"]["uid"]
        return release

    second = eventually(made_again)
    assert digest(second) == digest(first) and len(spec.releases()) == 1
    spec.approve(second)
    spec.wait("True")


def test_a_right_that_comes_and_goes_makes_no_release(spec):
    """A part of the plan that waits cannot be planned at some looks."""
    cluster, namespace = spec.cluster, spec.namespace

    def allow(kind):
        cluster.kubectl("create", "role", kind, "-n", namespace, "--verb=*", f"--resource={kind}")
        cluster.kubectl("create", "rolebinding", kind, "-n", namespace, f"--role={kind}",
                        f"--serviceaccount={namespace}:weak")
        wait_until_may(cluster, weak, "patch", kind, namespace)

    cluster.kubectl("create", "serviceaccount", "weak", "-n", namespace)
    weak = account(namespace, "weak")
    for kind in "configmaps", "secrets":
        allow(kind)
    secret = resource({"apiVersion": "v1", "kind": "Secret",
                       "metadata": {"name": "s", "namespace": namespace}, "stringData": {"a": "b"}})
    spec.apply([config_map("a", namespace), secret], serviceAccountName="weak")
    release = spec.waiting(create=2)
    for _ in range(2):
        cluster.kubectl("delete", "rolebinding", "secrets", "-n", namespace)
        eventually(lambda: not may(cluster, weak, "patch", "", "secrets", namespace))
        spec.look()
        cluster.kubectl("delete", "role", "secrets", "-n", namespace)
        allow("secrets")
        spec.look()
        assert [digest(one) for one in spec.releases()] == [digest(release)]
        assert spec.phases() == ["awaitingApproval"]
    spec.approve(release)
    spec.wait("True")


@pytest.mark.parametrize("is_known", [False, True])
def test_an_edit_between_the_approval_and_the_turn_of_its_object(spec, is_known):
    """Another manager has a field that the approved plan takes over, by an adoption or an update.
    What it writes there meanwhile is not overwritten without another approval."""
    path = f"/api/v1/namespaces/{spec.namespace}/configmaps/a"

    def edit(**data):
        spec.cluster.api.patch(f"{path}?fieldManager=ops", {"data": data}).must()

    if is_known:
        ready(spec, "a")
        spec.cluster.api.patch(path, {"data": {"b": "1"}}).must()
    else:
        spec.cluster.api.create(f"{path.removesuffix('/a')}?fieldManager=ops", {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
            "data": {"a": "a", "b": "1"}}).must()
    edit(b="2")
    deployment = held(spec.namespace)
    after = config_map("a", spec.namespace, {"a": "a", "b": "ours"}, depends_on=[deployment["id"]])
    spec.apply([deployment, after])
    spec.approve(spec.waiting(create=1))
    eventually(lambda: "waiting for Deployment/held" in spec.releases()[-1]["status"]["summary"])
    edit(b="3")
    spec.cluster.kubectl("label", "pods", "-n", spec.namespace, "-l", "kwok-hold", "kwok-hold-")
    second = spec.waiting(create=0, unchanged=1)
    assert spec.data("a") == {"a": "a", "b": "3"}
    assert spec.phases()[-2:] == ["cancelled", "awaitingApproval"]
    stale = spec.releases()[-2]["status"]["conditions"]
    assert [one["reason"] for one in stale if one["type"] == "Ready"] == ["PlanStale"]
    spec.approve(second)
    spec.wait("True")
    assert spec.data("a") == {"a": "a", "b": "ours"}
