"""With KUSION_E2E_STORE (postgres, s3 or apache) every operator of the end-to-end tests keeps State, sealed, on a real
server of that kind in place of ConfigMaps (hack/soak stores), with the Releases that tell of operations: tests read
both with the operator's commands. A test that needs the objects of the API server (approves in a Release, say) is skipped
there, from where it does so. A test that names a store by itself has its own."""

import atexit
import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from kusion_e2e.servers import Servers

KIND = os.environ.get("KUSION_E2E_STORE")
TYPE = {None: "configmap", "apache": "webdav"}.get(KIND, KIND)  # as the operator names it


class _Backend:
    """The servers of this run, and a place on them for each namespace of State of each cluster."""

    def __init__(self):
        self.servers = Servers(f"e2e-store-{os.getpid()}")
        atexit.register(self.servers.down)
        self.server = self.servers.get(KIND)
        self.places = {}
        self.keys = Path(tempfile.mkdtemp(prefix="kusion-keys-"))
        for name, content in (("k1", os.urandom(32)), ("current", b"k1")):
            (self.keys / name).write_bytes(content)
            (self.keys / name).chmod(0o400)

    def flags(self, cluster, state):
        if (cluster, state) not in self.places:
            self.places[cluster, state] = self.server.new_place()
        return ["--state-backend", self.places[cluster, state], f"--state-key=file:{self.keys}"]


_backend = None


def backend():
    global _backend
    _backend = _backend or _Backend()
    return _backend


def flags(cluster, state, given=()):
    """What an operator with this namespace of State needs, unless its flags name a store."""
    if not KIND or any(flag.startswith(("--state-backend", "--state-dir")) for flag in given):
        return []
    return backend().flags(cluster, state)


def forget(cluster, state):
    """The next operator finds an empty place."""
    if KIND:
        backend().places.pop((cluster, state), None)


def _look(program, cluster, state, *words):
    command = [program, "state", *words, "--kubeconfig", str(cluster.kubeconfig), "--state-namespace", state]
    return subprocess.run([*command, *flags(cluster, state)], capture_output=True, text=True, timeout=60, check=False)


def listed(program, cluster, state):
    """Lines of `state list`, one for each State."""
    done = _look(program, cluster, state, "list")
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if "  revision " in line]


def shown(program, cluster, state, spec):
    """The State of a Spec ("namespace/name"), as it is stored. None: there is none."""
    done = _look(program, cluster, state, "show", spec)
    if done.returncode and "there is no State" in done.stderr:
        return None
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def releases(program, cluster, state, spec):
    """The Releases of a Spec ("namespace/name"), oldest first."""
    done = _look(program, cluster, state, "releases", spec)
    if done.returncode and "there is no Release" in done.stderr:
        return []
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["items"]


def content(cluster, state):
    """All that the server has, as text."""
    return backend().server.content(backend().places[cluster, state])


def need_objects():
    """Of State, or Releases, at the API server."""
    if KIND:
        pytest.skip("needs State or Releases at the API server")
