"""Why a workload is not healthy: what its Pods and Events say is in the message, while the Spec waits
for it, and at the end."""

import re

import pytest

from kusion_e2e.long import sampled
from kusion_e2e.releases import by_name
from kusion_e2e.rights import account, may
from kusion_e2e.shell import type_in
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.wait import eventually

PATIENCE = 60


def workload(namespace, kind="Deployment", api="apps/v1", name="hang", labels=None, replicas=2, more=None,
             **pod):
    labels = {"app": name, **(labels or {})}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": "i"}], **pod}}
    return resource({"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": namespace},
                     "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
                              "template": template, **(more or {})}})


def quota(cluster, namespace):
    path = f"/api/v1/namespaces/{namespace}/resourcequotas"
    cluster.api.create(path, {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}).must()
    eventually(lambda: cluster.api.get(f"{path}/none").object["status"].get("hard"), PATIENCE)


def claim(namespace):
    return resource({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                     "metadata": {"name": "data", "namespace": namespace},
                     "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "nope",
                              "resources": {"requests": {"storage": "1Gi"}}}})


def give_up_soon(spec):
    changed = spec.cluster.api.patch(spec.path, {"spec": {"timeout": "4s"}}).must()
    spec.generation = changed.object["metadata"]["generation"]


def says_both_times(spec, words):
    """While it waits, and when it has given up."""

    def waits():
        ready = spec.condition()
        assert ready and ready["status"] == "Unknown" and re.search(words, ready["message"]), ready
        return ready

    eventually(waits, PATIENCE)
    give_up_soon(spec)
    ended = spec.wait("False", PATIENCE)
    assert ended["reason"] == "HealthCheckFailed" and re.search(words, ended["message"]), ended
    failed, = spec.get()["status"]["resources"]["failed"]
    assert re.search(words, failed["message"]), failed
    return ended["message"]


def test_pods_that_no_node_takes(controlled, tenant):
    hang = workload(tenant, nodeSelector={"disk": "ssd"})
    spec = Spec(controlled, tenant).apply([hang])
    says_both_times(spec, r"Available: 0/2: 2 Pods \(hang-\w+-\w+, …\): Unschedulable: 0/\d+ nodes are "
                          r"available: .*didn't match Pod's node affinity/selector")


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
@sampled
def test_pods_that_cannot_be_created(controlled, tenant, kind):
    """Of an account that does not exist."""
    hang = workload(tenant, kind, serviceAccountName="nobody")
    if kind == "DaemonSet":
        del hang["attributes"]["spec"]["replicas"]
    spec = Spec(controlled, tenant).apply([hang])
    says_both_times(spec, r'FailedCreate: .*serviceaccount "nobody" not found')


def test_pods_that_a_quota_refuses(controlled, tenant):
    quota(controlled, tenant)
    spec = Spec(controlled, tenant).apply([workload(tenant)])
    says_both_times(spec, "FailedCreate: .*exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0")


def test_a_claim_of_a_class_that_does_not_exist(controlled, tenant):
    spec = Spec(controlled, tenant).apply([claim(tenant)])
    says_both_times(spec, 'not Bound yet: ProvisioningFailed: storageclass.* "nope" not found')


def test_what_waits_for_it_is_skipped(controlled, tenant):
    """And says for what it waits."""
    hang = workload(tenant, nodeSelector={"disk": "ssd"})
    behind = config_map("behind", tenant, depends_on=[hang["id"]])
    spec = Spec(controlled, tenant).apply([hang, behind], timeout="5s")
    ended = spec.wait("False", PATIENCE)
    assert "1 of 2 failed, 1 skipped: " in ended["message"], ended
    result = by_name(spec.releases()[-1]["status"])["behind"]
    assert (result["outcome"], result["reason"]) == ("skipped", "DependencyNotReady"), result
    assert result["message"] == f"skipped: it waits for {hang['id']}", result


def set_status(cluster, namespace, status, count=2):
    """Of all Pods there, as a kubelet would. count: how many there will be."""
    path = f"/api/v1/namespaces/{namespace}/pods"

    def pods():
        found = cluster.api.get(path).must().object["items"]
        assert len(found) == count and all(pod["spec"].get("nodeName") for pod in found), found
        return found

    for pod in eventually(pods, PATIENCE):
        name = pod["metadata"]["name"]
        cluster.api.patch(f"{path}/{name}/status", {"status": status}).must()


def container(**state):
    return {"name": "app", "image": "i", "imageID": "", "ready": False, "restartCount": 3, **state}


STATES = {
    "image": (container(state={"waiting": {
        "reason": "ImagePullBackOff",
        "message": 'Back-off pulling image "i": ErrImagePull: rpc error: manifest unknown'}}),
        "ImagePullBackOff: image i: rpc error: manifest unknown"),
    "crash": (container(state={"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}},
                        lastState={"terminated": {"exitCode": 137, "reason": "OOMKilled"}}),
              "CrashLoopBackOff: container app: exit code 137, OOMKilled"),
    "configuration": (container(state={"waiting": {"reason": "CreateContainerConfigError",
                                                   "message": 'secret "db" not found'}}),
                      'CreateContainerConfigError: container app: secret "db" not found'),
}


@pytest.mark.parametrize("state", STATES)
@sampled
def test_containers_that_do_not_run(controlled, tenant, state):
    status, words = STATES[state]
    spec = Spec(controlled, tenant)
    spec.apply([workload(tenant, labels={"kwok-hold": "true"})])
    set_status(controlled, tenant, {"phase": "Pending", "containerStatuses": [status]})
    says_both_times(spec, r"Available: 0/2: 2 Pods \(hang-\w+-\w+, …\): " + words)


def test_a_probe_that_fails(controlled, tenant):
    """The newest Event of the Pod says why it is not ready."""
    spec = Spec(controlled, tenant)
    spec.apply([workload(tenant, labels={"kwok-hold": "true"}, replicas=1)])
    set_status(controlled, tenant, {"phase": "Running", "containerStatuses": [
        container(restartCount=0, state={"running": {}})]}, count=1)
    pod, = controlled.api.get(f"/api/v1/namespaces/{tenant}/pods").object["items"]
    controlled.api.create(f"/api/v1/namespaces/{tenant}/events", {
        "metadata": {"generateName": "probe-"}, "type": "Warning", "reason": "Unhealthy",
        "message": "Readiness probe failed: HTTP probe failed with statuscode: 503",
        "lastTimestamp": "2030-01-01T00:00:00Z",
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": tenant,
                           "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}}).must()
    says_both_times(spec, r"Pod hang-\w+-\w+: Unhealthy: Readiness probe failed: HTTP probe failed with "
                          "statuscode: 503")


def test_an_account_that_may_not_list_pods(controlled, state_namespace):
    """It is told what to grant, in words and as a command, which works as typed."""
    name = state_namespace.new_namespace("team")
    grant = (f"kubectl create role some --namespace={name} --resource=deployments.apps "
             "--verb=get,list,watch,create,patch,delete && "
             f"kubectl create rolebinding some --role=some --namespace={name} --serviceaccount={name}:default")
    assert type_in(controlled, grant).returncode == 0
    spec = Spec(controlled, name).apply([workload(name, nodeSelector={"disk": "ssd"})])
    words = "Available: 0/2: to see why, grant ServiceAccount default: list pods,events"
    said = says_both_times(spec, words)
    command, = re.findall(r"\nto see why: (kubectl create .*)", said)
    assert type_in(controlled, command).returncode == 0
    assert may(controlled, account(name), "list", "", "pods", name)
    assert not may(controlled, account(name), "get", "", "pods", name)
    eventually(lambda: "Unschedulable: 0/" in (spec.condition() or {}).get("message", ""), PATIENCE)
    spec.delete()
    state_namespace.leave_namespace(name)
