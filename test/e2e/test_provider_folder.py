"""A provider that is a folder, made in Python, over a real sshd: docs/providers-of-your-own.md."""

import json
import shutil
from pathlib import Path

import pytest

from kusion_e2e.controller import Controller
from kusion_e2e.rack import host_file, host_secret, python_provider, rack
from kusion_e2e.releases import plan_of
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.states import open_text
from kusion_e2e.wait import eventually

# What it tries, it tells where it does not start.
TRIES = '''#!/usr/bin/python3 -I
import os, subprocess, sys
sys.path.insert(0, os.path.dirname(__file__))
import module

def attempt(what, do):
    try:
        do()
        print(what, "ok", file=sys.stderr)
    except OSError as error:
        print(what, error.strerror, file=sys.stderr)

attempt("module", module.do)
attempt("own file", lambda: open(os.environ["TMPDIR"] + "/x", "w"))
attempt("package", lambda: open(module.__file__, "a"))
attempt("passwd", lambda: open("/etc/passwd"))
attempt("program", lambda: subprocess.run(["/bin/true"]))
attempt("PATH", lambda: os.environ.get("PATH") and 1 / 0)
sys.exit(3)
'''
TOLD = ["module ok", "own file ok", "package Permission denied", "passwd Permission denied",
        "program Operation not permitted", "PATH ok"]


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


def message(spec):
    return spec.wait("False")["message"]


def test_a_file_has_its_whole_life(operator, tenant, host):
    controller = operator(python_provider())
    cluster = controller.cluster
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
    key = host_secret(host, tenant)["stringData"]["SSH_KEY"].splitlines()[1]
    assert key not in open_text(cluster, spec) + controller.log.read_text()
    spec.delete()
    assert not path.exists()


def test_what_fails_is_told_and_mended(operator, tenant, host):
    cluster = operator(python_provider()).cluster
    cluster.apply(json.dumps(host_secret(host, tenant)))
    theirs = Path(host["KUSION_RACK_HOST_FILES"]) / "theirs"
    theirs.write_text("theirs")
    spec = Spec(cluster, tenant)
    apply(spec, [host_file("theirs", host, "ours")])
    assert f"{host['KUSION_RACK_HOST']}: " in message(spec) and theirs.read_text() == "theirs"
    theirs.unlink()
    apply(spec, [host_file("theirs", host, "ours")], retryInterval="2s").wait("True")
    assert theirs.read_text() == "ours"
    spec.delete()
    assert not theirs.exists()


def test_another_content_of_the_same_version_does_not_run(operator, tenant, host, tmp_path):
    folder = shutil.copytree(python_provider(), tmp_path / "host")
    cluster = operator(folder).cluster
    cluster.apply(json.dumps(host_secret(host, tenant)))
    spec = Spec(cluster, tenant)
    apply(spec, [host_file("one", host, "1")]).wait("True")
    with open(folder / "terraform-provider-host", "a", encoding="utf-8") as file:
        file.write("# another\n")
    apply(spec, [host_file("one", host, "2")]).wait("True")  # what runs is a copy
    operator(folder)
    apply(spec, [host_file("one", host, "3")])
    assert "h1:" in eventually(lambda: "ProviderChanged" in json.dumps(spec.get()["status"]) and message(spec))
    operator(folder, "1.1.0")
    apply(spec, [host_file("one", host, "4")]).wait("True")
    assert (Path(host["KUSION_RACK_HOST_FILES"]) / "one").read_text() == "4"
    spec.delete()


def test_what_it_can_reach(operator, tenant, host, tmp_path):
    program = tmp_path / "terraform-provider-host"
    program.write_text(TRIES)
    program.chmod(0o755)
    (tmp_path / "module.py").write_text("def do():\n    pass\n")
    spec = Spec(operator(tmp_path).cluster, tenant)
    spec.apply([host_file("none", host, "1")])
    eventually(lambda: all(one in json.dumps(spec.get().get("status")) for one in TOLD), 60)
    spec.delete()
