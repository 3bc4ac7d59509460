"""A provider that is a folder, made in Python, over a real sshd: docs/providers-of-your-own.md."""

import json
import os
import re
import shutil
import time
from pathlib import Path

import pytest

from kusion_e2e.controller import Controller
from kusion_e2e.rack import host_file, host_secret, python_provider, rack
from kusion_e2e.releases import plan_of
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.states import open_text
from kusion_e2e.wait import eventually

HASH = re.compile(r"h1:[A-Za-z0-9+/]{43}=")


@pytest.fixture(scope="module")
def host():
    with rack("sshd") as environment:
        yield environment


@pytest.fixture
def operator(state_namespace):
    """Starts one with this folder; ends the one before."""
    running = []

    def stop():
        while running:
            last = running.pop()
            assert last.process.poll() is not None or last.stop() == 0

    def start(folder, version="1.0.0"):
        stop()
        running.append(Controller(state_namespace, flags=["--terraform-provider", f"rack/host@{version}={folder}"]))
        return running[0].wait_leading()

    yield start
    stop()


def apply(spec, resources, **more):
    return spec.apply(resources, contextFrom=[{"secretRef": {"name": "host"}}], **more)


def test_a_file_has_its_whole_life(operator, tenant, host):
    cluster = operator(python_provider()).cluster
    cluster.apply(json.dumps(host_secret(host, tenant)))
    path = Path(host["KUSION_RACK_HOST_FILES"]) / "motd"
    spec = Spec(cluster, tenant)

    def resources(content):
        motd = host_file("motd", host, content)
        return [motd, config_map("told", tenant, {"url": f"$kusion_path.{motd['id']}.url"})]

    apply(spec, resources("hello"), suspend=True)
    spec.wait("Unknown")
    assert plan_of(cluster, tenant, spec.name)["rack:host:host_file:motd"]["action"] == "create" and not path.exists()

    apply(spec, resources("hello")).wait("True")
    assert path.read_text() == "hello"
    assert cluster.get_json("configmap", "told", "-n", tenant)["data"] == {"url": f"sftp://{host['KUSION_RACK_HOST']}{path}"}

    apply(spec, resources("changed")).wait("True")
    assert path.read_text() == "changed"
    path.write_text("theirs")
    apply(spec, resources("changed"), interval="2s")
    eventually(lambda: path.read_text() == "changed")
    spec.delete()
    assert not path.exists()
