"""The life of a Spec as kubectl shows it, as a transcript that a person can read: golden/life.txt.

Times, uids and what else differs from run to run are replaced. To write the file anew, after a
message has changed on purpose: KUSION_GOLDEN=write hack/test e2e transcript; then read the diff."""

import copy
import difflib
import json
import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from kusion_e2e.shell import type_in
from kusion_e2e.specs import resource
from kusion_e2e.state_backend import need_objects
from kusion_e2e.wait import eventually

GOLDEN = Path(__file__).parent / "golden/life.txt"
NAMESPACE = "shop"
APPS = 10

# What is said of the pods that are held, in the end; what is said before depends on when the operator looks.
HELD = re.compile(r"59 of 60 done, waiting for apps/v1:Deployment:shop:app-9: "
                  r"Available: 0/1: Pod app-9-\S+: phase Pending, not Ready$", re.MULTILINE)

NORMAL = [
    # what differs, and what stands for it
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"),
    (r"(Resource Version: +)\d+", r"\1N"),
    (r"kusion-[0-9a-f]{40}", "kusion-HASH"),
    (r"\b[0-9a-f]{64}\b", "DIGEST"),
]

POD = (r"\b(Pod app-\d+)-[a-z0-9-]+", r"\1-POD")  # of names that differ in length


def manifest(kind, name, version="v1", labels=None, **fields):
    return {"apiVersion": version, "kind": kind,
            "metadata": {"name": name, "namespace": NAMESPACE, **({"labels": labels} if labels else {})},
            **fields}


def deployment(name, hold=False):
    labels = {"app": name}
    pod = {"metadata": {"labels": {**labels, **({"kwok-hold": "true"} if hold else {})}},
           "spec": {"containers": [{"name": "app", "image": "registry.example.com/app:1"}]}}
    return manifest("Deployment", name, "apps/v1",
                    spec={"replicas": 1, "selector": {"matchLabels": labels}, "template": pod})


def app(number):
    """Six resources; the pods of the last app are not ready until they are let go."""
    name = f"app-{number}"
    things = [
        manifest("ServiceAccount", name),
        manifest("ConfigMap", name, data={"level": "info"}),
        manifest("ConfigMap", f"{name}-extra", data={"theme": "light"}),
        manifest("Service", name, spec={"selector": {"app": name}, "ports": [{"port": 80}]}),
        deployment(name, hold=number == APPS - 1),
        manifest("PodDisruptionBudget", name, "policy/v1",
                 spec={"minAvailable": 0, "selector": {"matchLabels": {"app": name}}}),
    ]
    return [resource(thing) for thing in things]


def shop():
    """The Spec: 60 resources."""
    resources = [one for number in range(APPS) for one in app(number)]
    return {"apiVersion": "api.kusion.io/v1", "kind": "Spec",
            "metadata": {"name": "shop", "namespace": NAMESPACE},
            "spec": {"timeout": "30m", "retryInterval": "20m", "resources": resources}}


class Transcript:
    """What a person types, and sees."""

    def __init__(self, cluster, directory):
        self.cluster, self.directory, self.lines = cluster, directory, []

    def title(self, text):
        self.lines += ["", f"## {text}"]
        time.sleep(1.1)  # events have times in seconds: those of two parts must not be mixed

    def write(self, spec):
        (self.directory / "shop.yaml").write_text(json.dumps(spec))

    def silent(self, command):
        return type_in(self.cluster, command, self.directory, stderr=subprocess.STDOUT)

    def run(self, command):
        result = self.silent(command)
        self.lines += ["", f"$ {command}", *normal(result.stdout).splitlines()]
        if result.returncode:
            self.lines.append(f"[exit status {result.returncode}]")
        return result

    def wait(self, command, text):
        """Until the output has the text, or what the pattern says; not in the transcript."""

        def seen():
            found = self.silent(command).stdout
            assert text.search(found) if isinstance(text, re.Pattern) else text in found, found
            return True

        eventually(seen)

    def look(self):
        """As a person looks for what is the matter."""
        ready = "kubectl get spec shop -n shop -o jsonpath='{.status.conditions[0].reason}'"
        self.wait(EVENTS, self.silent(ready).stdout)  # events come beside the work
        self.run("kubectl get specs -n shop")
        self.run(DESCRIBE)
        self.run(EVENTS)


def cells(head, line):
    """Of a line of a table, by the columns of its head."""
    starts = [found.start() for found in re.finditer(r"(?<!\S)\S(?:\S| (?! ))*", head)]
    return [line[start:end].strip() for start, end in zip(starts, [*starts[1:], None])]


def normal_table(lines):
    """Ages are of any length, and so are columns with them. Of events about progress, there are more
    or fewer as the machine is slow or fast: one of them always comes."""
    head, *rows = [[re.sub(*POD, cell) for cell in cells(lines[0], line)] for line in lines]
    for row in rows:
        row[0 if head[0] == "LAST SEEN" else -1] = "AGE"
    rows = [row for row in rows if "Progressing" not in row or HELD.search(row[-1]) or head[-1] != "MESSAGE"]
    widths = [max(map(len, column)) for column in zip(head, *rows)]
    return ["   ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
            for row in [head, *rows]]


def normal(text):
    for pattern, replacement in NORMAL:
        text = re.sub(pattern, replacement, text)
    parts = [part.splitlines() for part in text.rstrip("\n").split("\n\n")]
    for i, lines in enumerate(parts):
        if lines and re.match(r"LAST SEEN |NAME .* AGE$", lines[0]):
            parts[i] = normal_table(lines)
    return re.sub(*POD, "\n\n".join("\n".join(line.rstrip() for line in lines) for lines in parts))


@pytest.fixture
def transcript(controlled, tmp_path):
    controlled.ensure_namespace(NAMESPACE)
    controlled.kubectl("create", "clusterrolebinding", NAMESPACE, "--clusterrole=cluster-admin",
                       f"--serviceaccount={NAMESPACE}:default")
    yield Transcript(controlled, tmp_path)
    controlled.kubectl("delete", "spec", "shop", "-n", NAMESPACE, "--ignore-not-found")
    controlled.delete_namespace(NAMESPACE)
    controlled.kubectl("delete", "clusterrolebinding", NAMESPACE)


# Without what the Spec itself says, and all but the first entries of the inventory.
DESCRIBE = ("kubectl describe spec shop -n shop | sed '1,/^Status:/d; /^Events:/,$d' | "
            "sed '/^      Id: .*app-1$/,/^    Omitted/{/Omitted/!d}'")
APPLY = "kubectl apply --server-side -f shop.yaml"
EVENTS = "kubectl events -n shop --for spec/shop"
FINISHED = "kubectl wait --for=condition=Finished spec/shop -n shop --timeout=120s"
READY = "kubectl wait --for=condition=Ready spec/shop -n shop --timeout=0s"


def live(transcript):
    spec = shop()
    resources = spec["spec"]["resources"]

    transcript.title("60 resources are created; the pods of one Deployment do not become ready")
    transcript.write(spec)
    transcript.run(APPLY)
    transcript.wait("kubectl get spec shop -n shop -o jsonpath='{.status.conditions[0].message}'", HELD)
    transcript.wait(EVENTS, HELD)
    transcript.look()
    transcript.run("kubectl get releases -n shop")

    transcript.title("They become ready")
    transcript.silent("kubectl label pods -n shop -l kwok-hold kwok-hold-")
    transcript.run(FINISHED)
    transcript.run(READY)
    transcript.look()
    transcript.run("kubectl get releases -n shop")

    transcript.title("A change that the API server refuses, and a value that does not fit")
    wrong = copy.deepcopy(spec)
    by_id = {one["id"]: one["attributes"] for one in wrong["spec"]["resources"]}
    by_id["v1:Service:shop:app-3"]["spec"]["ports"][0]["port"] = 99999
    by_id["v1:ConfigMap:shop:app-4"]["data"]["level"] = 5
    by_id["v1:ConfigMap:shop:app-5"]["data"]["level"] = "debug"
    transcript.write(wrong)
    transcript.run(APPLY)
    transcript.run(FINISHED)
    transcript.run(READY)
    transcript.look()

    transcript.title("The mistakes are mended")
    transcript.write(spec)
    transcript.run(APPLY)
    transcript.run(FINISHED)
    transcript.run(READY)
    transcript.run("kubectl get specs -n shop")

    transcript.title("Three resources are changed")
    for name in ("app-1", "app-2", "app-3"):
        next(one for one in resources if one["id"] == f"v1:ConfigMap:shop:{name}")[
            "attributes"]["data"] = {"level": "debug"}
    transcript.write(spec)
    transcript.run(APPLY)
    transcript.run(FINISHED)
    transcript.run("kubectl get specs -n shop")

    transcript.title("Two apps, with twelve resources, leave the Spec")
    del resources[:12]
    transcript.write(spec)
    transcript.run(APPLY)
    transcript.run(FINISHED)
    transcript.run("kubectl get specs,releases -n shop")
    transcript.run("kubectl get release shop-5 -n shop "
                   "-o jsonpath='{range .status.results[?(@.action==\"delete\")]}{.id}{\"\\n\"}{end}'")

    transcript.title("A mistake in the Spec itself: nothing is changed")
    wrong = copy.deepcopy(spec)
    wrong["spec"]["resources"][0]["dependsOn"] = ["v1:ConfigMap:shop:app-22"]
    transcript.write(wrong)
    transcript.run(APPLY)
    transcript.run(FINISHED)
    transcript.run(READY)
    transcript.run("kubectl get specs -n shop")
    transcript.run("kubectl get releases -n shop")

    transcript.title("The Spec is deleted")
    transcript.run("kubectl delete spec shop -n shop")
    transcript.wait("kubectl get releases -n shop 2>&1", "No resources found")
    transcript.run("kubectl get specs,releases,deployments,services -n shop")
    transcript.wait(EVENTS, "all resources are deleted")
    transcript.run(EVENTS)


def test_the_life_of_a_spec_reads_as_in_the_transcript(transcript):
    need_objects()
    live(transcript)
    found = "\n".join(["# The life of a Spec, as kubectl shows it (test_transcript.py).",
                       *transcript.lines, ""])
    if os.environ.get("KUSION_GOLDEN") == "write":
        GOLDEN.write_text(found)
    golden = GOLDEN.read_text()
    diff = difflib.unified_diff(golden.splitlines(), found.splitlines(), "golden", "found", lineterm="", n=2)
    assert golden == found, "\n".join(diff)
