"""What the benchmarks of the whole operator share: a control plane of their own with our kinds
and a namespace `bench`, the release build of the operator on it, Specs of ConfigMaps, tables."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "hack" / "lib"), str(ROOT / "test" / "e2e")]
from kubewatch import TABLE, Watch  # noqa: E402
from kusion_e2e.cluster import Cluster, tool  # noqa: E402, F401

OPERATOR = os.environ.get("KUSION_OPERATOR", str(ROOT / "build/release/bin/kusion-operator"))
NAMESPACE = "bench"
SPECS = f"/apis/api.kusion.io/v1/namespaces/{NAMESPACE}/specs"
ACCOUNT = f"""
apiVersion: v1
kind: ServiceAccount
metadata: {{name: deployer, namespace: {NAMESPACE}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: bench-deployer}}
rules:
- {{apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, patch, delete]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: bench-deployer}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: bench-deployer}}
subjects: [{{kind: ServiceAccount, name: deployer, namespace: {NAMESPACE}}}]
"""


def say(text):
    print(text, file=sys.stderr, flush=True)


@contextmanager
def cluster(*options):
    plane = Cluster.up(f"bench-{os.getpid()}", *options)
    try:
        plane.install_crds()
        for namespace in ("kusion-system", NAMESPACE):
            plane.kubectl("create", "namespace", namespace)
        plane.apply(ACCOUNT)
        yield plane
    finally:
        plane.down()


@contextmanager
def operator(plane, *flags):
    """The operator's process. Its log is shown where the benchmark fails."""
    command = [OPERATOR, "--kubeconfig", str(plane.kubeconfig), "--state-namespace", "kusion-system",
               "--health-bind-address", "127.0.0.1:0", "--metrics-bind-address", "", *flags]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            yield process
        except BaseException:
            log.seek(0)
            sys.stderr.write(log.read().decode(errors="replace")[-3000:])
            raise
        finally:
            process.terminate()
            process.wait(30)


def config_map(number, namespace):
    """A small object, such as there are many."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"item-{number:04}", "namespace": namespace, "labels": {"app": "bench"}},
        "data": {"number": str(number), "text": "the quick brown fox jumps over the lazy dog"},
    }


def spec(name, objects):
    return {
        "apiVersion": "api.kusion.io/v1",
        "kind": "Spec",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "serviceAccountName": "deployer",
            "resources": [
                {
                    "id": f"v1:ConfigMap:{o['metadata']['namespace']}:{o['metadata']['name']}",
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

    def __init__(self, plane):
        self._at = {}
        Watch(plane.kubeconfig, SPECS, self._take, TABLE)

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

    def wait(self, name, seconds=180):
        """When it became Ready."""
        end = time.monotonic() + seconds
        while name not in self._at:
            if time.monotonic() > end:
                raise SystemExit(f"the Spec {name} is not Ready after {seconds} s")
            time.sleep(0.002)
        return self._at[name]


def median(values):
    return round(statistics.median(values), 3)


def report(heads, rows, figures):
    """The table, and its figures as the last line."""
    table = [heads, *[[str(cell) for cell in row] for row in rows]]
    widths = [max(len(row[i]) for row in table) for i in range(len(heads))]
    for row in table:
        print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(row, widths))))
    print(json.dumps(figures))
