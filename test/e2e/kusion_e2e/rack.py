"""The servers of hack/rack, and a provider in Python for one of them (examples/provider)."""

import functools
import json
import os
import shlex
import subprocess
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from kusion_e2e.paths import ROOT

RACK = ROOT / "hack/rack"


def _run(*arguments):
    return subprocess.run([RACK, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=400,
                          check=False)


@contextmanager
def rack(*servers):
    """What `hack/rack env` says of these, which are up meanwhile."""
    name = f"e2e-{os.getpid()}"
    can = _run("can", *servers)
    if can.returncode:
        pytest.skip(can.stderr.strip())
    up = _run("up", name, *servers)
    assert up.returncode == 0, up.stderr
    words = shlex.split(_run("env", name).stdout)
    yield dict(word.split("=", 1) for word in words if "=" in word)
    _run("down", name)


@functools.lru_cache(maxsize=None)
def python_provider():
    """The folder of examples/provider, with its packages."""
    made = subprocess.run([ROOT / "hack/providers", "python"], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no provider in Python: {made.stderr.strip().splitlines()[-1]}")
    return Path(made.stdout.strip())


def host_file(name, environment, content, **extensions):
    """A file on the host."""
    return {"id": f"rack:host:host_file:{name}", "type": "Terraform",
            "attributes": {"path": f"{environment['KUSION_RACK_HOST_FILES']}/{name}", "content": content},
            "extensions": {"providerMeta": {"address": environment["KUSION_RACK_HOST"],
                                            "user": environment["KUSION_RACK_HOST_USER"],
                                            "host_key": environment["KUSION_RACK_HOST_KEY"]}, **extensions}}


def host_secret(environment, namespace):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "host", "namespace": namespace},
            "stringData": {"SSH_KEY": Path(environment["KUSION_RACK_HOST_IDENTITY"]).read_text()}}
