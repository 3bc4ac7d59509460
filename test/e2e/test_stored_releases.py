"""Releases in a store of the operator (a folder here): what people type finds its way without them."""

import re
import shlex

import pytest

from kusion_e2e.controller import PROGRAM, Controller
from kusion_e2e.shell import type_in
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.wait import eventually


class World:
    def __init__(self, cluster, tenant, folder):
        self.cluster, self.tenant = cluster, tenant
        self.flags = ["--state-backend", f"file:{folder / 'state'}"]
        self.state = cluster.new_namespace("state")
        self.spec = Spec(cluster, tenant, "web")
        self.operator = Controller(cluster, state=self.state, flags=["--watch-namespace", tenant, *self.flags])
        self.operator.wait_leading()

    def end(self):
        self.spec.delete()
        self.operator.stop()
        self.cluster.leave_namespace(self.state)

    def apply(self, value, **fields):
        return self.spec.apply([config_map("a", self.tenant, {"x": value})], **fields)

    def value(self):
        path = f"/api/v1/namespaces/{self.tenant}/configmaps/a"
        answer = self.cluster.api.get(path)
        return answer.object["data"]["x"] if answer.ok else None

    def kusion(self, *words):
        return type_in(self.cluster, shlex.join(["kubectl", "kusion", *words, "-n", self.tenant]))

    def next_of(self, done):
        """What an error says to type, in order."""
        assert done.returncode == 1, (done.stdout, done.stderr)
        return re.findall(r"^next:  (.*)$", done.stderr, re.MULTILINE)


@pytest.fixture
def world(state_namespace, tenant, tmp_path):
    made = World(state_namespace, tenant, tmp_path)
    yield made
    made.end()


def test_a_plan_is_looked_at_and_approved_in_the_spec(world):
    world.apply("1", approval={"mode": "Manual"})
    eventually(lambda: (world.spec.condition() or {}).get("reason") == "AwaitingApproval")
    message = world.spec.condition()["message"]
    assert f"\nto see it: kubectl kusion preview web -n {world.tenant}\nto approve: kubectl patch spec " in message
    refused = world.kusion("approve", "web", "--yes")
    assert "approve it in the Spec" in refused.stderr
    assert '"approvedUnseen":false' in refused.stderr
    rejected = world.kusion("reject", "web", "--yes")
    assert "change the Spec instead" in rejected.stderr and "approvedPlan" not in rejected.stderr
    every = world.kusion("approve", "--all", "--yes")
    assert f"next:  kubectl kusion approve web -n {world.tenant}" in every.stderr
    look, approve = world.next_of(refused)
    seen = type_in(world.cluster, look)
    assert 'data.x = "1"' in seen.stdout, seen.stderr
    assert type_in(world.cluster, approve).returncode == 0
    eventually(lambda: world.value() == "1")


def test_a_rollback_names_its_revision(world):
    for value in ("1", "2"):
        world.apply(value).wait("True")
    assert world.next_of(world.kusion("rollback", "web", "--yes"))[-1].startswith("kubectl kusion rollback web@REVISION")
    done = world.kusion("rollback", "web@1", "--yes")
    assert done.returncode == 0, done.stderr
    assert world.value() == "1"
    unknown = world.kusion("rollback", "web@7", "--yes")
    assert unknown.returncode == 1 and "the Spec of revision 7 is not there" in unknown.stdout


@pytest.mark.parametrize("words", [["history", "web"], ["show", "web"], ["show", "web@1"], ["diff", "web@1"]],
                         ids=" ".join)
def test_where_the_releases_are_is_said(world, words):
    world.apply("1").wait("True")
    (command,) = world.next_of(world.kusion(*words))
    assert command == (f"kusion-operator state releases {world.tenant}/web --state-backend PLACE | "
                       "kubectl kusion show -f -")
    command = command.replace("kusion-operator", str(PROGRAM)).replace("PLACE", shlex.quote(world.flags[1]))
    shown = type_in(world.cluster, command)
    assert f"{world.tenant}/web-1   Apply   revision 1" in shown.stdout, shown.stderr


def test_releases_of_the_time_before_the_store_do_not_pass_for_the_last(world):
    for value in ("1", "2"):
        world.apply(value).wait("True")
    path = f"/apis/api.kusion.io/v1/namespaces/{world.tenant}/releases"
    world.cluster.api.create(path, {
        "apiVersion": "api.kusion.io/v1", "kind": "Release",
        "metadata": {"name": "web-1", "namespace": world.tenant, "labels": {"api.kusion.io/generated": "true"}},
        "spec": {"specRef": {"name": "web"}, "operation": "Apply"}}).must()
    status = {"revision": 1, "phase": "succeeded", "summary": "of before"}
    world.cluster.api.patch(f"{path}/web-1/status", {"status": status}).must()
    history = world.kusion("history", "web")
    assert "of before" in history.stdout and "revision 2 is not at the API server" in history.stderr
    assert history.returncode == 1
    assert world.next_of(world.kusion("show", "web")) and world.next_of(world.kusion("rollback", "web", "--yes"))
    assert world.kusion("show", "web@1").returncode == 0
    done = world.kusion("rollback", "web@1", "--yes")
    assert done.returncode == 0 and world.value() == "1", done.stderr
