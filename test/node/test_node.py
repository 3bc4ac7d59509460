"""The operator's image, installed by Helm on a real node, from the first Pod to the uninstallation."""

import datetime
import json
import os
import re
import signal
import time

from conftest import OWN, ROOT, TEAM, wait_available
from kusion_e2e.pod import LABELS, NODE, PAGE, RESTRICTED, process_of, resident, started
from kusion_e2e.specs import Spec, resource
from kusion_e2e.wait import eventually


def pods(cluster, namespace=OWN):
    """Those that are not going; the operator's, in its namespace."""
    labels = LABELS if namespace == OWN else ""
    found = cluster.get_json("pods", "-n", namespace, "-l", labels) or {"items": []}
    return [pod for pod in found["items"] if "deletionTimestamp" not in pod["metadata"]]


def seconds_to_ready(pod):
    """From the start of its container until the kubelet found it ready, which looks once a second."""
    def at(text):
        return time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))
    started = pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
    ready = next(one for one in pod["status"]["conditions"] if one["type"] == "Ready")
    return at(ready["lastTransitionTime"]) - at(started)


def seconds_to_reconcile(cluster, pod):
    """From the start of its process: the Lease, and all Specs and Releases listed."""
    log = cluster.kubectl("logs", "-n", OWN, pod["metadata"]["name"]).stdout.splitlines()
    line = next(json.loads(line) for line in log if '"message":"reconciling"' in line)
    at = datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00")).timestamp()
    return round(at - started(process_of(pod)), 2)


def test_install(cluster, package, capsys):
    """From a packaged chart with its own values, under the restricted profile."""
    cluster.kubectl("create", "namespace", OWN)
    cluster.kubectl("label", "namespace", OWN, RESTRICTED)
    cluster.helm("install", "kusion", package, "-n", OWN)
    wait_available(cluster)
    pod, = pods(cluster)
    figures = {"secondsToReconcile": seconds_to_reconcile(cluster, pod), "secondsToReady": seconds_to_ready(pod),
               "residentMB": resident(process_of(pod))}
    with capsys.disabled():
        print(figures)
    assert pod["spec"]["containers"][0]["image"].startswith("ghcr.io/kusionstack/kusion-operator:")


def test_helm_test(cluster):
    """The test's Pod meets the restricted profile, says which Pod of the operator leads, and goes."""
    operator, = pods(cluster)
    said = cluster.helm("test", "kusion", "-n", OWN)
    assert f"{operator['metadata']['name']}_1_" in said.stdout + said.stderr
    assert "it renews the Lease kusion-system/kusion-operator" in said.stdout + said.stderr
    everything = cluster.get_json("pods", "-n", OWN)["items"]
    assert [pod["metadata"]["name"] for pod in everything] == [operator["metadata"]["name"]]


def test_guestbook(cluster, guestbook):
    """Its Pods run and answer; those of the page have what the Spec refers to."""
    cluster.kubectl("create", "namespace", TEAM)
    cluster.kubectl("apply", "--server-side", "-f", ROOT / "examples" / "team-a.yaml")
    cluster.apply(json.dumps(guestbook))
    name = guestbook["metadata"]["name"]
    cluster.kubectl("wait", f"specs/{name}", "-n", TEAM, "--for=condition=Ready", "--timeout=120s")
    found = pods(cluster, TEAM)
    assert {pod["status"]["phase"] for pod in found} == {"Running"}
    assert len(found) == 4
    for pod in found:
        page = cluster.run("curl", "--silent", "--max-time", "5",
                           f"http://{pod['status']['podIP']}:8080/").stdout
        assert page.startswith(pod["metadata"]["name"])


def sick(name, *containers):
    """A Deployment whose Pod does not become ready."""
    labels = {"app": name}
    return resource({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": TEAM},
                     "spec": {"selector": {"matchLabels": labels}, "template": {
                         "metadata": {"labels": labels}, "spec": {"containers": [*containers]}}}})


def test_workloads_that_are_not_healthy(cluster):
    """Messages have what the kubelet and the registry say, read as the Spec's account."""
    pull = sick("pull", {"name": "app", "image": "registry.invalid/none:1"})
    crash = sick("crash", {"name": "app", "image": PAGE, "command": ["/nothing"]})
    spec = Spec(cluster, TEAM, "sick").apply([pull, crash], serviceAccountName="deployer", timeout="40s")
    spec.wait("False", 180)
    said = {one["id"]: one["message"] for one in spec.get()["status"]["resources"]["failed"]}
    assert re.search(r"Pod pull-\w+-\w+: ImagePullBackOff: image registry.invalid/none:1: .*registry.invalid",
                     said[pull["id"]]), said
    assert re.search(r"Pod crash-\w+-\w+: .*container app: .*/nothing: no such file", said[crash["id"]]), said
    spec.delete()


def uids(cluster):
    found = cluster.get_json("deployments,services,configmaps", "-n", TEAM, "-l", "api.kusion.io/owner")
    return {one["metadata"]["uid"] for one in found["items"]}


def test_kill(cluster, guestbook):
    """The kubelet starts it again, and what it does next changes no object."""
    before = uids(cluster)
    pod, = pods(cluster)
    os.kill(process_of(pod), signal.SIGKILL)

    def is_back():
        again, = pods(cluster)
        status = again["status"]["containerStatuses"][0]
        return status["restartCount"] == 1 and status["ready"]

    eventually(is_back, 120)
    spec = Spec(cluster, TEAM, guestbook["metadata"]["name"])
    guestbook["spec"]["resources"][-1]["attributes"]["metadata"]["annotations"] = {"test": "killed"}
    answer = cluster.api.apply(spec.path, json.dumps(guestbook)).must()
    spec.generation = answer.object["metadata"]["generation"]
    spec.wait("True", 120)
    assert uids(cluster) == before


def test_a_second_node_is_refused_and_leaves_the_first_alone(cluster):
    second = cluster.up(f"second-{os.getpid()}", "--nodes", "0")
    try:
        refused = cluster.run(NODE, "up", second.name, check=False)
        assert refused.returncode == 1 and "is there another node?" in refused.stderr, refused
    finally:
        second.down()
    cluster.run("ip", "link", "show", "kusion0")


def test_upgrade(cluster, package):
    """The new Pod takes over, without waiting for the Lease of the old one."""
    old, = pods(cluster)
    cluster.helm("upgrade", "kusion", package, "-n", OWN, "--set", "controller.logLevel=debug")
    wait_available(cluster)
    new, = pods(cluster)
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    log = eventually(lambda: "reconciling" in cluster.kubectl("logs", "-n", OWN, new["metadata"]["name"]).stdout)
    assert log


def test_uninstall(cluster, guestbook):
    """Specs, their objects and the kinds stay."""
    before = uids(cluster)
    cluster.helm("uninstall", "kusion", "-n", OWN, "--wait")
    eventually(lambda: not pods(cluster))
    assert cluster.get_json("specs", "-n", TEAM)["items"]
    assert uids(cluster) == before


def test_install_again(cluster, package, guestbook):
    """It goes on with what was left, and deletes it with the Spec."""
    before = uids(cluster)
    cluster.helm("install", "kusion", package, "-n", OWN)
    wait_available(cluster)
    spec = Spec(cluster, TEAM, guestbook["metadata"]["name"])
    spec.generation = spec.get()["metadata"]["generation"]
    spec.wait("True")
    assert uids(cluster) == before
    spec.delete()
    eventually(lambda: not pods(cluster, TEAM), 60)
