"""Manifest sets that people install: each from a version of its project's Go module, which carries them.
None is in this repository; `go mod download` puts them into Go's cache."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass

from kusion_e2e.cluster import tool


@dataclass(frozen=True)
class ManifestSet:
    name: str
    module: str  # with its version
    namespace: str  # of its Specs, and of objects that name none; made before
    files: tuple = ()  # of the module: YAML, and folders of it
    chart: str = ""  # or a folder with a Helm chart, and the values to set
    values: tuple = ()
    kustomization: str = ""  # or a folder for kubectl kustomize

    def source(self):
        """The module's folder."""
        go = os.environ.get("GO", "go")
        # Outside a checkout, so that no go.mod has a say.
        found = subprocess.run([go, "mod", "download", "-json", self.module], cwd="/", check=False,
                               env={**os.environ, "GOFLAGS": "", "GOWORK": "off"}, capture_output=True, text=True)
        answer = json.loads(found.stdout or "{}")
        if "Dir" not in answer:
            raise OSError(f"{self.module} cannot be had: {answer.get('Error') or found.stderr}")
        return answer["Dir"]

    def render(self, folder):
        """Its manifests, as files in the folder. Gives their paths."""
        source = self.source()
        if self.files:
            return self._copied(source, folder)
        if self.chart:
            command = [tool("helm"), "template", self.name, f"{source}/{self.chart}", "--namespace", self.namespace,
                       "--no-hooks", *(f"--set={value}" for value in self.values)]
        else:
            command = [tool("kubectl"), "kustomize", f"{source}/{self.kustomization}"]
        target = folder / f"{self.name}.yaml"
        target.write_text(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        return [target]

    def _copied(self, source, folder):
        made = []
        for one in self.files:
            path = os.path.join(source, one)
            names = sorted(os.path.join(where, name) for where, _, names in os.walk(path) for name in names
                           if name.endswith(".yaml")) or [path]
            for name in names:
                target = folder / f"{self.name}-{len(made):02}-{os.path.basename(name)}"
                shutil.copyfile(name, target)
                made.append(target)
        return made


SETS = (
    ManifestSet("argo-cd", "github.com/argoproj/argo-cd/v3@v3.5.2", "argocd", files=("manifests/install.yaml",)),
    ManifestSet("cert-manager", "github.com/cert-manager/cert-manager@v1.21.2", "cert-manager",
                chart="deploy/charts/cert-manager", values=("crds.enabled=true",)),
    ManifestSet("ingress-nginx", "k8s.io/ingress-nginx@v0.0.0-20240708192948-52c50467d67d", "platform",
                files=("deploy/static/provider/cloud/deploy.yaml",)),
    ManifestSet("metrics-server", "sigs.k8s.io/metrics-server@v0.9.0", "platform",
                kustomization="manifests/overlays/release"),
    # Without 300-knativecertificate.yaml and 999-cache.yaml: their CRDs are of other modules.
    ManifestSet("knative-serving", "knative.dev/serving@v0.51.0", "platform", files=tuple(
        f"config/core/{one}" for one in ("100-namespace.yaml", "200-serviceaccount.yaml", "200-roles", "300-resources",
                                         "configmaps", "deployments", "webhooks"))),
    ManifestSet("gatekeeper", "github.com/open-policy-agent/gatekeeper/v3@v3.23.1", "platform",
                files=("deploy/gatekeeper.yaml",)),
    ManifestSet("kyverno", "github.com/kyverno/kyverno@v1.19.1", "platform",
                files=("config/install-latest-testing.yaml",)),
    ManifestSet("prometheus-operator", "github.com/prometheus-operator/prometheus-operator@v0.85.0", "monitoring",
                files=("bundle.yaml",)),
)
