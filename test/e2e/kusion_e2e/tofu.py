"""OpenTofu, with the providers of hack/providers and test/provider, and their back end."""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

from kusion_e2e.paths import ROOT

sys.path.insert(0, str(ROOT / "test/terraform"))
from kusion_terraform.backend import Backend  # noqa: E402,F401

HOST = "registry.terraform.io"
PROVIDERS = ["kusion/probe", "kusion/legacy", "hashicorp/random", "hashicorp/tls", "hashicorp/time"]

WHY_NOT = "no OpenTofu: hack/controlplane tools tofu builds it, in about 4 min"

SOURCES = {one.split("/")[1]: {"source": f"{HOST}/{one}"} for one in PROVIDERS}


@functools.lru_cache(maxsize=None)
def program():
    """OpenTofu's path. None: it is not built, which takes minutes."""
    script = ". hack/lib/common.sh; . hack/lib/go.sh; . hack/lib/tools.sh; tool_path tofu"
    path = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return path if os.path.exists(path) else None


@functools.lru_cache(maxsize=None)
def mirror():
    """The folder with the providers. Second: why there is none."""
    made = subprocess.run([ROOT / "hack/providers", "test"], capture_output=True, text=True)
    if made.returncode:
        return None, f"no Terraform providers: {made.stderr.strip().splitlines()[-1]}"
    return made.stdout.strip(), None


def flags():
    return ["--terraform-plugin-dir", mirror()[0],
            *(flag for one in PROVIDERS for flag in ("--terraform-provider", one))]


class Tofu:
    """A configuration in a folder of its own."""

    def __init__(self, folder, address=None):
        self.folder, self.address = Path(folder), address
        self.folder.mkdir(parents=True, exist_ok=True)
        rc = self.folder / "tofurc"
        # Links inside of a mirror OpenTofu does not follow.
        places = {(Path(mirror()[0]) / HOST / one).resolve().parents[2] for one in PROVIDERS}
        mirrors = "".join(f'  filesystem_mirror {{\n    path = "{place}"\n  }}\n' for place in places)
        rc.write_text(f"disable_checkpoint = true\nprovider_installation {{\n{mirrors}}}\n")
        self._environment = {**os.environ, "TF_CLI_CONFIG_FILE": str(rc), "TF_IN_AUTOMATION": "1"}

    def run(self, *arguments, may_fail=False):
        done = subprocess.run([program(), *arguments], cwd=self.folder, env=self._environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True)
        assert may_fail or done.returncode == 0, done.stdout + done.stderr
        return done

    def configure(self, resource, backend=None, **more):
        """resource: {kind: {name: arguments}}."""
        module = {"terraform": {"required_providers": SOURCES, **({"backend": backend} if backend else {})},
                  "resource": resource, **more}
        if self.address:
            module["provider"] = {name: {"address": self.address} for name in ("probe", "legacy")}
        (self.folder / "main.tf.json").write_text(json.dumps(module))
        self.run("init", "-input=false", "-no-color", "-reconfigure")
        return self

    def module(self, name, resource):
        """Another module of it: ./NAME."""
        (self.folder / name).mkdir(exist_ok=True)
        (self.folder / name / "main.tf.json").write_text(json.dumps({
            "terraform": {"required_providers": SOURCES}, "resource": resource}))

    def apply(self):
        self.run("apply", "-input=false", "-no-color", "-auto-approve")
        return self

    def state(self):
        return self.run("state", "pull").stdout

    def plan(self):
        """None: no changes. Else what it says."""
        done = self.run("plan", "-input=false", "-no-color", "-detailed-exitcode", may_fail=True)
        return None if done.returncode == 0 else done.stdout + done.stderr


def backend(cluster, namespace, suffix):
    """Terraform's own for Kubernetes: the Secret tfstate-default-SUFFIX."""
    return {"kubernetes": {"secret_suffix": suffix, "namespace": namespace,
                           "config_path": str(cluster.kubeconfig)}}
