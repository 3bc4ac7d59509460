"""What an admission policy of the cluster refuses."""

import json

import pytest

from kusion_e2e.specs import Spec, config_map
from kusion_e2e.wait import eventually
from kusion_e2e.webhook import Webhook

POLICY = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDING = f"{POLICY.rpartition('/')[0]}/validatingadmissionpolicybindings"
MESSAGE = "no ConfigMap may say forbidden"


@pytest.fixture
def policy(controlled, tenant):
    """Refuses ConfigMaps that say so, in the tenant's namespace."""
    group = "admissionregistration.k8s.io/v1"
    controlled.api.create(POLICY, {
        "apiVersion": group, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": tenant},
        "spec": {"failurePolicy": "Fail",
                 "matchConstraints": {"resourceRules": [
                     {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
                      "resources": ["configmaps"]}]},
                 "validations": [{"expression": "!('forbidden' in object.data)",
                                  "message": MESSAGE}]}}).must()
    controlled.api.create(BINDING, {
        "apiVersion": group, "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": tenant},
        "spec": {"policyName": tenant, "validationActions": ["Deny"],
                 "matchResources": {"namespaceSelector": {
                     "matchLabels": {"kubernetes.io/metadata.name": tenant}}}}}).must()
    wait_until_it_refuses(controlled, tenant)
    yield
    controlled.api.delete(f"{BINDING}/{tenant}").must()
    controlled.api.delete(f"{POLICY}/{tenant}").must()


def wait_until_it_refuses(cluster, namespace):
    """A policy works some time after it was made."""
    path = f"/api/v1/namespaces/{namespace}/configmaps?dryRun=All"
    body = config_map("probe", namespace, {"forbidden": ""})["attributes"]
    eventually(lambda: not cluster.api.create(path, body).ok)


def names(cluster, namespace):
    path = f"/api/v1/namespaces/{namespace}/configmaps?labelSelector=api.kusion.io/owner"
    return {one["metadata"]["name"] for one in cluster.api.get(path).must().object["items"]}


def test_a_policy_refuses_one_of_them(controlled, tenant, policy):
    refused = config_map("refused", tenant, {"forbidden": ""})
    spec = Spec(controlled, tenant).apply([
        config_map("first", tenant), refused,
        config_map("after", tenant, depends_on=[refused["id"]])])
    ready = spec.wait("False")
    assert MESSAGE in ready["message"] and refused["id"] in ready["message"], ready
    assert spec.condition("Stalled")["status"] == "True"
    spec.wait_event(ready["reason"], MESSAGE)
    assert names(controlled, tenant) == {"first"}
    failed = {one["id"]: one for one in spec.get()["status"]["resources"]["failed"]}
    assert set(failed) == {refused["id"], f"v1:ConfigMap:{tenant}:after"}, json.dumps(failed)

    spec.apply([config_map("first", tenant), config_map("refused", tenant, {"good": ""})])
    spec.wait("True")
    assert names(controlled, tenant) == {"first", "refused"}
    spec.delete()
    assert names(controlled, tenant) == set()


@pytest.mark.parametrize("code, reason", [(409, "Conflict"), (409, "AlreadyExists"), (404, "NotFound"),
                                          (401, "Unauthorized"), (410, "Gone")])
def test_a_webhook_that_refuses_in_other_words(controlled, tenant, tmp_path, code, reason):
    """It is a refusal, whatever the API server would mean by its code: nobody else changed the
    object, and it is not absent."""
    say = {"code": code, "reason": reason, "message": "not today",
           "details": {"name": "a", "kind": "configmaps"}}
    webhook = Webhook(tmp_path, lambda request: {"allowed": False, "status": say}
                      if not request.get("dryRun") else {"allowed": True})
    spec = Spec(controlled, tenant).apply([config_map("a", tenant)])
    spec.wait("True")
    webhook.register(controlled, tenant, tenant, ["configmaps"])
    try:
        eventually(lambda: not controlled.api.create(f"/api/v1/namespaces/{tenant}/configmaps", config_map(
            "probe", tenant)["attributes"]).ok)
        before = webhook.requests
        spec.apply([config_map("a", tenant, {"v": "2"}), config_map("b", tenant)], timeout="20s")
        ready = spec.wait("False", 15)
        assert ready["reason"] == "Forbidden" and "not today" in ready["message"], ready
        assert spec.condition("Stalled")["status"] == "True"
        assert webhook.requests - before <= 4  # a dry run, and a request, for each
        assert names(controlled, tenant) == {"a"}
    finally:
        webhook.unregister(controlled, tenant)
        webhook.end()
    spec.apply([config_map("a", tenant, {"v": "2"}), config_map("b", tenant)])
    spec.wait("True")
    spec.delete()
