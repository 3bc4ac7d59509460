"""Each manifest set, applied, edited, pruned and deleted: by the operator in one cluster, and by kubectl
apply --server-side in another. Then each object must be the same in both, but for what the API server
makes up, and so must be the fields that the applier manages.

  compare.py PLANE OTHER-PLANE [NAME…]

A line for each set, `FOUND …` for each difference; hack/soak manifests runs it."""

import copy
import json
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
from kusion_e2e.cluster import Cluster  # noqa: E402
from kusion_e2e.controller import STATE, Controller  # noqa: E402
from kusion_e2e.specs import Spec  # noqa: E402
from kusion_e2e.wait import eventually  # noqa: E402

from convert import parts_of  # noqa: E402
from edit import edited  # noqa: E402
from sets import SETS  # noqa: E402

PATIENCE = 600  # seconds for a set to come, or to go
SETTLING = 30  # seconds for the cluster's controllers to come to the same in both
APPLIERS = ("kusion-operator", "kubectl")
OF_THE_SERVER = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink")
OURS = {"labels": "api.kusion.io/owner", "annotations": "api.kusion.io/spec"}
FIRST = ("Namespace", "CustomResourceDefinition")
LAST = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "APIService")


class Objects:
    """Those of one cluster, by the resources of Specs."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.kinds = {}

    def kind(self, attributes):
        version = attributes["apiVersion"]
        key = (version, attributes["kind"])
        if key not in self.kinds:
            base = f"/apis/{version}" if "/" in version else f"/api/{version}"
            for one in self.cluster.api.get(base).must().object["resources"]:
                if "/" not in one["name"]:
                    self.kinds[version, one["kind"]] = (base, one["name"], one["namespaced"])
        return self.kinds[key]

    def get(self, attributes):
        """None where it is not there."""
        try:
            base, plural, is_namespaced = self.kind(attributes)
        except (AssertionError, KeyError):
            return None  # nor is its kind
        metadata = attributes["metadata"]
        where = f"/namespaces/{metadata['namespace']}" if is_namespaced else ""
        answer = self.cluster.api.get(f"{base}{where}/{plural}/{metadata['name']}")
        return answer.object if answer.ok else None


def without(value, where, key):
    """Takes a key out, and what has nothing left in it."""
    if isinstance(value.get(where), dict):
        value[where].pop(key, None)
        if not value[where]:
            del value[where]


def whole(live):
    """What is to be the same: all but what the API server makes up, and our label and annotation."""
    if live is None:
        return None
    live = copy.deepcopy(live)
    live.pop("status", None)
    metadata = live["metadata"]
    for key in OF_THE_SERVER:
        metadata.pop(key, None)
    for where, key in OURS.items():
        without(metadata, where, key)
    if live["kind"] == "Service":
        for key in ("clusterIP", "clusterIPs", "healthCheckNodePort"):
            if live["spec"].get(key) != "None":
                live["spec"].pop(key, None)
        for port in live["spec"].get("ports", []):
            port.pop("nodePort", None)
    if live["kind"] == "Job":  # by the uid
        live["spec"].pop("selector", None)
        for key in ("controller-uid", "batch.kubernetes.io/controller-uid"):
            without(live["spec"]["template"]["metadata"], "labels", key)
    return live


def managed(live):
    """The fields of the one that applied it; not those of the cluster's own controllers, some of which apply,
    too (that of aggregated ClusterRoles)."""
    if live is None:
        return None
    fields = [copy.deepcopy(one["fieldsV1"]) for one in live["metadata"].get("managedFields", [])
              if one["operation"] == "Apply" and one["manager"].startswith(APPLIERS)]
    for one in fields:
        metadata = one.get("f:metadata", {})
        for where, key in OURS.items():
            if f"f:{where}" in metadata:
                metadata[f"f:{where}"].pop(f"f:{key}", None)
                if set(metadata[f"f:{where}"]) <= {"."}:
                    del metadata[f"f:{where}"]
        without(one, "f:metadata", "")
    return fields


def difference(a, b, path=""):
    """The first one, as text; None where there is none."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in [*a, *(key for key in b if key not in a)]:
            if key not in a or key not in b:
                return f"{path}.{key}: only {'kubectl' if key not in a else 'the operator'} has it"
            found = difference(a[key], b[key], f"{path}.{key}")
            if found:
                return found
        return None
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return next((found for i, (x, y) in enumerate(zip(a, b)) for found in [difference(x, y, f"{path}[{i}]")]
                     if found), None)
    return None if a == b else f"{path}: {json.dumps(a)[:200]} here, {json.dumps(b)[:200]} by kubectl"


class Comparison:
    def __init__(self, cluster, other):
        self.cluster, self.other = cluster, other
        self.ours, self.theirs = Objects(cluster), Objects(other)

    def compare_one(self, attributes):
        ours, theirs = self.ours.get(attributes), self.theirs.get(attributes)
        if ours is None or theirs is None:
            # A finished Job may be taken away by its ttlSecondsAfterFinished, here and then there.
            if ours is theirs or attributes["kind"] == "Job":
                return None
            return f"only {'kubectl' if theirs else 'the operator'} made it"
        return difference(whole(ours), whole(theirs)) or difference(managed(ours), managed(theirs), "managedFields")

    def compare(self, parts):
        """Differences by id, once the clusters' own controllers have come to rest."""
        left = {one["id"]: one["attributes"] for part in parts for one in part}
        end = time.monotonic() + SETTLING
        while True:
            found = {id: self.compare_one(attributes) for id, attributes in left.items()}
            left = {id: left[id] for id, text in found.items() if text}
            if not left or time.monotonic() > end:
                return {id: found[id] for id in left}
            time.sleep(1)


def kubectl_apply(cluster, parts):
    """In the rounds that people make: kinds and namespaces, the rest, webhooks."""
    every = [one["attributes"] for part in parts for one in part]
    rounds = [[one for one in every if one["kind"] in FIRST],
              [one for one in every if one["kind"] not in FIRST + LAST],
              [one for one in every if one["kind"] in LAST]]
    for items in filter(None, rounds):
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        command = ("apply", "--server-side", "--force-conflicts", "-f", "-")
        for patience in (5, 10, 0):
            result = cluster.kubectl(*command, input=text, check=patience == 0)
            if result.returncode == 0:
                break
            time.sleep(patience)  # its CRDs are not established yet
        else:
            continue
        for one in items:
            if one["kind"] == "CustomResourceDefinition":
                eventually(lambda: cluster.is_established(one["metadata"]["name"]))


def kubectl_delete(cluster, resources, wait=True):
    items = [one["attributes"] for one in resources]
    items.sort(key=lambda one: one["kind"] not in LAST)  # webhooks first: they would hold up the rest
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    cluster.kubectl("delete", "--ignore-not-found", f"--wait={str(wait).lower()}", "-f", "-", input=text, check=wait)


class Run:
    """Of one set."""

    def __init__(self, comparison, one, folder):
        self.comparison, self.set = comparison, one
        self.cluster, self.other = comparison.cluster, comparison.other
        self.files = one.render(folder)
        self.parts = parts_of(self.files, one.namespace)
        self.specs = [Spec(self.cluster, one.namespace, f"{one.name}-{i + 1}") for i in range(len(self.parts))]
        self.found = {}
        self.times = []

    def prepare(self):
        for cluster in (self.cluster, self.other):
            cluster.ensure_namespace(self.set.namespace)
        self.cluster.kubectl("create", "clusterrolebinding", f"set-{self.set.namespace}", "--clusterrole=cluster-admin",
                             f"--serviceaccount={self.set.namespace}:default", check=False)

    def apply(self, parts):
        for spec, part in zip(self.specs, parts):
            # Nothing has a load balancer here, and no webhook and APIService has Pods that answer.
            spec.apply(part, wait=False, retryInterval="2s", timeout="1m")
        for spec in self.specs:
            spec.wait("True", PATIENCE)

    def step(self, name, parts, gone=()):
        began = time.monotonic()
        self.apply(parts)
        self.times.append(f"{name} {time.monotonic() - began:.0f} s")
        found = self.comparison.compare(parts)
        found.update({one["id"]: "is still there" for one in gone
                      if self.comparison.ours.get(one["attributes"]) is not None})
        self.found.update({f"{id} ({name})": text for id, text in found.items()})

    def delete(self, parts):
        began = time.monotonic()
        for spec in self.specs:
            self.cluster.api.delete(spec.path)  # 404: it did not come so far
        end = time.monotonic() + PATIENCE
        while any(spec.get() for spec in self.specs):
            if time.monotonic() > end:
                self.found["the Specs"] = f"are not gone after {PATIENCE} s: {self.specs[0].get()}"[:1500]
                return
            time.sleep(0.2)
        self.times.append(f"deleted {time.monotonic() - began:.0f} s")
        left = [one["id"] for part in parts for one in part if self.comparison.ours.get(one["attributes"]) is not None]
        self.found.update({f"{id} (deleted)": "is still there" for id in left})

    def run(self):
        self.prepare()
        changed, gone = edited(self.parts, self.set.namespace)
        try:  # what goes wrong here leaves nothing to the next set
            kubectl_apply(self.other, self.parts)
            self.step("applied", self.parts)
            kubectl_apply(self.other, changed)
            kubectl_delete(self.other, gone)
            self.step("edited", changed, gone)
        finally:
            self.delete(changed)
            kubectl_delete(self.other, [one for part in changed for one in part], wait=False)


def tell(run):
    objects = sum(len(part) for part in run.parts)
    print(f"{run.set.name:<20} {run.set.module.rpartition('@')[2]:<36} {objects:4} objects, {len(run.specs)} Specs: "
          f"{', '.join(run.times)}: {len(run.found)} differences", flush=True)
    for id, text in run.found.items():
        print(f"FOUND {run.set.name}: {id}: {text}\n  again:  hack/soak manifests {run.set.name}", flush=True)


def main():
    names = sys.argv[3:]
    chosen = [one for one in SETS if not names or one.name in names]
    clusters = [Cluster(name) for name in sys.argv[1:3]]
    clusters[0].install_crds()
    clusters[0].ensure_namespace(STATE)
    comparison = Comparison(*clusters)
    controller = Controller(clusters[0]).wait_leading()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for one in chosen:
                try:
                    run = Run(comparison, one, Path(folder))
                    run.run()
                    tell(run)
                except Exception:  # the other sets are to be seen, too
                    print(f"FOUND {one.name}: {traceback.format_exc()[-3000:]}\n"
                          f"  again:  hack/soak manifests {one.name}", flush=True)
    finally:
        controller.stop()
    print(f"manifests: {len(chosen)} sets")


if __name__ == "__main__":
    main()
