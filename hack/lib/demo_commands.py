"""What the demos share in which commands are typed: a file of a Spec that is changed, previewed and applied,
and Releases by which something is asked for."""

import json
import os
import shlex
import subprocess
import time
from pathlib import Path

import yaml

from demo import BOLD, QUIET, YELLOW, Demo, DemoFailed, paint, title
from kubewatch import ROOT
from kusion_e2e.cluster import tool
from kusion_e2e.controller import cli_folder

ENDED = ("succeeded", "failed", "cancelled")


class CommandDemo(Demo):
    def __init__(self, manifest, plane, operator):
        super().__init__(manifest, plane, operator)
        self._environment = {**os.environ, "PATH": f"{Path(tool('kubectl')).parent}:{cli_folder()}:{os.environ['PATH']}"}
        self._file = ROOT / "build" / "demo" / f"{self.name}.yaml"

    def act(self, text):
        self.started = time.monotonic()
        title(text)

    # Commands, as a person types them

    def type_in(self, command):
        """Gives what it printed."""
        print(f"  {paint(BOLD, '$ ' + command)}", flush=True)
        return self.output(command)

    def output(self, command):
        """Of a command that is not shown."""
        result = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=ROOT, env=self._environment,
                                text=True, capture_output=True, check=False)
        if result.returncode != 0:
            raise DemoFailed(f"{command}: {result.stderr}")
        return result.stdout.strip()

    def show_plan(self, release):
        command = f"kubectl kusion show {shlex.quote(release)} -n {self.namespace}"
        print(f"\n  {paint(BOLD, '$ ' + command)}\n", flush=True)
        if subprocess.run(shlex.split(command), cwd=ROOT, env=self._environment, check=False).returncode != 0:
            raise DemoFailed(command)
        print(flush=True)

    def write(self, manifest, text):
        self.manifest = manifest
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(yaml.safe_dump(manifest, sort_keys=False))
        print(f"  {paint(YELLOW, '~')} {self._file.relative_to(ROOT)}: {text}", flush=True)

    def preview_file(self):
        """The Release of the Preview, which has ended."""
        file = self._file.relative_to(ROOT)
        name = self.type_in(f"kubectl kusion convert --preview -f {file} | kubectl create -o name -f -").rpartition("/")[2]
        self.follow(lambda: self.has_ended(name))
        return name

    def type_apply(self):
        self.type_in(f"kubectl apply --server-side --field-manager=hack-demo -f {self._file.relative_to(ROOT)}")

    def create_release(self, **fields):
        """Its name."""
        body = {"apiVersion": "api.kusion.io/v1", "kind": "Release",
                "metadata": {"generateName": f"{self.name}-", "namespace": self.namespace},
                "spec": {"specRef": {"name": self.name}, **fields}}
        return self.type_in(f"kubectl create -o name -f - <<< {shlex.quote(json.dumps(body))}").rpartition("/")[2]

    # What is so

    def status_of(self, release):
        return self.releases.get(release, {}).get("status", {})

    def has_ended(self, release):
        return self.status_of(release).get("phase") in ENDED

    def history(self):
        self.act("What was done, and who approved it")
        time.sleep(2 * QUIET)
        print(self.type_in(f"kubectl get releases -n {self.namespace} -o wide"))
