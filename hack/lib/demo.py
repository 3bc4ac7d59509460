"""What hack/demo shows: examples/guestbook.yaml as it is applied, what came of it, and how it
goes. A line for each thing that happens, from watches on our kinds and on those of the Spec's
resources; exit status 1 where something is not as it should be."""

import argparse
import os
import queue
import sys
import time
from pathlib import Path

import yaml

from kubewatch import ROOT, Watch, WatchApi

APPLY = "application/apply-patch+yaml"

GUESTBOOK = ROOT / "examples" / "guestbook.yaml"
GROUP = "/apis/api.kusion.io/v1"
REFERENCE = "$kusion_path."
DEADLINE = 180  # seconds, for coming and for going
QUIET = 0.15  # seconds that an event is held back, so that watches can be put in order

GREEN, RED, YELLOW, BLUE, DIM, BOLD = "32", "31", "33", "36", "2", "1"


def paint(colour, text):
    return f"\033[{colour}m{text}\033[0m" if sys.stdout.isatty() and text else text


class DemoFailed(Exception):
    """Something is not as it should be."""


def version_of(event):
    return int(event[1]["metadata"]["resourceVersion"])


class Resource:
    """One of the Spec's, with what is known of its life."""

    def __init__(self, entry, path):
        self.id = entry["id"]
        self.attributes = entry["attributes"]
        self.kind = self.attributes["kind"]
        self.name = self.attributes["metadata"]["name"]
        self.collection, self.path = path
        self.depends_on = set(entry.get("dependsOn", []))
        self.live = None
        self.created = self.deleted = None  # resource versions, which are in order over all kinds
        self.told = None

    def status(self):
        """What there is to say of it, or nothing while it is not well."""
        live = self.live or {}
        spec, status = live.get("spec", {}), live.get("status", {})
        if self.kind == "Deployment":
            wanted, available = spec.get("replicas", 1), status.get("availableReplicas", 0)
            return f"{wanted} of {wanted} available" if available >= wanted else None
        if self.kind == "PodDisruptionBudget":
            healthy = status.get("currentHealthy", 0)
            enough = status.get("expectedPods", 0) > 0 and healthy >= status.get("desiredHealthy", 0)
            return f"{healthy} healthy, {status.get('disruptionsAllowed', 0)} may go" if enough else None
        if self.kind == "Service":
            return spec.get("clusterIP")
        return status.get("phase", "")


def references(value, where=""):
    """(path, text) of each string that stands for a value of another resource."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from references(item, f"{where}.{key}" if where else key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from references(item, f"{where}[{index}]")
    elif isinstance(value, str) and value.startswith(REFERENCE):
        yield where, value[len(REFERENCE):]


def find(value, path):
    for step in path.replace("[", ".").replace("]", "").split("."):
        try:
            value = value[int(step)] if isinstance(value, list) else value[step]
        except (KeyError, IndexError, ValueError, TypeError):
            return None
    return value


class Demo:
    example = GUESTBOOK

    def __init__(self, manifest, plane, operator=None):
        """Operator: its process, where it is one of this machine."""
        self.operator = operator
        self.plane = plane
        self.api = WatchApi(os.environ["KUBECONFIG"])
        self.manifest = manifest
        self.name = self.manifest["metadata"]["name"]
        self.namespace = self.manifest["metadata"]["namespace"]
        self.path = f"{GROUP}/namespaces/{self.namespace}/specs/{self.name}"
        self.resources = {}
        self.events = queue.Queue()
        self.spec = None
        self.releases = {}
        self.started = time.monotonic()
        self._read_resources()

    # What is to be watched

    def _collection(self, attributes):
        version = attributes["apiVersion"]
        base = f"/apis/{version}" if "/" in version else f"/api/{version}"
        kinds = self.api.get(base).must().object["resources"]
        kind = next(k for k in kinds if k["kind"] == attributes["kind"] and "/" not in k["name"])
        if kind["namespaced"]:
            base += f"/namespaces/{attributes['metadata'].get('namespace', self.namespace)}"
        return f"{base}/{kind['name']}"

    def _read_resources(self):
        """Objects of Kubernetes: others cannot be watched."""
        for entry in self.manifest["spec"]["resources"]:
            if entry["type"] != "Kubernetes":
                continue
            attributes = entry["attributes"]
            collection = self._collection(attributes)
            path = (collection, f"{collection}/{attributes['metadata']['name']}")
            self.resources[entry["id"]] = Resource(entry, path)
        for resource in self.resources.values():
            resource.depends_on |= {self._target(text)[0] for _, text in references(resource.attributes)}
            resource.depends_on &= {*self.resources}

    def _target(self, text):
        ids = [entry["id"] for entry in self.manifest["spec"]["resources"]]
        name = max((one for one in ids if text.startswith(one + ".")), key=len)
        return name, text[len(name) + 1:]

    @staticmethod
    def kind_of(entry):
        return entry.get("extensions", {}).get("resourceType") or entry["attributes"]["kind"]

    def watch(self):
        own = {f"{GROUP}/namespaces/{self.namespace}/{plural}" for plural in ("specs", "releases")}
        for collection in own | {r.collection for r in self.resources.values()}:
            Watch(os.environ["KUBECONFIG"], collection, lambda *event: self.events.put(event))

    # What happens

    def tell(self, sign, colour, what, name, remark=""):
        at = f"{time.monotonic() - self.started:7.2f} s"
        print(f"  {paint(DIM, at)}  {paint(colour, sign)} {what:<20} {name:<22} {remark}".rstrip(), flush=True)

    def _check_operator(self):
        if self.operator is None:
            return
        try:
            state = Path(f"/proc/{self.operator}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            state = "Z"
        if state == "Z":
            raise DemoFailed("the operator has ended")

    def follow(self, done, seconds=DEADLINE):
        """Tells of events until done() says so."""
        end = time.monotonic() + seconds
        held = []
        while not done() or held:
            self._check_operator()
            try:
                held.append((time.monotonic(), self.events.get(timeout=0.05)))
            except queue.Empty:
                pass
            held.sort(key=lambda item: version_of(item[1]))
            while held and time.monotonic() - held[0][0] > QUIET:
                self._take(*held.pop(0)[1])
            if time.monotonic() > end:
                raise DemoFailed(f"it is not done after {seconds} s: {self._ready()[1]}")

    def _take(self, kind, item):
        metadata = item["metadata"]
        if item.get("kind") == "Spec" and metadata["name"] == self.name:
            self._take_spec(kind, item)
        elif item.get("kind") == "Release":
            self._take_release(kind, item)
        else:
            for resource in self.resources.values():
                if (resource.kind, resource.name) == (item.get("kind"), metadata["name"]):
                    self._take_resource(resource, kind, item)

    def _take_spec(self, kind, item):
        if kind == "DELETED":
            self.spec = None
            self.tell("-", RED, "Spec", self.name, "is gone: its finalizer was removed")
            return
        before, deleting = self._ready(), self._is_deleting()
        self.spec = item
        status, message = self._ready()
        if self._is_deleting() and not deleting:
            self.tell("~", YELLOW, "Spec", self.name, "is being deleted")
        elif (status, message) != before and status:
            colour = {"True": GREEN, "False": RED}.get(status, BLUE)
            self.tell("=", colour, "Spec", self.name, paint(colour, f"Ready={status}") + f" {message.splitlines()[0]}")

    def _take_release(self, kind, item):
        name, status = item["metadata"]["name"], item.get("status", {})
        phase, before = status.get("phase"), self.releases.get(name, {}).get("status", {}).get("phase")
        self.releases[name] = item
        if kind == "DELETED":
            self.releases.pop(name)
            self.tell("-", DIM, "Release", name)
        elif phase and phase != before:
            colour = {"succeeded": GREEN, "failed": RED}.get(phase, BLUE)
            remark = paint(colour, phase)
            if phase == "succeeded" and item["spec"]["operation"] == "Preview":
                remark += f": {plan_text(status)}"
            self.tell("=", colour, "Release", f"{name} ({item['spec']['operation']})", remark)

    def _take_resource(self, resource, kind, item):
        resource.live = None if kind == "DELETED" else item
        if kind == "DELETED":
            resource.deleted = int(item["metadata"]["resourceVersion"])
            self.tell("-", RED, resource.kind, resource.name)
            return
        status = resource.status()
        if kind == "ADDED":
            resource.created, resource.deleted = int(item["metadata"]["resourceVersion"]), None
            self.tell("+", GREEN, resource.kind, resource.name, self._origin(resource))
        elif item["metadata"].get("deletionTimestamp"):
            status = "is being deleted"
            if resource.told != status:
                self.tell("~", YELLOW, resource.kind, resource.name, status)
        elif status and status != resource.told and resource.kind in ("Deployment", "PodDisruptionBudget"):
            self.tell("✓", GREEN, resource.kind, resource.name, status)
        resource.told = status

    def _origin(self, resource):
        """Values that it took from other objects: those that are more than a name."""
        texts = []
        for path, text in references(resource.attributes):
            target, field = self._target(text)
            if field != "metadata.name" and target in self.resources:
                texts.append(f"{path} = {find(resource.live, path)}, {field} of {target}")
        return paint(DIM, "; ".join(texts))

    # What is so

    def _is_deleting(self):
        return bool(self.spec and self.spec["metadata"].get("deletionTimestamp"))

    def _ready(self):
        """The condition Ready, of the generation that is there: (status, message)."""
        status = (self.spec or {}).get("status", {})
        if not self.spec or status.get("observedGeneration") != self.spec["metadata"]["generation"]:
            return None, ""
        for condition in status.get("conditions", []):
            if condition["type"] == "Ready":
                return condition["status"], condition["message"]
        return None, ""

    def is_ready(self):
        status, message = self._ready()
        stalled = [c for c in (self.spec or {}).get("status", {}).get("conditions", [])
                   if c["type"] == "Stalled" and c["status"] == "True"]
        if status == "False" and stalled:
            raise DemoFailed(f"the Spec is not Ready: {message}")
        return status == "True"

    def is_gone(self):
        return self.spec is None and all(r.deleted for r in self.resources.values())

    def state_objects(self):
        """Without what is of no Spec: the operator's own, and the identity of the store."""
        names = []
        for plural in ("configmaps", "secrets"):
            items = self.api.get(f"/api/v1/namespaces/kusion-system/{plural}").must().object["items"]
            kind = {"configmaps": "ConfigMap", "secrets": "Secret"}[plural]
            names += [(kind, i["metadata"]["name"]) for i in items
                      if i["metadata"]["name"].startswith("kusion-")
                      and not i["metadata"]["name"].startswith(("kusion-operator", "kusion-store"))]
        return names

    def misplaced(self, later, earlier):
        """Pairs of resources that did not come (or go) in order."""
        return [(r.id, d) for r in self.resources.values() for d in r.depends_on
                if later(r, self.resources[d]) <= earlier(r, self.resources[d])]

    # The acts

    def apply(self):
        self.started = time.monotonic()
        entries = self.manifest["spec"]["resources"]
        kinds = {self.kind_of(one) for one in entries}
        title(f"{len(entries)} resources of {len(kinds)} kinds, applied from {self.example.relative_to(ROOT)}")
        self.api.request("PATCH", f"{self.path}?fieldManager=hack-demo", yaml.safe_dump(self.manifest), APPLY).must()
        self.follow(self.is_ready)
        took = time.monotonic() - self.started - QUIET
        missing = [r.id for r in self.resources.values() if not r.live]
        if missing:
            raise DemoFailed(f"Ready, and not there: {', '.join(missing)}")
        wrong = self.misplaced(lambda r, d: r.created, lambda r, d: d.created)
        if wrong:
            raise DemoFailed(f"came before what they depend on: {wrong}")
        print(f"\n  {paint(GREEN, 'Ready')} after {took:.1f} s, each resource after what it depends on.")

    def summary(self):
        title("What is there now")
        status = self.spec["status"]
        row("Spec", f"{self.namespace}/{self.name}", f"generation {status['observedGeneration']}: {self._ready()[1]}")
        for name, release in sorted(self.releases.items()):
            row("Release", f"{self.namespace}/{name}", f"{release['spec']['operation']}, {release['status']['phase']}: "
                f"{plan_text(release['status'])}")
        for kind, name in self.state_objects():
            row(f"State, a {kind}", f"kusion-system/{name}", "")
        for resource in sorted(self.resources.values(), key=lambda r: r.created):
            namespace = resource.attributes["metadata"].get("namespace")
            row(resource.kind, f"{namespace}/{resource.name}" if namespace else resource.name, resource.status() or "")

    def delete(self):
        self.started = time.monotonic()
        title("The Spec is deleted: dependents go first, from what State says")
        self.api.delete(self.path).must()
        self.follow(self.is_gone)
        took = time.monotonic() - self.started - QUIET
        if self.state_objects():
            raise DemoFailed(f"State is still there: {self.state_objects()}")
        wrong = self.misplaced(lambda r, d: d.deleted, lambda r, d: r.deleted)
        if wrong:
            raise DemoFailed(f"went after what they depend on: {wrong}")
        print(f"\n  {paint(GREEN, 'Gone')} after {took:.1f} s, each resource before what it depends on; "
              "and so is State.\n")

    def end(self):
        """With --once; else it stays."""
        self.delete()

    def stay(self):
        title("What to try next, in another terminal")
        print(NEXT.format(kubeconfig=os.environ["KUBECONFIG"], plane=self.plane, namespace=self.namespace,
                          name=self.name))
        title("What happens meanwhile (Ctrl-C ends it)")
        self.started = time.monotonic()
        self.follow(lambda: False, float("inf"))


NEXT = """\
  export KUBECONFIG={kubeconfig}
  alias kubectl='hack/controlplane kubectl {plane} --'

  kubectl get specs,releases -n {namespace}
  kubectl describe spec {name} -n {namespace}
  kubectl get configmaps -n kusion-system             # where State is

  # Change something: a new generation, and a new Release for it.
  kubectl edit spec {name} -n {namespace}

  # What would a change do? Hold the Spec, change it, and ask: asking changes nothing.
  kubectl patch spec {name} -n {namespace} --type=merge -p '{{"spec": {{"suspend": true}}}}'
  kubectl edit spec {name} -n {namespace}
  kubectl create -f - <<< '{{"apiVersion": "api.kusion.io/v1", "kind": "Release", "metadata": {{"name": "preview",
    "namespace": "{namespace}"}}, "spec": {{"specRef": {{"name": "{name}"}}, "operation": "Preview"}}}}'
  kubectl get release preview -n {namespace} -o yaml
  kubectl patch spec {name} -n {namespace} --type=merge -p '{{"spec": {{"suspend": false}}}}'

  # Dependents first, all of it, and nothing else.
  kubectl delete spec {name} -n {namespace}
  kubectl apply --server-side -f examples/guestbook.yaml"""


def title(text):
    print(f"\n{paint(BOLD, text)}\n", flush=True)


def row(kind, name, remark):
    print(f"  {kind:<20} {name:<54} {remark}".rstrip())


def plan_text(status):
    plan, counts = status.get("plan"), status.get("counts", {})
    if not plan:
        return f"{counts.get('succeeded', 0)} of {counts.get('total', 0)} done" if counts else ""
    return ", ".join(f"{plan[k]} {word}" for k, word in PLAN_WORDS if plan.get(k)) or "nothing to do"


PLAN_WORDS = (("create", "to create"), ("update", "to change"), ("delete", "to delete"),
              ("replace", "to replace"), ("adopt", "to adopt"), ("unchanged", "unchanged"))


def show(demo):
    demo.apply()
    demo.summary()


def run(show, demo, once):
    """Gives the exit status. Ctrl-C is how a demo that stays ends."""
    try:
        show(demo)
        if once:
            demo.end()
        else:
            demo.stay()
    except DemoFailed as failure:
        print(f"\n  {paint(RED, 'failed')}: {failure}", flush=True)
        return 1
    except KeyboardInterrupt:
        print()
        return 130 if once else 0
    return 0


def read_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--operator", type=int, help="its process, where the demo does not start one itself")
    parser.add_argument("--plane", required=True, help="its control plane")
    parser.add_argument("--once", action="store_true")
    return parser.parse_args()


def make(kind):
    """The demo that the command line asks for, of this class; and whether it is to end by itself."""
    arguments = read_arguments()
    return kind(yaml.safe_load(kind.example.read_text()), arguments.plane, arguments.operator), arguments.once


def main():
    demo, once = make(Demo)
    demo.watch()
    return run(show, demo, once)


if __name__ == "__main__":
    sys.exit(main())
