"""Argo CD's application controller and repo-server as processes, with the redis of its own tests (hack/tools/argocd).
Each Application has a Git repository of its own in a folder."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import yaml

from kusion_e2e.paths import ROOT
from kusion_e2e.searched import free_port
from kusion_e2e.wait import eventually

PROGRAM = os.environ.get("KUSION_ARGOCD")
SYSTEM = "argocd"
MODULE = ROOT / "hack/tools/argocd"
APPLICATIONS = f"/apis/argoproj.io/v1alpha1/namespaces/{SYSTEM}/applications"
CASCADE = "resources-finalizer.argocd.argoproj.io"


def _crds():
    """Of the version that was built."""
    found = subprocess.run([os.environ["GO"], "-C", MODULE, "mod", "download", "-json", "github.com/argoproj/argo-cd/v3"],
                           env={**os.environ, "GOWORK": "off", "GOFLAGS": ""}, check=True, text=True,
                           capture_output=True).stdout
    folder = Path(json.loads(found)["Dir"]) / "manifests/crds"
    return [folder / f"{name}-crd.yaml" for name in ("application", "appproject")]


def page_settings():
    """What docs/gitops.md puts into argocd-cm."""
    page = (ROOT / "docs/gitops.md").read_text()
    [block] = [yaml.safe_load(one) for one in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
               if "resource.customizations" in one]
    return block["data"]


def _object(kind, name, **more):
    return {"apiVersion": "v1", "kind": kind, "metadata": {
        "name": name, "namespace": SYSTEM, "labels": {"app.kubernetes.io/part-of": "argocd"}}, **more}


class Argo:
    """All of it at work."""

    def __init__(self, cluster):
        self.cluster, self.processes = cluster, []
        self.folder = Path(tempfile.mkdtemp(prefix="kusion-argocd-"))
        try:
            self._install()
            self._start()
        except BaseException:
            self.close()
            raise

    def _install(self):
        cluster = self.cluster
        for path in _crds():
            cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", path)
        for kind in ("applications", "appprojects"):
            eventually(lambda: cluster.is_established(f"{kind}.argoproj.io"))
        cluster.ensure_namespace(SYSTEM)
        everything = {"group": "*", "kind": "*"}
        for one in (_object("ConfigMap", "argocd-cm", data=page_settings()),
                    _object("Secret", "argocd-secret", stringData={"server.secretkey": "of no use here"}),
                    {"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject",
                     "metadata": {"name": "default", "namespace": SYSTEM},
                     "spec": {"sourceRepos": ["*"], "destinations": [{"server": "*", "namespace": "*"}],
                              "clusterResourceWhitelist": [everything]}}):
            cluster.apply(json.dumps(one))

    def _start(self):
        redis, repo, repo_metrics, metrics = (free_port() for _ in range(4))
        self._run("redis", f"127.0.0.1:{redis}")
        eventually(lambda: "serving" in self.log("redis"))
        self._run("repo-server", "--redis", f"127.0.0.1:{redis}", "--disable-tls", "--address", "127.0.0.1",
                  "--port", str(repo), "--metrics-address", "127.0.0.1", "--metrics-port", str(repo_metrics))
        eventually(lambda: "starting grpc server" in self.log("repo-server"))
        self._run("controller", "--redis", f"127.0.0.1:{redis}", "--repo-server", f"127.0.0.1:{repo}",
                  "--repo-server-plaintext", "--metrics-port", str(metrics), "--namespace", SYSTEM,
                  "--kubeconfig", str(self.cluster.kubeconfig),
                  "--persist-resource-health")  # messages are in the Application then, and not in redis alone

    def _run(self, command, *flags):
        with (self.folder / f"{command}.log").open("wb") as log:
            self.processes.append(subprocess.Popen(
                [PROGRAM, command, *flags], stdout=log, stderr=log,
                env={**os.environ, "HOME": str(self.folder), "TMPDIR": str(self.folder),
                     "KUBECONFIG": str(self.cluster.kubeconfig), "ARGOCD_FAKE_IN_CLUSTER": "true",
                     "ARGOCD_GPG_ENABLED": "false", "ARGOCD_ASK_PASS_SOCK": str(self.folder / "ask-pass")}))

    def log(self, command):
        assert all(one.poll() is None for one in self.processes), (self.folder / f"{command}.log").read_text()[-3000:]
        return (self.folder / f"{command}.log").read_text()

    def close(self):
        for one in reversed(self.processes):
            one.terminate()
            one.wait(timeout=60)
        shutil.rmtree(self.folder)


class Application:
    """One that syncs by itself, prunes and heals, of a repository of its own."""

    def __init__(self, argo, name, options=(), annotations=None, **automated):
        self.argo, self.cluster, self.name, self.path = argo, argo.cluster, name, f"{APPLICATIONS}/{name}"
        self.folder = argo.folder / "repositories" / name
        self.folder.mkdir(parents=True)
        self._git("init", "--quiet", "--initial-branch=main")
        self.annotations = annotations or {}
        self.policy = {"automated": {"prune": True, "selfHeal": True, **automated},
                       "syncOptions": ["ServerSideApply=true", *options]}

    def _git(self, *arguments):
        identity = ("-c", "user.name=test", "-c", "user.email=test@example.com")
        return subprocess.run(["git", "-C", self.folder, *identity, *arguments], check=True, text=True,
                              capture_output=True).stdout.strip()

    def commit(self, *objects):
        (self.folder / "all.yaml").write_text(yaml.safe_dump_all(objects))
        self._git("add", "all.yaml")
        self._git("commit", "--quiet", "--allow-empty", "-m", "test")
        self.revision = self._git("rev-parse", "HEAD")
        if self.cluster.api.get(self.path).ok:
            self.refresh()
        return self

    def begin(self):
        self.cluster.api.create(APPLICATIONS, {
            "apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
            "metadata": {"name": self.name, "namespace": SYSTEM, "annotations": self.annotations, "finalizers": [CASCADE]},
            "spec": {"project": "default",
                     "destination": {"server": "https://kubernetes.default.svc", "namespace": "default"},
                     "source": {"repoURL": f"file://{self.folder}", "path": ".", "targetRevision": "main"},
                     "syncPolicy": self.policy}}).must()
        return self

    def get(self):
        return self.cluster.api.get(self.path).must().object

    def status(self):
        return self.get().get("status", {})

    def refresh(self, hard=False):
        """As `argocd app get --refresh` asks for it; until it was done."""
        annotation = "argocd.argoproj.io/refresh"
        self.cluster.api.patch(self.path, {"metadata": {"annotations": {annotation: "hard" if hard else "normal"}}}).must()
        eventually(lambda: annotation not in self.get()["metadata"].get("annotations", {}))

    def terminate(self):
        """As `argocd app terminate-op` does it."""
        self.cluster.api.patch(self.path, {"status": {"operationState": {"phase": "Terminating"}}}).must()

    def health(self):
        return self.status().get("health", {}).get("status")

    def sync(self):
        """Of the commit of now; None: Argo CD has not seen it yet."""
        sync = self.status().get("sync", {})
        return sync.get("status") if sync.get("revision") == self.revision else None

    def operation(self):
        """Of the commit of now: its phase and its message."""
        state = self.status().get("operationState", {})
        is_ours = state.get("operation", {}).get("sync", {}).get("revision") == self.revision
        return (state.get("phase"), state.get("message", "")) if is_ours else (None, "")

    def syncs(self):
        """How many have begun. (Those that heal are not in status.history.)"""
        return sum(f'"application":"{self.name}"' in line and '"reason":"OperationStarted"' in line
                   for line in self.argo.log("controller").splitlines())

    def resource(self, name, kind="Spec"):
        """What Argo CD says of one that it manages; None: it does not manage it."""
        return next((one for one in self.status().get("resources", []) if one["kind"] == kind and one["name"] == name), None)

    def spec_health(self, name="spec"):
        """With the message."""
        health = (self.resource(name) or {}).get("health", {})
        return health.get("status"), health.get("message")

    def wait(self, health, sync="Synced", seconds=90):
        """Until it shows this for the commit of now."""

        def settled():
            status = self.status()
            assert self.sync() == sync and self.health() == health, {key: status.get(key) for key in
                                                                      ("sync", "health", "conditions", "operationState")}
            return True

        return eventually(settled, seconds)

    def wait_operation(self, phase, text="", seconds=90):
        def came():
            found = self.operation()
            assert found[0] == phase and text in found[1], (found, self.status().get("conditions"))
            return True

        return eventually(came, seconds)

    def delete(self, seconds=90):
        self.cluster.api.delete(self.path).must()
        eventually(lambda: self.cluster.api.get(self.path).code == 404, seconds)
