"""Plans of objects to which values are assigned stay the same, and can be approved."""

import base64
import json
import uuid

import pytest

from kusion_e2e.approved import Approved
from kusion_e2e.long import sampled
from kusion_e2e.specs import config_map, resource
from kusion_e2e.wait import eventually
from kusion_e2e.webhook import Mutating

POD = {"metadata": {"labels": {"app": "x"}},
       "spec": {"containers": [{"name": "c", "image": "i"}]}}
SELECTOR = {"matchLabels": {"app": "x"}}


def thing(api, kind, spec=None, **fields):
    def make(namespace):
        whole = {"apiVersion": api, "kind": kind,
                 "metadata": {"name": "x", "namespace": namespace}, **fields}
        return resource({**whole, "spec": spec} if spec else whole)
    return make


JOB_POD = {"spec": {**POD["spec"], "restartPolicy": "Never"}}
KINDS = {
    "cluster-ip": thing("v1", "Service", {"ports": [{"port": 80}]}),
    "node-port": thing("v1", "Service", {"type": "NodePort", "ports": [{"port": 80}]}),
    "load-balancer": thing("v1", "Service", {"type": "LoadBalancer", "ports": [{"port": 80}]}),
    "local": thing("v1", "Service", {"type": "LoadBalancer", "externalTrafficPolicy": "Local",
                                     "ports": [{"port": 80}]}),
    "job": thing("batch/v1", "Job", {"template": JOB_POD}),
    "cron-job": thing("batch/v1", "CronJob", {"schedule": "0 0 * * *",
                                              "jobTemplate": {"spec": {"template": JOB_POD}}}),
    "stateful-set": thing("apps/v1", "StatefulSet",
                          {"selector": SELECTOR, "template": POD, "serviceName": "x"}),
    "deployment": thing("apps/v1", "Deployment", {"selector": SELECTOR, "template": POD}),
    "daemon-set": thing("apps/v1", "DaemonSet", {"selector": SELECTOR, "template": POD}),
    "claim": thing("v1", "PersistentVolumeClaim", {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}),
    "account": thing("v1", "ServiceAccount"),
    "pod": thing("v1", "Pod", JOB_POD["spec"]),
}


@pytest.mark.parametrize("kind", KINDS)
@sampled
def test_a_plan_that_is_made_again_is_the_same(controlled, tenant, kind):
    spec = Approved(controlled, tenant).apply([KINDS[kind](tenant)], wait=False)
    release = spec.waiting(create=1)
    for _ in range(3):
        spec.look()
    assert spec.phases() == ["awaitingApproval"]
    spec.approve(release)
    spec.wait("True")
    assert spec.phases() == ["succeeded"]


def add_nonce(request):
    patch = [{"op": "add", "path": "/metadata/annotations/example.com~1nonce",
              "value": str(uuid.uuid4())}]
    if "ours" in request["object"].get("data", {}):
        patch.append({"op": "replace", "path": "/data/ours", "value": str(uuid.uuid4())})
    return {"allowed": True, "patchType": "JSONPatch",
            "patch": base64.b64encode(json.dumps(patch).encode()).decode()}


@pytest.fixture
def webhook(controlled, tenant, tmp_path):
    """Each ConfigMap of the tenant gets another annotation whenever it is admitted, and another value
    of the key "ours", if it has that."""
    made = Mutating(tmp_path, add_nonce)
    made.register(controlled, tenant, tenant, ["configmaps"])
    yield made
    made.unregister(controlled, tenant)
    made.end()


def nonce(spec, name):
    """What a dry-run of its creation gets."""
    body = {"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "annotations": {"a": "b"}}}
    answer = spec.cluster.api.create(
        f"/api/v1/namespaces/{spec.namespace}/configmaps?dryRun=All", body)
    return answer.object["metadata"]["annotations"].get("example.com/nonce")


@pytest.mark.parametrize("more", [{}, {"ours": "x"}])
def test_a_webhook_that_adds_another_value_each_time(controlled, tenant, webhook, more):
    spec = Approved(controlled, tenant)
    eventually(lambda: nonce(spec, "try"))
    for value in "one", "two":  # a create, and an update
        spec.apply([config_map("a", tenant, {"a": value, **more})])
        release = spec.waiting()
        for _ in range(3):
            spec.look()
        assert spec.phases()[-1] == "awaitingApproval"
        assert spec.releases()[-1]["metadata"]["name"] == release["metadata"]["name"]
        spec.approve(release)
        spec.wait("True")
        assert spec.data("a")["a"] == value
    assert spec.phases() == ["succeeded", "succeeded"]
