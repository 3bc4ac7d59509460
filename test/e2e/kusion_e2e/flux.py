"""Flux's kustomize-controller as a process, and a source for it. Of source-controller there is its API alone: the
artifact of a commit is written into the status of a GitRepository, and an HTTP server has its archive."""

import hashlib
import io
import json
import os
import subprocess
import tarfile
import tempfile
import threading
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml

from kusion_e2e.paths import ROOT
from kusion_e2e.wait import eventually

PROGRAM = os.environ.get("KUSION_FLUX")
SYSTEM = "flux-system"
MODULE = ROOT / "hack/tools/flux"
SOURCES = f"/apis/source.toolkit.fluxcd.io/v1/namespaces/{SYSTEM}/gitrepositories"
KUSTOMIZATIONS = f"/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/{SYSTEM}/kustomizations"


def _go(*arguments):
    environment = {**os.environ, "GOWORK": "off", "GOFLAGS": "-mod=mod"}
    return subprocess.run([os.environ["GO"], "-C", MODULE, *arguments], env=environment, check=True, text=True,
                          capture_output=True).stdout


def _crds():
    """Of the version that was built, and of the source API that it uses."""
    version = _go("list", "-m", "-f", "{{.Version}}", "github.com/fluxcd/kustomize-controller").strip()
    api = _go("list", "-m", "-f", "{{.Version}}", "github.com/fluxcd/source-controller/api").strip()
    for module in (f"github.com/fluxcd/kustomize-controller@{version}", f"github.com/fluxcd/source-controller@{api}"):
        folder = Path(json.loads(_go("mod", "download", "-json", module))["Dir"])
        yield from sorted((folder / "config/crd/bases").glob("*.yaml"))


class Source:
    """A GitRepository, and the archives of its commits."""

    def __init__(self, cluster):
        self.cluster, self.archives, self.files = cluster, {}, {}
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        cluster.api.apply(f"{SOURCES}/fleet", json.dumps({  # it may be there, of an earlier run
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": {"name": "fleet", "namespace": SYSTEM},
            "spec": {"url": "https://git.example/fleet", "interval": "1h"}})).must()

    def commit(self, folder, *objects):
        """What the folder has now; no objects: a folder without any."""
        self.files[f"{folder}/all.yaml"] = yaml.safe_dump_all(objects)
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            for path, text in self.files.items():
                entry = tarfile.TarInfo(path)
                entry.size = len(text.encode())
                archive.addfile(entry, io.BytesIO(text.encode()))
        digest = hashlib.sha256(packed.getvalue()).hexdigest()
        path = f"/{digest}.tar.gz"
        self.archives[path] = packed.getvalue()
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        revision = f"main@sha1:{digest[:40]}"
        generation = self.cluster.api.get(f"{SOURCES}/fleet").must().object["metadata"]["generation"]
        self.cluster.api.patch(f"{SOURCES}/fleet/status", {"status": {
            "observedGeneration": generation,
            "artifact": {"digest": f"sha256:{digest}", "path": path[1:], "url": self.address + path,
                         "revision": revision, "lastUpdateTime": now},
            "conditions": [{"type": "Ready", "status": "True", "reason": "Succeeded", "message": "stored artifact",
                            "lastTransitionTime": now, "observedGeneration": generation}]}}).must()
        return revision

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def _handler(source):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                archive = source.archives.get(self.path)
                self.send_response(200 if archive else 404)
                self.send_header("Content-Length", str(len(archive or b"")))
                self.end_headers()
                self.wfile.write(archive or b"")

            do_HEAD = do_GET

            def log_message(self, *arguments):
                pass

        return Handler


class Flux:
    """The controller at work."""

    def __init__(self, cluster):
        self.cluster = cluster
        for path in _crds():
            cluster.kubectl("apply", "--server-side", "-f", path)
        for kind in ("kustomizations.kustomize", "gitrepositories.source"):
            eventually(lambda: cluster.is_established(f"{kind}.toolkit.fluxcd.io"))
        cluster.ensure_namespace(SYSTEM)
        self.source = Source(cluster)
        self.log = Path(tempfile.mkstemp(prefix="kustomize-controller-", suffix=".log")[1])
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [PROGRAM, "--metrics-addr", "127.0.0.1:0", "--health-addr", "127.0.0.1:0",
                 "--requeue-dependency", "1s"],
                stdout=log, stderr=log,
                env={**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "RUNTIME_NAMESPACE": SYSTEM})

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=60)
        self.source.close()
        self.log.unlink()


class Kustomization:
    """One, of a folder of its own."""

    def __init__(self, flux, name, **fields):
        self.flux, self.cluster, self.name, self.folder = flux, flux.cluster, name, f"apps/{name}"
        self.path = f"{KUSTOMIZATIONS}/{name}"
        self.fields = {"sourceRef": {"kind": "GitRepository", "name": "fleet"}, "path": f"./{self.folder}",
                       "prune": True, "interval": "10m", "wait": True, "timeout": "2m", **fields}

    def commit(self, *objects):
        self.revision = self.flux.source.commit(self.folder, *objects)
        return self

    def begin(self):
        self.cluster.api.create(KUSTOMIZATIONS, {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
                                                 "metadata": {"name": self.name, "namespace": "flux-system"},
                                                 "spec": self.fields}).must()
        return self

    def patch(self, **fields):
        self.cluster.api.patch(self.path, {"spec": fields}).must()

    def get(self):
        return self.cluster.api.get(self.path).must().object

    def ready(self):
        """The condition, if it is about what the Kustomization is now."""
        found = self.get()
        status = found.get("status", {})
        return next((one for one in status.get("conditions", []) if one["type"] == "Ready"
                     and one.get("observedGeneration") == found["metadata"]["generation"]), None)

    def wait(self, status, seconds=90):
        """Until Ready has this status, for the commit of now. Gives the condition."""

        def settled():
            ready = self.ready()
            assert ready and ready["status"] == status, ready
            assert self.get()["status"].get("lastAttemptedRevision") == self.revision
            return ready

        return eventually(settled, seconds)

    def reconcile(self):
        """As `flux reconcile` asks for it; until it was done, or is under way."""
        now = datetime.now(timezone.utc).isoformat()
        self.cluster.api.patch(self.path, {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": now}}}).must()
        eventually(lambda: self.get()["status"].get("lastHandledReconcileAt") == now)

    def delete(self, seconds=90):
        self.cluster.api.delete(self.path).must()
        eventually(lambda: self.cluster.api.get(self.path).code == 404, seconds)
