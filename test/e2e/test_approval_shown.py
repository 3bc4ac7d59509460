"""An approved creation makes the object that was shown: a webhook that begins to rewrite it voids the
approval."""

import base64
import json
import time

import pytest

from kusion_e2e.approved import Approved
from kusion_e2e.specs import config_map, held
from kusion_e2e.wait import eventually
from kusion_e2e.webhook import Mutating


class Rewriting(Mutating):
    """Writes a value into the key "a" of each ConfigMap of the tenant, once it is installed."""

    def __init__(self, directory, cluster, namespace):
        super().__init__(directory, self._rewrite)
        self.cluster, self.namespace, self.value = cluster, namespace, "theirs"

    def _rewrite(self, request):
        patch = [{"op": "add", "path": "/data/a", "value": self.value}]
        return {"allowed": True, "patchType": "JSONPatch",
                "patch": base64.b64encode(json.dumps(patch).encode()).decode()}

    def install(self):
        self.register(self.cluster, self.namespace, self.namespace, ["configmaps"])
        eventually(lambda: self._is_asked())

    def _is_asked(self):
        body = {"metadata": {"name": "try"}, "data": {"a": "x"}}
        path = f"/api/v1/namespaces/{self.namespace}/configmaps?dryRun=All"
        return self.cluster.api.create(path, body).must().object["data"] == {"a": self.value}


@pytest.fixture
def webhook(controlled, tenant, tmp_path):
    made = Rewriting(tmp_path, controlled, tenant)
    yield made
    made.unregister(controlled, tenant)
    made.end()


def shown(release, name="a"):
    """What the Release shows of data.a."""
    one = next(one for one in release["status"]["results"] if one["id"].endswith(f":{name}"))
    return next(field["to"] for field in one["fields"] if field["path"] == "data.a")


def digest(release):
    return release["status"]["plan"]["digest"]


def why(release):
    return next(one for one in release["status"]["conditions"] if one["type"] == "Ready")


def expect_another(spec, first):
    """The first Release is stale, nothing was done, and the next one shows what would be made."""
    eventually(lambda: spec.phases()[-2:] == ["cancelled", "awaitingApproval"])
    before, now = spec.releases()[-2:]
    assert before["metadata"]["name"] == first["metadata"]["name"]
    assert why(before)["reason"] == "PlanStale" and "webhook" in why(before)["message"], before
    assert digest(now) == digest(first), "the plan is the same"
    assert (shown(first), shown(now)) == ('"b"', '"theirs"')
    assert spec.data("a") is None
    return now


def test_a_webhook_that_is_installed_voids_an_approval(controlled, tenant, webhook):
    spec = Approved(controlled, tenant).apply([config_map("a", tenant)])
    first = spec.waiting(create=1)
    webhook.install()
    spec.approve(first)
    second = expect_another(spec, first)
    spec.approve(second)
    spec.wait("True")
    assert spec.data("a") == {"a": "theirs"}
    assert spec.phases() == ["cancelled", "succeeded"]


def test_a_webhook_that_is_installed_right_before_its_turn(controlled, tenant, webhook):
    deployment = held(tenant)
    spec = Approved(controlled, tenant)
    spec.apply([deployment, config_map("a", tenant, depends_on=[deployment["id"]])])
    first = spec.waiting(create=2)
    spec.approve(first)
    eventually(lambda: "waiting for Deployment/held" in spec.releases()[-1]["status"]["summary"])
    webhook.install()
    controlled.kubectl("label", "pods", "-n", tenant, "-l", "kwok-hold", "kwok-hold-")
    second = spec.waiting(create=1, unchanged=1)
    assert spec.phases() == ["cancelled", "awaitingApproval"]
    assert why(spec.releases()[0])["reason"] == "PlanStale" and spec.data("a") is None
    assert (shown(first), shown(second)) == ('"b"', '"theirs"')
    spec.approve(second)
    spec.wait("True")
    assert spec.data("a") == {"a": "theirs"}


def test_a_plan_that_waits_shows_what_the_webhook_makes_of_it(controlled, tenant, webhook):
    spec = Approved(controlled, tenant).apply([config_map("a", tenant)])
    first = spec.waiting(create=1)
    webhook.install()
    for _ in range(2):
        spec.look()
        assert spec.phases() == ["cancelled", "awaitingApproval"]
    second = spec.releases()[-1]
    assert digest(second) == digest(first) and shown(second) == '"theirs"'
    webhook.value = "other"
    spec.look()
    assert shown(spec.releases()[-1]) == '"other"'
    spec.approve(spec.releases()[-1])
    spec.wait("True")
    assert spec.data("a") == {"a": "other"}


def test_an_approval_in_the_spec_is_of_what_was_shown(controlled, tenant, webhook):
    """The digest is the same, and so the approval names what would be made now as well. It holds again
    when it is written anew."""
    spec = Approved(controlled, tenant).apply([config_map("a", tenant)])
    first = spec.waiting(create=1)
    webhook.install()
    spec.approve_in_spec(digest(first))
    eventually(lambda: spec.phases() == ["cancelled", "cancelled", "awaitingApproval"])
    stale, now = spec.releases()[1:]
    assert why(stale)["reason"] == "PlanStale" and "webhook" in why(stale)["message"], stale
    assert stale["status"]["approval"]["manager"] == "bob"
    assert digest(now) == digest(first) and shown(now) == '"theirs"'
    spec.look()
    assert spec.phases()[-1] == "awaitingApproval" and spec.data("a") is None
    assert "if it is removed, and set anew" in spec.condition()["message"]
    time.sleep(1)  # the time of an approval is in seconds
    spec.approve_in_spec(None)
    spec.waiting(create=1)
    spec.approve_in_spec(digest(first))
    spec.wait("True")
    assert spec.data("a") == {"a": "theirs"}


def test_an_approval_in_the_spec_that_became_stale_does_not_come_back(controlled, tenant, webhook):
    deployment = held(tenant)
    spec = Approved(controlled, tenant)
    spec.apply([deployment, config_map("a", tenant, depends_on=[deployment["id"]])])
    spec.approve_in_spec(digest(spec.waiting(create=2)))
    eventually(lambda: "waiting for Deployment/held" in spec.releases()[-1]["status"]["summary"])
    webhook.install()
    controlled.kubectl("label", "pods", "-n", tenant, "-l", "kwok-hold", "kwok-hold-")
    second = spec.waiting(create=1, unchanged=1)
    spec.approve_in_spec(digest(second))
    spec.wait("True")
    assert spec.data("a") == {"a": "theirs"}
