"""kill -9 between the two requests with which fields that kubectl made go: what was taken over is not
forgotten."""

import json

from kusion_e2e.controller import Controller
from kusion_e2e.releases import TRIGGER
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.wait import eventually
from kusion_e2e.webhook import Webhook


def test_killed_between_the_takeover_and_the_apply(state_namespace, tenant, tmp_path):
    """The webhook lets everything pass but the apply itself."""
    cluster = state_namespace
    started = []

    def judge(request):
        labels = request["object"]["metadata"].get("labels", {})
        if "api.kusion.io/owner" in labels and not request.get("dryRun"):
            started.append(request["name"])
            return None
        return {"allowed": True}

    def get():
        return cluster.api.get(f"/api/v1/namespaces/{tenant}/configmaps/a").must().object

    both = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": tenant},
            "data": {"a": "1", "b": "1"}}
    cluster.kubectl("apply", "-f", "-", input=json.dumps(both))
    webhook = Webhook(tmp_path, judge)
    webhook.register(cluster, tenant, tenant, ["configmaps"])
    controller = Controller(cluster).wait_leading()
    try:
        spec = Spec(cluster, tenant).apply([config_map("a", tenant, {"a": "1"})], interval="1h")
        eventually(lambda: started)
        controller.crash()
        now = get()
        names = [one["manager"] for one in now["metadata"]["managedFields"]]
        assert len(names) == 1 and names[0].startswith("kusion-operator-"), names
        assert now["data"] == {"a": "1", "b": "1"}
        webhook.unregister(cluster, tenant)
        webhook.end()
        controller = Controller(cluster).wait_leading()
        spec.wait("True")
        assert get()["data"] == {"a": "1"}
        spec.delete()
    finally:
        webhook.unregister(cluster, tenant)
        controller.crash()


def test_a_change_by_kubectl_that_was_taken_over_is_still_undone(state_namespace, tenant, tmp_path):
    """Killed between the two requests: our manager has the fields that State says, and not their
    values."""
    cluster = state_namespace
    path = f"/api/v1/namespaces/{tenant}/configmaps/a"
    started = []

    def judge(request):
        if request["object"].get("data") == {"a": "1"} and not request.get("dryRun"):
            started.append(request["name"])
            return None
        return {"allowed": True}

    controller = Controller(cluster).wait_leading()
    webhook = Webhook(tmp_path, judge)
    try:
        spec = Spec(cluster, tenant).apply([config_map("a", tenant, {"a": "1"})], interval="1h")
        spec.wait("True")
        cluster.api.patch(f"{path}?fieldManager=kubectl-edit", {"data": {"a": "x"}}).must()
        webhook.register(cluster, tenant, tenant, ["configmaps"])
        cluster.kubectl("annotate", "spec.api.kusion.io", spec.name, "-n", tenant, f"{TRIGGER}=1")
        eventually(lambda: started)
        controller.crash()
        managers = cluster.api.get(path).must().object["metadata"]["managedFields"]
        assert "kubectl-edit" not in [one["manager"] for one in managers]
        webhook.unregister(cluster, tenant)
        webhook.end()
        controller = Controller(cluster).wait_leading()
        eventually(lambda: cluster.api.get(path).must().object["data"] == {"a": "1"}, seconds=20)
        spec.delete()
    finally:
        webhook.unregister(cluster, tenant)
        controller.crash()
