"""A store that is not the one that the operator worked with last: nothing is made or deleted until it is
back, or a person has accepted it; and then nothing is made twice, and nothing is left behind."""

import json
import shutil

import pytest

from kusion_e2e.controller import Controller
from kusion_e2e.long import sampled
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.wait import eventually

CLAIM = "/api/v1/namespaces/{}/configmaps/kusion-store"
FIELDS = {"retryInterval": "1s", "interval": "5s"}


class World:
    """An operator that works for one namespace, with State in a namespace, or in a folder, of its own."""

    def __init__(self, cluster, tenant, folder, is_file):
        self.cluster, self.tenant = cluster, tenant
        self.folder, self.kept = folder / "state", folder / "kept"
        self.state = cluster.new_namespace("state")
        place = f"file:{self.folder}" if is_file else "configmap"
        self.flags = ["--watch-namespace", tenant, "--state-backend", place]
        self.spec = Spec(cluster, tenant, "web")
        self.operator = None

    def start(self, *flags, accepts=False):
        make = Controller.accepting if accepts else Controller
        self.operator = make(self.cluster, state=self.state, flags=[*self.flags, *flags])
        self.operator.wait_leading()

    def kill(self):
        self.operator.crash()

    def end(self):
        if self.operator:
            self.operator.stop()
        self.cluster.leave_namespace(self.state)

    def apply(self, *names, x="1"):
        maps = [config_map(name, self.tenant, {"x": x}) for name in names]
        return self.spec.apply(maps, **FIELDS)

    def map(self, name):
        answer = self.cluster.api.get(f"/api/v1/namespaces/{self.tenant}/configmaps/{name}")
        return answer.object if answer.ok else None

    def uid(self, name):
        return self.map(name)["metadata"]["uid"]

    def refused(self):
        """What Ready says then."""

        def says():
            ready = {one["type"]: one for one in self.spec.get()["status"]["conditions"]}["Ready"]
            assert ready["status"] == "Unknown" and ready["reason"].startswith("Store"), ready
            return ready

        return eventually(says)

    # How the store goes, while no operator runs.

    def empty(self):
        shutil.copytree(self.folder, self.kept)
        shutil.rmtree(self.folder)

    def move_away(self):
        """The flag names another folder."""
        self.flags[-1] = f"file:{self.folder}-another"

    def restore(self):
        """A copy of before the last start."""
        shutil.copytree(self.folder, self.kept)
        self.start()
        self.kill()
        shutil.rmtree(self.folder)
        shutil.copytree(self.kept, self.folder)

    def lose_claim(self):
        self.cluster.api.delete(CLAIM.format(self.state)).must()

    def delete_documents(self):
        self.cluster.kubectl("delete", "configmaps,secrets", "-n", self.state, "-l", "api.kusion.io/state")


WAYS = [pytest.param(True, "empty", "StoreReplaced", id="folder-emptied"),
        pytest.param(True, "move_away", "StoreReplaced", id="another-folder"),
        pytest.param(True, "restore", "StoreRestored", id="older-copy"),
        pytest.param(True, "lose_claim", "StoreReplaced", id="record-deleted"),
        pytest.param(False, "lose_claim", "StoreReplaced", id="record-deleted-configmaps"),
        pytest.param(False, "delete_documents", "StoreReplaced", id="configmaps-deleted")]


@pytest.fixture
def world(state_namespace, tenant, tmp_path):
    made = []

    def make(is_file):
        made.append(World(state_namespace, tenant, tmp_path, is_file))
        return made[0]

    yield make
    for one in made:
        one.end()


@pytest.mark.parametrize("is_file, way, reason", WAYS)
@sampled
def test_nothing_is_done_until_it_is_accepted(world, is_file, way, reason):
    made = world(is_file)
    made.start()
    made.apply("a", "b").wait("True")
    first = made.uid("a")
    made.kill()
    getattr(made, way)()

    made.start()
    ready = made.refused()
    assert ready["reason"] == reason
    assert "before that, Ready was True (ReconciliationSucceeded)" in ready["message"]
    made.apply("a", "c", x="2")
    eventually(lambda: made.spec.condition())
    assert made.refused()["reason"] == reason
    assert made.map("b") and not made.map("c") and made.map("a")["data"] == {"x": "1"}
    assert made.operator.token() in made.refused()["message"]
    made.kill()

    made.start(accepts=True)
    made.spec.wait("True")
    assert made.uid("a") == first and made.map("a")["data"] == {"x": "2"}
    assert made.map("c") and not made.map("b")
    made.kill()
    made.start()  # the flag was needed once
    made.spec.delete()
    assert not made.map("a") and not made.map("c")


def test_the_right_folder_goes_on_by_itself(world):
    made = world(True)
    made.start()
    made.apply("a").wait("True")
    first = made.uid("a")
    made.kill()
    made.empty()
    made.start()
    made.refused()
    made.cluster.api.delete(made.spec.path).must()
    shutil.copytree(made.kept, made.folder, dirs_exist_ok=True)
    eventually(lambda: made.spec.get() is None)
    assert not made.map("a") and first


def test_a_deletion_after_an_accepted_store_leaves_nothing(world):
    made = world(True)
    made.start()
    made.apply("a", "b").wait("True")
    made.kill()
    made.empty()
    made.cluster.api.delete(made.spec.path).must()
    made.start()
    made.refused()
    assert made.map("a") and made.map("b")
    made.kill()
    made.start(accepts=True)
    eventually(lambda: made.spec.get() is None)
    assert not made.map("a") and not made.map("b")


def test_a_token_is_of_no_use_for_another_store(world):
    made = world(True)
    made.start()
    made.apply("a").wait("True")
    made.kill()
    made.move_away()
    made.start()
    made.refused()
    token = made.operator.token()
    made.kill()
    made.flags[-1] += "-and-another"
    made.start(f"--accept-store={token}")
    assert made.refused()["reason"] == "StoreReplaced"
    assert made.operator.token() != token


def test_the_store_is_named(world):
    made = world(True)
    made.start()
    claim = made.cluster.api.get(CLAIM.format(made.state)).must().object
    assert claim["data"]["store"] == made.flags[-1] and claim["data"]["counter"] == "1"
    assert any(json.loads(line).get("store") == made.flags[-1]
               for line in made.operator.logged().splitlines())
