"""What `hack/demo node` shows: the chart and the image on a real node. Helm installs them, the operator
in its Pod applies examples/guestbook.yaml, whose Pods run, too; then it is upgraded, killed, asked and
uninstalled. Exit status 1 where something is not as it should be."""

import os
import re
import signal
import subprocess
import sys
import time

import yaml

from demo import (BLUE, BOLD, DIM, GUESTBOOK, GREEN, RED, YELLOW, Demo, DemoFailed, paint, read_arguments, row, run,
                  title)
from kubewatch import ROOT, Watch
from kusion_e2e.cluster import tool
from kusion_e2e.pod import LABELS, process_of, resident, use_page

OWN, RELEASE = "kusion-system", "kusion"
CHART = ROOT / "charts" / "kusion-operator"


def is_ready(pod):
    conditions = pod.get("status", {}).get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def restarts(pod):
    return sum(one["restartCount"] for one in pod.get("status", {}).get("containerStatuses", []))


class NodeDemo(Demo):
    def __init__(self, manifest, plane):
        super().__init__(manifest, plane)
        self.pods = {}

    def watch_pods(self):
        for namespace in (OWN, self.namespace):
            path = f"/api/v1/namespaces/{namespace}/pods"
            Watch(os.environ["KUBECONFIG"], path, lambda *event: self.events.put(event))

    # What happens

    def _take(self, kind, item):
        if item.get("kind") == "Pod":
            self._take_pod(kind, item)
        else:
            super()._take(kind, item)

    def _take_pod(self, kind, pod):
        name = pod["metadata"]["name"]
        before = self.pods.get(name, {})
        if kind == "DELETED":
            self.pods.pop(name, None)
            self.tell("-", DIM, "Pod", name)
            return
        self.pods[name] = pod
        if kind == "ADDED":
            self.tell("+", GREEN, "Pod", name)
        if restarts(pod) > restarts(before):
            self.tell("~", YELLOW, "Pod", name, "the kubelet started its container again")
        if is_ready(pod) and not is_ready(before):
            self.tell("✓", GREEN, "Pod", name, f"Ready at {pod['status']['podIP']}")

    # The operator

    def operators(self):
        """Its Pods that are not going."""
        name, _, value = LABELS.partition("=")
        return [pod for pod in self.pods.values() if pod["metadata"]["namespace"] == OWN
                and pod["metadata"]["labels"].get(name) == value and "deletionTimestamp" not in pod["metadata"]]

    def operator_pod(self):
        """The only one, once it is Ready."""
        found = self.operators()
        return found[0] if len(found) == 1 and is_ready(found[0]) else None

    def helm(self, verb, *arguments):
        """Tells of what happens meanwhile; gives what it printed."""
        words = ["helm", verb, RELEASE, *arguments, "--namespace", OWN]
        print(f"  {paint(BOLD, '$ ' + ' '.join(words))}", flush=True)
        process = subprocess.Popen([tool("helm"), *words[1:]], cwd=ROOT, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        self.follow(lambda: process.poll() is not None)
        said = process.stdout.read()
        if process.returncode != 0:
            raise DemoFailed(f"helm {verb}: {said}")
        return said

    def uids(self):
        return {resource.id: resource.live["metadata"]["uid"] for resource in self.resources.values()}

    # The acts

    def act(self, text):
        self.started = time.monotonic()
        title(text)

    def install(self):
        self.act("Helm installs the chart; its namespace enforces the restricted Pod Security Standard")
        self.helm("install", str(CHART.relative_to(ROOT)))
        self.follow(self.operator_pod)
        pod = self.operator_pod()
        memory = resident(process_of(pod))
        row("  Pod", pod["metadata"]["name"], f"as user 65532, without a shell, {memory:.1f} MB resident")

    def ask(self):
        self.act("helm test: a Pod with the same image looks whether an operator is at work")
        said = self.helm("test")
        answer = re.search(r"(\S+) (is at work: [^\"\n]*)", said.replace('"', " "))
        if not answer:
            raise DemoFailed(said)
        print(f"\n  {paint(GREEN, answer[1])} {answer[2].strip()}")

    def pages(self):
        """Its Pods are no pretence."""
        self.act("What the guestbook's Pods answer")
        own = [pod for pod in self.pods.values() if pod["metadata"]["namespace"] == self.namespace]
        for pod in own:
            answer = subprocess.run(["curl", "--silent", "--fail", "--max-time", "5", "--noproxy", "*",
                                     f"http://{pod['status']['podIP']}:8080/"],
                                    capture_output=True, text=True, check=False)
            if answer.returncode != 0:
                raise DemoFailed(f"Pod {pod['metadata']['name']} does not answer")
            row("Pod", pod["metadata"]["name"], paint(BLUE, answer.stdout.strip()))

    def upgrade(self):
        self.act("helm upgrade: the next Pod takes over, and nothing else changes")
        before, old = self.uids(), self.operator_pod()["metadata"]["uid"]
        self.helm("upgrade", str(CHART.relative_to(ROOT)), "--set", "controller.logLevel=debug")
        self.follow(lambda: self.operator_pod() and self.operator_pod()["metadata"]["uid"] != old)
        self._must_be_unchanged(before)

    def kill(self):
        self.act("kill -9 of the operator in its Pod, while it makes a change")
        before, count = self.uids(), restarts(self.operator_pod())
        annotations = self.manifest["spec"]["resources"][-1]["attributes"]["metadata"].setdefault("annotations", {})
        annotations["demo"] = "killed"
        self.api.request("PATCH", f"{self.path}?fieldManager=hack-demo", yaml.safe_dump(self.manifest),
                         "application/apply-patch+yaml").must()
        os.kill(process_of(self.operator_pod()), signal.SIGKILL)
        self.tell("×", RED, "Pod", self.operator_pod()["metadata"]["name"], "kill -9")
        self.follow(lambda: self.operator_pod() and restarts(self.operator_pod()) > count)
        self.follow(lambda: self.spec["status"].get("observedGeneration") == self.spec["metadata"]["generation"]
                    and self.is_ready())
        self._must_be_unchanged(before)

    def _must_be_unchanged(self, before):
        if any(not resource.live for resource in self.resources.values()) or self.uids() != before:
            raise DemoFailed("resources are gone, or were made anew")
        print(f"\n  The {len(before)} resources are {paint(GREEN, 'the same objects as before')}.")

    def end(self):
        self.act("helm uninstall: the operator goes; Specs, their resources and the CRDs stay")
        before = self.uids()
        self.helm("uninstall", "--wait")
        self.follow(lambda: not self.operators())
        crds = self.api.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").must().object["items"]
        kept = sorted(one["metadata"]["name"] for one in crds if one["spec"]["group"] == "api.kusion.io")
        if kept != ["releases.api.kusion.io", "specs.api.kusion.io"]:
            raise DemoFailed(f"these CRDs are left: {kept}")
        self.api.get(self.path).must()
        self._must_be_unchanged(before)
        print()
        for name in kept:
            row("CRD", name, "")
        row("Spec", f"{self.namespace}/{self.name}", "")
        print()


def show(demo):
    demo.watch_pods()
    demo.install()
    demo.ask()
    demo.watch()
    demo.apply()
    demo.pages()
    demo.upgrade()
    demo.kill()
    demo.summary()


def main():
    arguments = read_arguments()
    demo = NodeDemo(use_page(yaml.safe_load(GUESTBOOK.read_text())), arguments.plane)
    return run(show, demo, arguments.once)


if __name__ == "__main__":
    sys.exit(main())
