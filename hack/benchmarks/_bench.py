"""What the benchmarks of the whole operator share: a control plane of their own with our kinds,
the release build of the operator on it, Specs of ConfigMaps, tables.

With `hack/bench --against BINARY` there are two operators, each with a namespace, a Lease and a
namespace for State of its own: a benchmark asks one after the other, in turns, so that what else
the machine does at a time slows both."""

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "hack" / "lib"), str(ROOT / "test" / "e2e")]
from kubewatch import TABLE, Api, Watch  # noqa: E402, F401
from kusion_e2e.cluster import Cluster, tool  # noqa: E402, F401

for ending in (signal.SIGINT, signal.SIGTERM):  # also where it runs in the background: what was started is ended
    signal.signal(ending, signal.default_int_handler)

OPERATOR = os.environ.get("KUSION_OPERATOR", str(ROOT / "build/release/bin/kusion-operator"))
AGAINST = os.environ.get("KUSION_AGAINST", "")
ACCOUNT = """
apiVersion: v1
kind: ServiceAccount
metadata: {{name: deployer, namespace: {namespace}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: bench-deployer}}
rules:
- {{apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, patch, delete]}}
- {{apiGroups: [apps], resources: [deployments], verbs: [get, list, watch, create, patch, delete]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: {namespace}-deployer}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: bench-deployer}}
subjects: [{{kind: ServiceAccount, name: deployer, namespace: {namespace}}}]
"""


def image_environment(binary):
    """What the Dockerfile sets for its operator; another commit's operator has its own."""
    if binary != OPERATOR:
        return {}
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    return dict(line.removeprefix("ENV ").split("=", 1) for line in lines if line.startswith("ENV "))


def say(text):
    print(text, file=sys.stderr, flush=True)


@contextmanager
def cluster(*options):
    plane = Cluster.up("-".join(["bench", str(os.getpid()), *(option.strip("-") for option in options)]), *options)
    try:
        plane.install_crds()
        yield plane
    finally:
        plane.down()


class Side:
    """One operator, and the namespace that it watches."""

    def __init__(self, plane, name, binary, flags=()):
        self.plane = plane
        self.name = name  # of the side: "operator", "before"
        self.namespace = f"bench-{name}"
        self.specs = f"/apis/api.kusion.io/v1/namespaces/{self.namespace}/specs"
        state = f"state-{name}"
        for namespace in (state, self.namespace):
            plane.kubectl("create", "namespace", namespace)
        plane.apply(ACCOUNT.format(namespace=self.namespace))
        self._log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [binary, "--kubeconfig", str(plane.kubeconfig), "--state-namespace", state,
             "--watch-namespace", self.namespace, "--lease-name", f"bench-{name}",
             "--health-bind-address", "127.0.0.1:0", "--metrics-bind-address", "", *flags],
            stdout=self._log, stderr=self._log, env=os.environ | image_environment(binary))
        self.readiness = Readiness(plane, self.specs)

    def create(self, name, objects):
        """When it was begun: seconds, monotonic."""
        body = json.dumps(spec(name, self.namespace, objects))
        started = time.monotonic()
        self.plane.api.create(self.specs, body).must()
        return started

    def run(self, name, objects):
        """Seconds from the creation of a Spec until it is Ready."""
        started = self.create(name, objects)
        return self.readiness.wait(name) - started

    def resident(self, field="VmRSS"):
        """MB."""
        return round(int(self.status(field).split()[0]) * 1024 / 1e6, 1)

    def status(self, field):
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return line.partition(":")[2].strip()
        raise SystemExit("the operator has ended")

    def cpu(self):
        """Seconds that it has worked so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def show_log(self):
        self._log.seek(0)
        sys.stderr.write(f"\n{self.name}: " + self._log.read().decode(errors="replace")[-3000:])

    def stop(self):
        self.process.terminate()
        self.process.wait(60)
        self._log.close()


@contextmanager
def sides(plane, *flags, others=(), warm=True):
    """The operator; before it, where there is one, that which it is compared with. others: names and
    programs of more. Their logs are shown where the benchmark fails."""
    known = [("before", AGAINST)] if AGAINST else []
    with running_sides(plane, [*known, ("operator", OPERATOR), *others], flags, warm) as running:
        yield running


@contextmanager
def running_sides(plane, wanted, flags=(), warm=True):
    """Operators, of names and programs, and flags that others do not have."""
    running = []
    try:
        for name, binary, *more in wanted:
            running.append(Side(plane, name, binary, [*flags, *more]))
        if warm:
            warm_up(running)
        yield running
    except BaseException:
        for side in running:
            side.show_log()
        raise
    finally:
        for side in running:
            side.stop()


def warm_up(running):
    """The first request of a kind costs more than those that come after it."""
    for side in running:
        side.run("warm-up", [config_map(9999, side.namespace)])


def config_map(number, namespace):
    """A small object, such as there are many."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"item-{number:04}", "namespace": namespace, "labels": {"app": "bench"}},
        "data": {"number": str(number), "text": "the quick brown fox jumps over the lazy dog"},
    }


def spec(name, namespace, objects):
    return {
        "apiVersion": "api.kusion.io/v1",
        "kind": "Spec",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "serviceAccountName": "deployer",
            "resources": [
                {
                    "id": f"{o['apiVersion']}:{o['kind']}:{o['metadata']['namespace']}:{o['metadata']['name']}",
                    "type": "Kubernetes",
                    "attributes": o,
                }
                for o in objects
            ],
        },
    }


class Readiness:
    """Which Specs are Ready, from a watch of their tables, as `kubectl get specs -w` has them: it
    costs the API server least. For Specs of a single generation."""

    def __init__(self, plane, specs):
        self._at = {}
        Watch(plane.kubeconfig, specs, self._take, TABLE)

    def _take(self, kind, table):
        for row in table["rows"]:
            name, ready, message = row["cells"][:3]
            if kind == "DELETED":
                self._at.pop(name, None)
            elif ready == "True":
                self._at.setdefault(name, time.monotonic())
            elif ready == "False":
                say(f"{name}: {message}")

    def __len__(self):
        return len(self._at)

    def wait_for(self, count, seconds=900):
        """When the last of so many became Ready."""
        end = told = time.monotonic()
        end += seconds
        while len(self._at) < count:
            now = time.monotonic()
            if now > end:
                raise SystemExit(f"{len(self._at)} of {count} Specs are Ready after {seconds} s")
            if now - told > 10:
                told = now
                say(f"    {len(self._at)} of {count} Specs are Ready")
            time.sleep(0.02)
        return max(self._at.values())

    def wait(self, name, seconds=180):
        """When it became Ready."""
        end = time.monotonic() + seconds
        while name not in self._at:
            if time.monotonic() > end:
                raise SystemExit(f"the Spec {name} is not Ready after {seconds} s")
            time.sleep(0.002)
        return self._at[name]


def client_go(plane, *arguments, text=None):
    """What client_go.go prints."""
    return json.loads(subprocess.run([ROOT / "build/bench/client_go", *arguments], check=True, stdout=subprocess.PIPE,
                                     text=True, input=text, env=os.environ | {"KUBECONFIG": str(plane.kubeconfig)}).stdout)


def median(values):
    return round(statistics.median(values), 3)


def ratio(value, reference, digits=2):
    """Empty where there is nothing to compare with."""
    return round(value / reference, digits) if value is not None and reference else ""


def report(heads, rows, figures):
    """The table, and its figures as the last line."""
    table = [heads, *[[str(cell) for cell in row] for row in rows]]
    widths = [max(len(row[i]) for row in table) for i in range(len(heads))]
    for row in table:
        print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(row, widths))))
    print(json.dumps(figures))
