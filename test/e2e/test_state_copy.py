"""State moves between ConfigMaps and files, with the records of operations, by the operator's own command."""

import json
import os
import subprocess

import pytest

from kusion_e2e.controller import PROGRAM, Controller
from kusion_e2e.long import takes_long
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.wait import eventually

CANARY = "c4nary-of-a-password"


class Mover:
    """A Spec, its operator, and who types the commands."""

    def __init__(self, cluster, tenant, folder):
        self.cluster, self.tenant = cluster, tenant
        self.state = cluster.new_namespace("state")
        self.places = {"configmap": "configmap", "file": f"file:{folder / 'state'}",
                       "other": f"file:{folder / 'other'}"}
        self.spec = Spec(cluster, tenant, "web")
        self.operator = None

    def start(self, place):
        self.operator = Controller(self.cluster, state=self.state, flags=[
            "--watch-namespace", self.tenant, "--state-backend", self.places[place]]).wait_leading()

    def stop(self):
        assert self.operator.stop() == 0
        self.operator = None

    def end(self):
        if self.operator:
            self.operator.stop()
        self.cluster.leave_namespace(self.state)

    def type(self, *words, place=None, kill_after=None, **env):
        command = [PROGRAM, "state", *words, "--state-namespace", self.state]
        if place:
            command += ["--state-backend", self.places[place]]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "KUBECONFIG": str(self.cluster.kubeconfig), **env})
        try:
            out, err = process.communicate(timeout=kill_after or 120)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            assert kill_after, (out, err)
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def copy(self, source, target, **more):
        return self.type("copy", "--from", self.places[source], "--to", self.places[target], **more)

    def apply(self, x="1"):
        secret = resource({"apiVersion": "v1", "kind": "Secret",
                           "metadata": {"name": "login", "namespace": self.tenant},
                           "stringData": {"password": CANARY}})
        self.spec.apply([config_map("a", self.tenant, {"x": x}), secret], interval="5s")
        self.spec.wait("True")

    def uid(self):
        path = f"/api/v1/namespaces/{self.tenant}/configmaps/a"
        return self.cluster.api.get(path).must().object["metadata"]["uid"]


@pytest.fixture
def mover(state_namespace, tenant, tmp_path):
    made = Mover(state_namespace, tenant, tmp_path)
    yield made
    made.end()


def moves(mover, source, target):
    done = mover.copy(source, target)
    assert done.returncode == 0, done.stderr
    assert "were read back" in done.stdout and mover.places[target] in done.stdout
    return done.stdout


@pytest.mark.parametrize("source, target", [("configmap", "file"), ("file", "configmap"), ("file", "other")])
def test_state_moves_and_comes_back(mover, source, target):
    mover.start(source)
    mover.apply("1")
    mover.apply("2")
    first = mover.uid()
    refused = mover.copy(source, target)
    assert refused.returncode == 1 and "stop the operator" in refused.stderr
    mover.stop()
    moves(mover, source, target)
    again = mover.copy(source, target)
    assert again.returncode == 0 and "already" in again.stdout

    mover.start(source)
    eventually(lambda: (mover.spec.condition() or {}).get("reason") == "StoreMoved")
    assert mover.places[target].rpartition(":")[2] in mover.spec.condition()["message"] or target == "configmap"
    mover.stop()

    mover.start(target)
    mover.spec.wait("True")
    mover.apply("3")
    assert mover.uid() == first
    revision = mover.spec.get()["status"]["lastAppliedRevision"]
    assert revision == 3
    mover.stop()

    moves(mover, target, source)
    mover.start(source)
    mover.spec.wait("True")
    mover.apply("4")
    assert mover.uid() == first
    assert mover.spec.get()["status"]["lastAppliedRevision"] == 4
    mover.spec.delete()


@takes_long
def test_killed_at_any_time_it_is_made_again(mover):
    mover.start("configmap")
    for n in range(8):
        Spec(mover.cluster, mover.tenant, f"web-{n}").apply(
            [config_map(f"a-{n}", mover.tenant, {"x": "1"})], interval="1h").wait("True")
    mover.stop()
    for wait in (0.2, 0.4, 0.6, 0.8, 1, 1.3):
        mover.copy("configmap", "file", kill_after=wait)
    moves_or_is_done = mover.copy("configmap", "file")
    assert moves_or_is_done.returncode == 0, moves_or_is_done.stderr
    mover.start("file")
    verified = mover.type("verify", place="file")
    assert "8 of them State; 0 are damaged" in verified.stdout
    for n in range(8):
        spec = Spec(mover.cluster, mover.tenant, f"web-{n}")
        spec.apply([config_map(f"a-{n}", mover.tenant, {"x": "2"})], interval="1h").wait("True")
        spec.delete()


@pytest.mark.parametrize("place", ["configmap", "file"])
def test_what_is_kept_can_be_read(mover, place, tmp_path):
    mover.start(place)
    mover.apply()
    listed = mover.type("list", place=place)
    assert listed.returncode == 0, listed.stderr
    assert f"{mover.tenant}/web  revision 1  2 resources" in listed.stdout
    shown = mover.type("show", f"{mover.tenant}/web", place=place)
    assert json.loads(shown.stdout)["spec"]["name"] == "web"
    assert CANARY not in shown.stdout + shown.stderr + listed.stdout
    revealed = mover.type("show", "--reveal", f"{mover.tenant}/web", place=place)
    assert CANARY in revealed.stdout or "YzRuYXJ5" in revealed.stdout
    releases = mover.type("releases", f"{mover.tenant}/web", place=place)
    (release,) = json.loads(releases.stdout)["items"]
    assert (release["kind"], release["metadata"]["name"]) == ("Release", "web-1")
    assert release["spec"] == {"specRef": {"name": "web"}, "operation": "Apply"}
    assert release["status"]["phase"] == "succeeded" and CANARY not in releases.stdout
    verified = mover.type("verify", place=place)
    assert verified.returncode == 0 and "1 of them State; 0 are damaged" in verified.stdout
    assert CANARY not in verified.stdout
    kubeconfig = tmp_path / ".kube/config"
    kubeconfig.parent.mkdir()
    kubeconfig.write_bytes(mover.cluster.kubeconfig.read_bytes())
    at_home = mover.type("list", place=place, KUBECONFIG="", HOME=str(tmp_path))
    assert at_home.stdout == listed.stdout, at_home.stderr
    missing = mover.type("show", f"{mover.tenant}/none", place=place)
    assert missing.returncode == 1 and "there is no State" in missing.stderr
    missing = mover.type("releases", f"{mover.tenant}/none", place=place)
    assert missing.returncode == 1 and "there is no Release" in missing.stderr
    unsaid = mover.type("releases", place=place)
    assert unsaid.returncode == 2 and "NAMESPACE/NAME" in unsaid.stderr
    mover.spec.delete()


def test_a_store_that_is_not_empty_is_no_target(mover, state_namespace):
    mover.start("file")
    mover.apply()
    mover.stop()
    mover.start("configmap")  # the record is of the folder
    eventually(lambda: (mover.spec.condition() or {}).get("reason") == "StoreReplaced")
    token = mover.operator.token()
    mover.stop()
    mover.operator = Controller(state_namespace, state=mover.state, flags=[
        "--watch-namespace", mover.tenant, "--state-backend", "configmap", f"--accept-store={token}"])
    mover.operator.wait_leading()
    mover.spec.wait("True")
    mover.stop()
    refused = mover.copy("file", "configmap")
    assert refused.returncode == 1 and "another operator" in refused.stderr
