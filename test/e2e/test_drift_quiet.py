"""No loop, no false drift, and no request once converged: beside a webhook that injects a sidecar
and changes labels, something that scales, and the server's defaults. And what no metadata shows."""

import base64
import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from kusion_e2e.cluster import Cluster
from kusion_e2e.controller import STATE, Controller
from kusion_e2e.paths import CONTROLPLANE
from kusion_e2e.rights import account, wait_until_may
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.wait import eventually
from kusion_e2e.webhook import Webhook

CHECKS = 10
WRITES = {"create", "update", "patch", "delete", "deletecollection"}


class Injector(Webhook):
    """Gives each Pod a sidecar, and each object a label of its own; and it has the last word on a
    label that the Spec sets, too."""

    kind = "Mutating"

    def __init__(self, directory):
        super().__init__(directory, self._mutate)
        self.forced = "forced"

    def _mutate(self, request):
        metadata = request["object"]["metadata"]
        labels = {**(metadata.get("labels") or {}), "injected": "yes", "team": self.forced}
        patch = [{"op": "add", "path": "/metadata/labels", "value": labels}]
        spec = request["object"].get("spec", {})
        if request["kind"]["kind"] == "Pod" and request["operation"] == "CREATE" and not any(
                one["name"] == "side" for one in spec["containers"]):
            patch.append({"op": "add", "path": "/spec/containers/0", "value": {"name": "side", "image": "s"}})
        return {"allowed": True, "patchType": "JSONPatch",
                "patch": base64.b64encode(json.dumps(patch).encode()).decode()}


@pytest.fixture(scope="module")
def audited():
    cluster = Cluster.up(f"e2e-quiet-{os.getpid()}", "--audit")
    try:
        cluster.install_crds()
        cluster.kubectl("create", "namespace", STATE)
        for namespace in ("quiet", "blind"):
            cluster.kubectl("create", "namespace", namespace)
        cluster.kubectl("create", "clusterrolebinding", "all", "--clusterrole=cluster-admin",
                        "--serviceaccount=quiet:default")
        cluster.kubectl("create", "clusterrole", "blind", "--resource=configmaps,services,pods,deployments.apps",
                        "--verb=get,list,create,patch,delete")
        cluster.kubectl("create", "rolebinding", "blind", "-n", "blind", "--clusterrole=blind",
                        "--serviceaccount=blind:default")
        for namespace in ("quiet", "blind"):
            wait_until_may(cluster, account(namespace), "patch", "services", namespace)
        yield cluster
    finally:
        cluster.down()


@pytest.fixture(scope="module")
def operator(audited):
    controller = Controller(audited, flags=["--log-level", "debug"]).wait_leading()
    yield controller
    assert controller.stop() == 0


@pytest.fixture
def injector(audited, tmp_path):
    webhook = Injector(tmp_path)
    for namespace in ("quiet", "blind"):
        webhook.register(audited, namespace, namespace, ["configmaps", "pods", "services"])
        eventually(lambda: "injected" in audited.api.create(
            f"/api/v1/namespaces/{namespace}/configmaps?dryRun=All",
            config_map("probe", namespace)["attributes"]).must().object["metadata"].get("labels", {}))
    yield webhook
    for namespace in ("quiet", "blind"):
        webhook.unregister(audited, namespace)


def audit_log(cluster):
    command = [CONTROLPLANE, "audit", cluster.name]
    return Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())


def ours(log, offset):
    """(verb, resource, path) of the operator's requests since an offset, but for the Lease and watches."""
    with log.open("rb") as file:
        file.seek(offset)
        events = [json.loads(line) for line in file if line.endswith(b"\n")]
    return [(event["verb"], event["objectRef"]["resource"], event["requestURI"]) for event in events
            if event.get("userAgent", "").startswith("kusion-operator") and "objectRef" in event
            and event["stage"] == "ResponseComplete" and event["verb"] != "watch"
            and event["objectRef"]["resource"] != "leases"]


def checks(operator, spec):
    found = (json.loads(line) for line in operator.logged().splitlines() if '"reconciled"' in line)
    return sum(one["controller"] == "spec" and one["key"] == f"{spec.namespace}/{spec.name}" for one in found)


def everything(namespace):
    """Server-side defaults in all of them; nobody says how many replicas there are."""
    labels = {"app": "web"}
    pod = {"metadata": {"labels": labels},
           "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}],
                                    "resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}}}]}}
    return [
        resource({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"},
                  "metadata": {"name": "a", "namespace": namespace, "labels": {"team": "ours"}}}),
        resource({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "c", "image": "i"}]},
                  "metadata": {"name": "alone", "namespace": namespace}}),
        resource({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": namespace},
                  "spec": {"selector": labels, "ports": [{"port": 80}]}}),
        resource({"apiVersion": "apps/v1", "kind": "Deployment",
                  "metadata": {"name": "web", "namespace": namespace},
                  "spec": {"selector": {"matchLabels": labels}, "template": pod}}),
    ]


def scale(cluster, namespace, replicas):
    """As an autoscaler does."""
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/web/scale"
    cluster.api.patch(path, {"spec": {"replicas": replicas}}).must()


def wait_for_checks(operator, spec, more):
    target = checks(operator, spec) + more
    eventually(lambda: checks(operator, spec) >= target, 120)


def test_ten_checks_ask_for_nothing_and_write_nothing(audited, operator, injector):
    spec = Spec(audited, "quiet").apply(everything("quiet"), interval="1s").wait("True") and Spec(audited, "quiet")
    log = audit_log(audited)
    scale(audited, "quiet", 3)
    live = audited.api.get("/api/v1/namespaces/quiet/pods/alone").must().object
    assert {one["name"] for one in live["spec"]["containers"]} == {"c", "side"}
    assert audited.api.get("/api/v1/namespaces/quiet/configmaps/a").must().object["metadata"]["labels"]["team"] == "forced"
    wait_for_checks(operator, spec, 4)
    time.sleep(2)
    offset, version = log.stat().st_size, spec.get()["metadata"]["resourceVersion"]
    scale(audited, "quiet", 2)
    wait_for_checks(operator, spec, CHECKS)
    time.sleep(2)
    asked = ours(log, offset)
    assert not asked, asked
    assert spec.get()["metadata"]["resourceVersion"] == version
    deployment = audited.api.get("/apis/apps/v1/namespaces/quiet/deployments/web").must().object
    assert deployment["spec"]["replicas"] == 2
    assert not [one for one in spec.get()["status"]["conditions"] if one["type"] == "Drifted"]
    assert "driftCorrections" not in spec.get()["status"] and len(spec.releases()) == 1


def test_without_watches_checks_verify_and_write_nothing(audited, operator, injector):
    spec = Spec(audited, "blind")
    spec.apply(everything("blind"), interval="1s").wait("True")
    eventually(lambda: spec.get()["status"].get("driftDetection"))
    log = audit_log(audited)
    wait_for_checks(operator, spec, 4)
    time.sleep(2)
    offset, version = log.stat().st_size, spec.get()["metadata"]["resourceVersion"]
    wait_for_checks(operator, spec, CHECKS)
    time.sleep(2)
    asked = ours(log, offset)
    assert not [one for one in asked if one[0] in WRITES], asked  # nor a dry-run: all are known by now
    assert [one for one in asked if one[1] == "configmaps" and one[0] in ("get", "list")], asked
    assert spec.get()["metadata"]["resourceVersion"] == version
    assert "driftCorrections" not in spec.get()["status"]


def test_what_no_metadata_shows_is_found_by_its_value(audited, operator, injector):
    """Admission changes a field of ours in somebody else's write: managedFields attribute it to
    nobody. A look at the values finds it."""
    spec = Spec(audited, "quiet", "hidden")
    path = "/api/v1/namespaces/quiet/configmaps/hidden"
    injector.forced = "ours"
    spec.apply([resource({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"},
                          "metadata": {"name": "hidden", "namespace": "quiet", "labels": {"team": "ours"}}}),
                config_map("besides", "quiet")], interval="20m").wait("True")
    injector.forced = "theirs"
    audited.api.patch(path, {"data": {"theirs": "x"}}).must()
    assert audited.api.get(path).must().object["metadata"]["labels"]["team"] == "theirs"
    injector.forced = "ours"
    time.sleep(3)
    assert audited.api.get(path).must().object["metadata"]["labels"]["team"] == "theirs"  # nothing tells
    audited.api.patch(spec.path, {"metadata": {"annotations": {"api.kusion.io/reconcile-requested-at": "now"}}}).must()
    eventually(lambda: audited.api.get(path).must().object["metadata"]["labels"]["team"] == "ours", 20)
    eventually(lambda: spec.get()["status"]["driftCorrections"]["count"] == 1 if
               "driftCorrections" in spec.get()["status"] else False, 20)


def test_values_are_verified_from_time_to_time(audited, operator, injector):
    """With a short --verify-interval the same is found by itself."""
    operator.stop()
    again = Controller(audited, flags=["--log-level", "debug", "--verify-interval", "4s"]).wait_leading()
    try:
        spec = Spec(audited, "quiet", "verified")
        path = "/api/v1/namespaces/quiet/configmaps/verified"
        injector.forced = "ours"
        spec.apply([resource({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"},
                              "metadata": {"name": "verified", "namespace": "quiet", "labels": {"team": "ours"}}})],
                   interval="1s").wait("True")
        injector.forced = "theirs"
        audited.api.patch(path, {"data": {"theirs": "x"}}).must()
        assert audited.api.get(path).must().object["metadata"]["labels"]["team"] == "theirs"
        injector.forced = "ours"
        eventually(lambda: audited.api.get(path).must().object["metadata"]["labels"]["team"] == "ours", 30)
    finally:
        again.stop()
