"""The whole way by the CLI alone, on a real node: from a manifest to its deletion, with an author who may
not approve and an approver who may not write, and a Pod that cannot pull its image."""

import json
import re
import subprocess
import sys
import time

import pytest
from conftest import OWN, ROOT, TEAM, wait_available
from kusion_e2e.pod import PAGE
from kusion_e2e.wait import eventually

sys.path.append(str(ROOT / "test" / "cli"))
from kusion_cli import Shell  # noqa: E402

ROLES = {"ann": "author", "bob": "approver"}
AUTHOR = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "author", "namespace": TEAM},
          "rules": [{"apiGroups": ["api.kusion.io"], "resources": ["specs"],
                     "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"]},
                    {"apiGroups": ["api.kusion.io"], "resources": ["releases"],
                     "verbs": ["get", "list", "watch", "create", "patch"]}]}
PULL = re.compile("ErrImagePull|ImagePullBackOff")
MANIFESTS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: page, namespace: team-a}
data: {color: blue}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: page, namespace: team-a}
spec:
  selector: {matchLabels: {app: page}}
  template:
    metadata: {labels: {app: page}}
    spec:
      containers:
      - {name: page, image: "registry.invalid/none:1", envFrom: [{configMapRef: {name: page}}]}
"""


@pytest.fixture
def shell(cluster, package):
    """Of a team whose authors and approvers examples/approvals.yaml keeps apart."""
    approvals = ROOT / "examples" / "approvals.yaml"
    cluster.helm("upgrade", "--install", "kusion", package, "-n", OWN, "--create-namespace")
    wait_available(cluster)
    for file in (ROOT / "examples" / "team-a.yaml", approvals):
        cluster.kubectl("apply", "--server-side", "-f", file)
    cluster.apply(json.dumps(AUTHOR))
    for user, role in ROLES.items():
        cluster.kubectl("create", "rolebinding", user, "-n", TEAM, f"--role={role}", f"--user={user}")
    with Shell(cluster, TEAM) as shell:
        (shell.folder / "manifests.yaml").write_text(MANIFESTS)
        yield shell
    cluster.kubectl("delete", "-f", approvals)
    cluster.kubectl("delete", "rolebinding", "-n", TEAM, *ROLES)


def says_pull_failed(cluster):
    """The kubelet, of the Pod."""
    found = cluster.get_json("pods", "-n", TEAM, "-l", "app=page") or {"items": []}
    states = [container["state"] for pod in found["items"]
              for container in pod["status"].get("containerStatuses", [])]
    return any(PULL.search(state.get("waiting", {}).get("reason", "")) for state in states)


def seconds_to_cause(cluster, shell):
    """From the kubelet's word to the first line of a watch that tells it."""
    watch = subprocess.Popen(["timeout", "150", "kubectl-kusion", "status", "page", "--watch", "--as", "ann"], text=True,
                             cwd=shell.folder, env=shell.environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        eventually(lambda: says_pull_failed(cluster), 120)
        word = time.monotonic()
        said = next((line for line in watch.stdout if PULL.search(line) and "registry.invalid/none:1" in line), None)
        assert said, "the watch never told why the image is not there"
        return round(time.monotonic() - word, 1), said
    finally:
        watch.terminate()
        watch.wait()


def test_from_a_manifest_to_its_deletion(cluster, shell, capsys):
    def ann(command):
        return shell.type(f"kubectl kusion {command} --as ann")

    def bob(command):
        return shell.type(f"kubectl kusion {command} --as bob")

    def decided(command):
        """A change of ann's waits, she may not approve it, and bob does. What his approval led to."""
        waiting = ann(command)
        assert waiting.code == 4, waiting.text
        refused = ann("approve page --yes")
        assert refused.code == 1 and "approve" in refused.text, refused.text
        return bob("approve page --yes --watch --timeout 110s")

    shell.type("kubectl kusion convert -f manifests.yaml --name page --service-account deployer > page.yaml").must()
    shell.type("sed -i 's/^spec:/spec:\\n  approval: {mode: Manual}\\n  timeout: 40s/' page.yaml").must()
    shell.type("kubectl kusion validate -f page.yaml").must()
    assert "2 to create" in ann("preview -f page.yaml").must()

    waiting = ann("apply -f page.yaml --watch")
    assert waiting.code == 4, waiting.text
    assert ann("approve page --yes").code == 1
    bob("approve page --yes").must()
    seconds, said = seconds_to_cause(cluster, shell)
    with capsys.disabled():
        print({"secondsFromTheKubeletToTheUser": seconds, "said": said.strip()})

    shell.type(f"sed -i s,registry.invalid/none:1,{PAGE}, page.yaml").must()
    assert "✓ revision 2: succeeded" in decided("apply -f page.yaml --watch").must()
    shell.type("sed -i s/blue/green/ page.yaml").must()
    assert "✓ revision 3: succeeded" in decided("apply -f page.yaml --watch").must()

    shown = ann("rollback page --to-revision 2 --preview").must()
    assert 'data.color = "green" -> "blue"' in shown, shown
    assert "✓ revision 4: succeeded" in decided("rollback page --to-revision 2 --yes").must()
    assert cluster.get_json("configmap", "page", "-n", TEAM)["data"] == {"color": "blue"}

    history = ann("history page").must()
    assert re.search(r"4 +Rollback to 2 +succeeded .*bob", history), history
    assert "2 deleted" in decided("destroy page --yes").must()
    left = cluster.get_json("configmaps,deployments", "-n", TEAM, "-l", "api.kusion.io/owner")
    assert not (left or {}).get("items")
    cluster.kubectl("delete", "spec", "page", "-n", TEAM)
