"""State that is gone, or older than the Spec, in every phase of a Spec: nothing is made twice, nothing is
left behind, and the ways out work as the condition says.

Each way of losing State concerns all Specs of an operator at once: so one start shows all phases. The
objects that State alone knows are in the back end of the test providers, which counts what is made."""

import json
import re
import shutil
from base64 import b64decode

import pytest

from kusion_e2e.controller import STATE, Controller
from kusion_e2e.long import sampled
from kusion_e2e.pages import snippets
from kusion_e2e.shell import type_in
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.state_backend import need_objects
from kusion_e2e.states import forget_store, states
from kusion_e2e.terraform import need_providers, new_backend, reference, terraform, thing, thing_id, things_flags
from kusion_e2e.wait import eventually

KIND = "probe_thing"
FIELDS = {"retryInterval": "1s", "interval": "5s"}


@pytest.fixture(scope="module", autouse=True)
def providers():
    need_providers("test")


@pytest.fixture
def backend():
    made = new_backend()
    yield made
    made.close()


SUSPECT = 150  # seconds: a Spec that was under way at a kill waits for the others, 120 at most

# ---- Where State is, and how it goes ----


class InObjects:
    """ConfigMaps and Secrets."""

    KINDS = ("configmaps", "secrets")
    keeps_releases = True
    flags = ()

    def __init__(self, cluster, folder):
        need_objects()
        self.cluster = cluster

    def _list(self, kind):
        path = f"/api/v1/namespaces/{STATE}/{kind}"
        return path, self.cluster.api.get(f"{path}?labelSelector=api.kusion.io/state").must().object["items"]

    def copy(self):
        return {kind: self._list(kind)[1] for kind in self.KINDS}

    def clear(self):
        for kind in self.KINDS:
            self.cluster.kubectl("delete", kind, "-n", STATE, "-l", "api.kusion.io/state", "--wait")

    def put(self, copy):
        self.clear()
        self.put_over(copy)

    def put_over(self, copy):
        """What was made since stays."""
        for kind in self.KINDS:
            path, _ = self._list(kind)
            for one in copy[kind]:
                metadata = {key: one["metadata"][key] for key in ("name", "labels", "annotations")
                            if key in one["metadata"]}
                self.cluster.api.delete(f"{path}/{metadata['name']}")
                self.cluster.api.create(path, {**one, "metadata": metadata}).must()

    def put_heads(self, copy):
        """Of State alone: what they name may be gone."""
        self.put_over({"configmaps": [one for one in copy["configmaps"] if
                                      one["metadata"]["labels"].get("api.kusion.io/document") == "state"],
                       "secrets": []})

    def delete_namespace(self):
        self.cluster.kubectl("delete", "namespace", STATE, "--wait")
        self.cluster.ensure_namespace(STATE)


class InFiles:
    keeps_releases = False  # they are in the folder

    def __init__(self, cluster, folder):
        self.folder, self.other = folder / "state", folder / "copy"
        self.folder.mkdir()
        self.flags = ("--state-backend", f"file:{self.folder}")

    def copy(self):
        shutil.copytree(self.folder, self.other)
        return self.other

    def clear(self):
        for one in self.folder.iterdir():
            shutil.rmtree(one) if one.is_dir() else one.unlink()

    def put(self, copy):
        self.clear()
        self.put_over(copy)

    def put_over(self, copy):
        shutil.copytree(copy, self.folder, dirs_exist_ok=True)

    def put_heads(self, copy):
        for head in copy.glob("*/*/state.head"):
            shutil.copy2(head, self.folder / head.relative_to(copy))

    def unmount(self):
        """What is below the place where the volume is mounted."""
        self.folder.rename(self.folder.with_name("volume"))
        self.folder.mkdir(mode=0o700)

    def mount(self):
        shutil.rmtree(self.folder)
        self.folder.with_name("volume").rename(self.folder)


GONE = [pytest.param(InObjects, "clear", id="objects-deleted"),
        pytest.param(InObjects, "delete_namespace", id="namespace-deleted"),
        pytest.param(InFiles, "clear", id="folder-emptied"),
        pytest.param(InFiles, "unmount", id="volume-not-mounted")]
STORES = [pytest.param(InObjects, id="objects"), pytest.param(InFiles, id="files")]


# ---- A Spec in one of its phases ----


class Life:
    needs_releases = False

    def __init__(self, cluster, tenant, backend, phase):
        self.cluster, self.tenant, self.phase = cluster, tenant, phase
        self.world, self.address = backend.worlds["w"], backend.address("w")
        self.spec = Spec(cluster, tenant, phase)
        self.hold = None

    def name(self, short):
        return f"{self.phase}-{short}"

    def thing(self, short, place=None, zone="a", **extensions):
        if place:
            extensions["kusionstack.io/import-id"] = f"thing/{self.name(short)}/{place}"
        return thing(KIND, self.name(short), self.address, extensions, text="1", zone=zone)

    def map(self, short, data="1"):
        return config_map(self.name(short), self.tenant, {"x": data})

    def absent(self):
        """Of a kind that nobody serves."""
        return {"id": f"x.io/v1:Absent:{self.tenant}:{self.name('b')}", "type": "Kubernetes",
                "attributes": {"apiVersion": "x.io/v1", "kind": "Absent",
                               "metadata": {"name": self.name("b"), "namespace": self.tenant}}}

    def user(self):
        """Of the thing d."""
        return config_map(self.name("a"), self.tenant,
                          {"id": f"$kusion_path.{thing_id(KIND, self.name('d'))}.id"})

    def apply(self, *resources, **more):
        return self.spec.apply(list(resources), **FIELDS, **more)

    def request(self, **more):
        """By a Release."""
        path = f"/apis/api.kusion.io/v1/namespaces/{self.tenant}/releases"
        self.cluster.api.create(path, {
            "apiVersion": "api.kusion.io/v1", "kind": "Release",
            "metadata": {"name": f"by-{self.phase}", "namespace": self.tenant},
            "spec": {"specRef": {"name": self.phase}, **more}}).must()

    def say(self, *resources):
        """A Spec that is being deleted, too."""
        self.cluster.api.patch(self.spec.path, {"spec": {"resources": list(resources)}}).must()

    def made(self, short):
        """What the back end was asked for: "POST 1"."""
        return [f"{method} {place.rpartition('/')[2]}" for method, place in self.world.log
                if place.split("/")[1] == self.name(short)]

    def there(self, short):
        path = f"/api/v1/namespaces/{self.tenant}/configmaps/{self.name(short)}"
        return self.cluster.api.get(path).ok

    def lost(self):
        """Resources that are held, with the revision that the message names."""
        status = (self.spec.get() or {}).get("status", {})
        return {one["id"].rpartition("-")[2]: one["message"].rpartition(" to ")[2]
                for one in status.get("resources", {}).get("failed", []) if one["reason"] == "StateLost"}

    def is_held(self, *shorts):
        assert set(self.lost()) == set(shorts), (self.phase, self.spec.get() and self.spec.get()["status"])
        return True

    def is_gone(self):
        left = self.spec.get()
        assert left is None, left["status"]
        return True


class Ready(Life):
    """Nothing happens to it."""

    def set_up(self):
        self.apply(self.thing("d"), self.user(), self.map("b"))
        self.spec.wait("True")

    def begin(self):
        pass

    def while_down(self):
        pass

    def check(self):
        eventually(lambda: self.is_held("d"))
        assert self.there("a") and self.there("b")
        assert self.spec.condition()["reason"] == "StateLost", self.spec.condition()

    def way_out(self):
        self.apply(self.thing("d", place=1), self.user(), self.map("b"))
        self.spec.wait("True")
        self.cluster.api.delete(self.spec.path).must()


class Changed(Ready):
    """Its next generation drops a ConfigMap, and a thing."""

    def set_up(self):
        self.apply(self.thing("d"), self.thing("e"), self.user(), self.map("b"))
        self.spec.wait("True")

    def while_down(self):
        self.apply(self.thing("d"), self.user())

    def check(self):
        eventually(lambda: self.is_held("d"))
        assert self.made("e") == ["POST 1"]

    def way_out(self):
        """What leaves is held when its turn comes. It is put back with its id, and leaves again."""
        self.apply(self.thing("d", place=1), self.user())
        eventually(lambda: self.is_held("e"))
        self.apply(self.thing("d", place=1), self.thing("e", place=1), self.user())
        self.spec.wait("True")
        assert not self.there("b")
        self.apply(self.thing("d", place=1), self.user())
        self.spec.wait("True")
        assert self.made("e") == ["POST 1", "DELETE 1"]
        self.cluster.api.delete(self.spec.path).must()


class Deleted(Ready):
    def while_down(self):
        self.cluster.api.delete(self.spec.path).must()

    def check(self):
        eventually(lambda: self.is_held("d"))
        eventually(lambda: not self.there("a") and not self.there("b"))

    def way_out(self):
        self.say(self.thing("d", place=1), self.user(), self.map("b"))


class Failed(Ready):
    """It never was Ready."""

    def set_up(self):
        self.apply(self.thing("d"), self.user(), self.absent())
        self.spec.wait("False")

    def check(self):
        eventually(lambda: self.is_held("d"))

    def way_out(self):
        self.apply(self.thing("d", place=1), self.user())
        self.spec.wait("True")
        self.cluster.api.delete(self.spec.path).must()


class First(Ready):
    """Its first creation was done, and not answered."""

    def set_up(self):
        pass

    def begin(self):
        self.hold = self.world.hold("POST", self.name("d"), "after")
        self.apply(self.thing("d"), self.user(), self.map("b"))
        self.hold.wait()
        eventually(lambda: self.spec.get().get("status", {}).get("unfinishedRevision"))

    def check(self):
        eventually(lambda: self.is_held("d"))
        assert not self.there("a") and self.there("b")


class Growing(Ready):
    """Another creation has begun, and is never done."""

    def begin(self):
        self.hold = self.world.hold("POST", self.name("e"), "before")
        self.apply(self.thing("d"), self.user(), self.map("b"), self.thing("e"))
        self.hold.wait()
        eventually(lambda: self.spec.get().get("status", {}).get("unfinishedRevision"))

    def check(self):
        eventually(lambda: self.is_held("d", "e"))
        assert self.made("e") == []

    def way_out(self):
        word = {"kusionstack.io/not-created": int(self.lost()["e"])}
        self.apply(self.thing("d", place=1), self.user(), self.map("b"), self.thing("e", **word))
        self.spec.wait("True")
        assert self.made("e") == ["POST 1"]
        self.cluster.api.delete(self.spec.path).must()


class Destroying(Ready):
    """It was being deleted."""

    def begin(self):
        self.hold = self.world.hold("DELETE", self.name("d"), "before")
        self.cluster.api.delete(self.spec.path).must()
        self.hold.wait()

    def check(self):
        eventually(lambda: self.is_held("d"))
        eventually(lambda: not self.there("a") and not self.there("b"))

    def way_out(self):
        self.say(self.thing("d", place=1), self.user(), self.map("b"))


class Rolled(Ready):
    """It was rolled back: what is in force is in State alone."""

    def set_up(self):
        self.apply(self.thing("d"), self.map("b"))
        self.spec.wait("True")
        self.apply(self.thing("d"), self.map("b", "2"))
        self.spec.wait("True")
        self.request(operation="Rollback", toRevision=1)
        self.spec.wait("False")

    def check(self):
        eventually(lambda: (self.spec.condition() or {}).get("reason") == "StateLost", SUSPECT)

    def way_out(self):
        self.apply(self.thing("d", place=1), self.map("b", "3"))
        self.spec.wait("True")
        self.cluster.api.delete(self.spec.path).must()


class Emptied(Ready):
    """A person had it destroyed, which State alone tells."""

    def set_up(self):
        super().set_up()
        self.request(operation="Destroy")
        eventually(lambda: self.made("d") == ["POST 1", "DELETE 1"] and not self.there("a") and not self.there("b"))
        self.spec.wait("False")

    def check(self):
        eventually(lambda: (self.spec.condition() or {}).get("reason") == "StateLost", SUSPECT)
        assert not self.there("a") and not self.there("b")

    def way_out(self):
        """It is wanted again."""
        self.apply(self.thing("d"), self.user(), self.map("b", "2"))
        self.spec.wait("True")
        assert self.made("d") == ["POST 1", "DELETE 1", "POST 2"]
        self.cluster.api.delete(self.spec.path).must()


class Waiting(Ready):
    """Its next plan waits for an approval."""

    def begin(self):
        self.apply(self.thing("d"), self.thing("e"), self.user(), approval={"mode": "Manual"})
        eventually(lambda: is_said(self, "AwaitingApproval"))

    def check(self):
        """A plan of what can be planned waits."""
        eventually(lambda: "1 that could not be looked at" in is_said(self, "AwaitingApproval"))
        self.spec.wait_event("StateLost")
        assert self.made("e") == [] and self.there("b")


class Suspended(Ready):
    """Nothing is done, and nothing said, until it is continued."""

    def begin(self):
        self.apply(self.thing("d"), self.user(), self.map("b"), suspend=True)
        eventually(lambda: is_said(self, "Suspended"))

    def check(self):
        is_said(self, "Suspended")

    def way_out(self):
        self.apply(self.thing("d"), self.user(), self.map("b"))
        Ready.check(self)
        super().way_out()


class Restored(Changed):
    """It was made again by a backup's tool, without its status, beside Releases of the earlier one. It
    has lost a ConfigMap, and a thing, of which these alone tell."""

    needs_releases = True

    def while_down(self):
        releases = f"/apis/api.kusion.io/v1/namespaces/{self.tenant}/releases"
        for one in self.spec.releases():
            self.cluster.api.patch(f"{releases}/{one['metadata']['name']}",
                                   {"metadata": {"ownerReferences": None}}).must()
        self.cluster.api.patch(self.spec.path, {"metadata": {"finalizers": None}}).must()
        self.spec.delete()
        super().while_down()


PHASES = {kind.__name__.lower(): kind
          for kind in (Ready, Changed, Deleted, Failed, First, Growing, Destroying, Rolled, Restored)}
# For which it is enough to lose State in one way.
MORE = {kind.__name__.lower(): kind for kind in (Emptied, Waiting, Suspended)}


# ---- The operator ----


class World:
    def __init__(self, cluster, tenant, backend, store, phases=PHASES):
        self.cluster, self.store, self.backend, self.operator = cluster, store, backend, None
        self.lives = [kind(cluster, tenant, backend, name) for name, kind in phases.items()
                      if store.keeps_releases or not kind.needs_releases]

    def start(self):
        flags = things_flags("--concurrent", "32", *self.store.flags)
        self.operator = Controller.accepting(self.cluster, flags=flags)

    def kill(self):
        self.operator.crash()

    def each(self, what):
        for life in self.lives:
            getattr(life, what)()

    def release(self):
        """What is held is not done any more."""
        for life in self.lives:
            if life.hold:
                life.hold.release(lost=True)

    def end(self):
        for life in self.lives:
            eventually(life.is_gone, 150)
            for short in "ab":
                assert not life.there(short), (life.phase, short)
            assert life.made("d").count("POST 1") == 1 and "POST 3" not in life.made("d"), life.phase
        assert self.backend.worlds["w"].objects == {}, "nothing is left behind"
        assert not states(self.cluster, self.lives[0].tenant)


@pytest.fixture
def world(state_namespace, tenant, backend, tmp_path):
    made = []

    def make(store, **more):
        made.append(World(state_namespace, tenant, backend, store(state_namespace, tmp_path), **more))
        return made[0]

    yield make
    for one in made:
        one.release()
        if one.operator and one.operator.process.poll() is None:
            one.operator.crash()
        if one.operator:
            one.operator.log.unlink(missing_ok=True)
        forget_store(state_namespace)


# ---- The tests ----


def lose(world, way):
    world.start()
    world.each("set_up")
    world.each("begin")
    world.kill()
    world.release()
    world.each("while_down")
    getattr(world.store, way)()
    world.start()


@pytest.mark.parametrize("store, way", GONE)
@sampled
def test_state_is_gone(world, store, way):
    made = world(store, phases={**PHASES, **(MORE if (store, way) == (InFiles, "clear") else {})})
    lose(made, way)
    made.each("check")
    for life in made.lives:
        assert [one for one in life.made("d") if one.startswith("POST")] == ["POST 1"], life.phase
    made.each("way_out")
    made.end()


def test_a_volume_that_is_mounted_again_has_state(world):
    made = world(InFiles, phases={name: PHASES[name] for name in ("ready", "deleted", "failed")})
    lose(made, "unmount")
    made.each("check")
    made.kill()
    made.store.mount()
    made.start()
    ready, deleted, failed = made.lives
    eventually(deleted.is_gone)
    eventually(lambda: not ready.lost() and not failed.lost())
    ready.spec.wait("True")
    for life in (ready, failed):
        life.spec.delete()
    made.end()


# ---- Older State ----


class Aged(Ready):
    """State is as it was before d was replaced, and e and c were made."""

    def _second(self, *more, **places):
        return [self.thing("d", zone="b", place=places.get("d")), self.user(), *more,
                self.thing("e", place=places.get("e")), self.map("c")]

    def set_up(self):
        self.apply(self.thing("d"), self.user(), self.map("b"))
        self.spec.wait("True")

    def grow(self):
        self.apply(*self._second())
        self.spec.wait("True")
        assert self.made("d") == ["POST 1", "DELETE 1", "POST 2"] and self.made("e") == ["POST 1"]

    def check(self):
        eventually(lambda: self.is_held("d", "e"))
        assert self.made("d") == ["POST 1", "DELETE 1", "POST 2"] and self.made("e") == ["POST 1"]

    def way_out(self):
        self.apply(*self._second(d=2, e=1))
        self.spec.wait("True")
        self.cluster.api.delete(self.spec.path).must()


class AgedChanged(Aged):
    """Its next generation drops what an older State does not know."""

    def while_down(self):
        self.apply(self.thing("d", zone="b"), self.user())

    def check(self):
        eventually(lambda: self.is_held("d"))

    def way_out(self):
        self.apply(self.thing("d", zone="b", place=2), self.user(), self.thing("e", place=1))
        self.spec.wait("True")
        assert not self.there("c")
        self.cluster.api.delete(self.spec.path).must()


class AgedDeleted(Aged):
    def while_down(self):
        self.cluster.api.delete(self.spec.path).must()

    def check(self):
        super().check()
        eventually(lambda: not self.there("a") and not self.there("c"))

    def way_out(self):
        self.say(*self._second(d=2, e=1))


class AgedFailed(Aged):
    """What came since then never was Ready."""

    def grow(self):
        self.apply(*self._second(self.absent()))
        self.spec.wait("False")


class AgedGrowing(Aged):
    """Another creation has begun, and is never done."""

    def begin(self):
        self.hold = self.world.hold("POST", self.name("f"), "before")
        self.apply(*self._second(self.thing("f")))
        self.hold.wait()
        eventually(lambda: self.spec.get().get("status", {}).get("unfinishedRevision"))

    def check(self):
        eventually(lambda: self.is_held("d", "e", "f"))
        assert self.made("e") == ["POST 1"] and self.made("f") == []

    def way_out(self):
        word = {"kusionstack.io/not-created": int(self.lost()["f"])}
        self.apply(*self._second(self.thing("f", **word), d=2, e=1))
        self.spec.wait("True")
        assert self.made("f") == ["POST 1"]
        self.cluster.api.delete(self.spec.path).must()


class AgedDestroying(AgedDeleted):
    """It was being deleted."""

    def begin(self):
        self.hold = self.world.hold("DELETE", self.name("d"), "before")
        self.other = self.world.hold("DELETE", self.name("e"), "before")
        self.cluster.api.delete(self.spec.path).must()
        self.hold.wait()
        self.other.wait()

    def while_down(self):
        self.other.release(lost=True)


class AgedRolled(Rolled):
    """The rollback, and what it took away again, is not in State."""

    def set_up(self):
        self.apply(self.thing("d"), self.map("b"))
        self.spec.wait("True")

    def grow(self):
        self.apply(self.thing("d"), self.map("b", "2"), self.thing("e"), self.map("a"))
        self.spec.wait("True")
        self.request(operation="Rollback", toRevision=1)
        eventually(lambda: self.made("e") == ["POST 1", "DELETE 1"] and not self.there("a"))
        self.spec.wait("False")

    def check(self):
        super().check()
        assert self.made("e") == ["POST 1", "DELETE 1"] and not self.there("a")


AGED = {"aged": Aged, "aged-changed": AgedChanged, "aged-deleted": AgedDeleted}
MORE_AGED = {"aged-failed": AgedFailed, "aged-growing": AgedGrowing, "aged-destroying": AgedDestroying,
             "aged-rolled": AgedRolled}


def is_stopped(life):
    """Nothing is done with State as it is."""
    ready = [one for one in life.spec.get()["status"]["conditions"] if one["type"] == "Ready"]
    assert ready[0]["reason"] in ("StateLost", "StateCorrupt"), ready
    return ready[0]["reason"]


@pytest.mark.parametrize("way", ["put", "put_over", "put_heads"])
@pytest.mark.parametrize("store", STORES)
@sampled
def test_state_is_older(world, store, way):
    made = world(store, phases={**AGED, **(MORE_AGED if (store, way) == (InObjects, "put") else {})})
    made.start()
    made.each("set_up")
    copy = made.store.copy()
    made.each("grow")
    made.each("begin")
    made.kill()
    made.release()
    made.each("while_down")
    getattr(made.store, way)(copy)
    made.start()
    if "StateCorrupt" in [eventually(lambda: is_stopped(life)) for life in made.lives]:
        made.kill()
        made.store.put(copy)
        made.start()
    made.each("check")
    made.each("way_out")
    made.end()


# ---- With a real provider ----


def secret(tenant):
    attributes = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "namespace": tenant},
                  "stringData": {"password": reference("random_password", "login", "result")}}
    return {"id": f"v1:Secret:{tenant}:login", "type": "Kubernetes", "attributes": attributes}


def password(cluster, tenant):
    found = cluster.api.get(f"/api/v1/namespaces/{tenant}/secrets/login").must().object
    return b64decode(found["data"]["password"]).decode()


@pytest.mark.parametrize("store", STORES)
def test_a_password_is_not_exchanged(world, tenant, state_namespace, store):
    """A password that was made once; State is gone; and the password is taken over from the Secret."""
    made = world(store, phases={})
    flags = things_flags("--terraform-provider", "hashicorp/random", *made.store.flags)
    start = lambda: Controller.accepting(state_namespace, flags=flags)
    made.operator = start()
    spec = Spec(state_namespace, tenant, "login")
    login = terraform("random_password", "login", length=20)
    spec.apply([login, secret(tenant)], **FIELDS).wait("True")
    first = password(state_namespace, tenant)

    made.operator.crash()
    made.store.clear()
    made.operator = start()
    eventually(lambda: (spec.condition() or {}).get("reason") == "StateLost")
    spec.wait_event("StateLost")
    assert password(state_namespace, tenant) == first

    login["extensions"]["kusionstack.io/import-id"] = first
    spec.apply([login, secret(tenant)], **FIELDS).wait("True")
    assert password(state_namespace, tenant) == first
    assert first not in str(spec.get()["status"]) + str(spec.events())
    spec.delete()


# ---- The commands of docs/backup.md and docs/troubleshooting.md, as they stand there ----

(STOP, START, BACK_UP, RESTORE, LABELS, RESTORE_ONE, BACK_UP_FILES, RESTORE_FILES,
 RESTORE_ONE_FILES) = snippets("backup.md", __file__)
REMOVE, REMOVE_FILES, LIST, IMPORT, NOT_CREATED, FROM_FILE, TO_FILE, ORPHAN = snippets("troubleshooting.md", __file__)
WAYS = {InObjects: (BACK_UP, RESTORE, RESTORE_ONE, REMOVE),
        InFiles: (BACK_UP_FILES, RESTORE_FILES, RESTORE_ONE_FILES, REMOVE_FILES)}
DEPLOYMENT = f"/apis/apps/v1/namespaces/{STATE}/deployments/kusion-operator"


class Person:
    """Who types them. A Deployment stands for the operator, and its process does as that is told."""

    def __init__(self, world, store, directory):
        self.world, self.cluster, self.directory = world, world.cluster, directory
        self.back_up, self.restore, self.restore_one, self.remove = WAYS[store]
        labels = {"app.kubernetes.io/name": "kusion-operator"}
        pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "operator", "image": "i"}]}}
        self.cluster.api.apply(DEPLOYMENT, json.dumps({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "kusion-operator", "namespace": STATE},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": pod}})).must()

    def leave(self):
        self.cluster.api.delete(DEPLOYMENT).must()

    def type(self, recipe, life=None, **words):
        if life:
            words = {"web": life.phase, "team-a": life.tenant, **words}
        if isinstance(self.world.store, InFiles):
            words["DIR"] = self.world.store.folder
        words = {rf"(?<![\w.-]){word}(?![\w.-])": str(text) for word, text in words.items()}
        for word, text in words.items():
            recipe = re.sub(word, text, recipe)
        typed = type_in(self.cluster, recipe, self.directory)
        assert typed.returncode == 0, (recipe, typed.stderr)
        return typed.stdout

    def stop(self):
        self.type(STOP)
        assert self.cluster.api.get(DEPLOYMENT).must().object["spec"]["replicas"] == 0
        self.world.kill()

    def start(self):
        self.type(START)
        assert self.cluster.api.get(DEPLOYMENT).must().object["spec"]["replicas"] == 1
        self.world.start()


@pytest.fixture
def person(world, tmp_path):
    made = []

    def make(store, **more):
        made.append(Person(world(store, **more), store, tmp_path))
        return made[0]

    yield make
    for one in made:
        one.leave()


def label_of(person, life):
    rows = [line.split() for line in person.type(LABELS).splitlines()]
    assert rows[0] == ["LABEL", "NAMESPACE", "SPEC"]
    return next(label for label, *spec in rows[1:] if spec == [life.tenant, life.phase])


@pytest.mark.parametrize("store", STORES)
def test_a_backup_is_restored(person, store):
    one = person(store, phases={"ready": Ready, "deleted": Deleted})
    made, (ready, deleted) = one.world, one.world.lives
    made.start()
    made.each("set_up")
    if store is InFiles:
        one.stop()
    one.type(one.back_up)
    if store is InFiles:
        one.start()
    made.kill()
    made.each("while_down")
    made.store.clear()
    made.start()
    made.each("check")
    one.stop()
    one.type(one.restore)
    one.start()
    eventually(deleted.is_gone)
    ready.spec.wait("True")
    ready.spec.delete()
    made.end()


def damage(life, store):
    if isinstance(store, InFiles):
        for part in (store.folder / life.tenant / life.phase).glob("state.*.open"):
            part.write_bytes(b"damaged")
        return
    (head,) = [one for one in states(life.cluster, life.tenant)
               if one["metadata"]["annotations"]["api.kusion.io/spec-name"] == life.phase]
    path = f"/api/v1/namespaces/{STATE}/configmaps/{head['metadata']['name']}"
    life.cluster.api.patch(path, {"binaryData": {"state": "ZGFtYWdlZA=="}}).must()


@pytest.mark.parametrize("has_backup", [True, False], ids=["backup", "none"])
@pytest.mark.parametrize("store", STORES)
@sampled
def test_damaged_state_is_mended(person, store, has_backup):
    """Of one Spec alone."""
    one = person(store, phases={"ready": Ready, "failed": Failed})
    made, (ready, other) = one.world, one.world.lives
    made.start()
    made.each("set_up")
    label = {"LABEL": label_of(one, ready)} if store is InObjects else {}
    made.kill()
    one.type(one.back_up)
    damage(ready, made.store)
    made.start()
    corrupt = eventually(lambda: is_said(ready, "StateCorrupt"))
    shown = f"{made.store.folder}/{ready.tenant}/ready/state." if store is InFiles else label["LABEL"]
    assert shown in corrupt, corrupt
    one.stop()
    if has_backup:
        one.type(one.restore_one, ready, **label)
        one.start()
    else:
        removal = re.search(r"\((kubectl delete [^)]*|rm [^)]*)\)", corrupt)[1]
        assert removal + "\n" == one.remove.replace("LABEL", label.get("LABEL", "")).replace(
            "DIR/team-a/web", f"{made.store.folder}/{ready.tenant}/ready" if store is InFiles else "")
        one.type(removal)
        one.start()
        ready.check()
        one.type(IMPORT, ready, **{"ID": thing_id(KIND, ready.name("d")), "IMPORT-ID": f"thing/{ready.name('d')}/1"})
    eventually(lambda: is_said(ready, "ReconciliationSucceeded"))
    assert not other.lost(), "its State is as it was"
    for life in made.lives:
        life.spec.delete()
    made.end()


def is_said(life, reason):
    """By Ready, of whatever generation."""
    ready, = [one for one in life.spec.get()["status"]["conditions"] if one["type"] == "Ready"]
    assert ready["reason"] == reason, ready
    return ready["message"]


class InFile(Ready):
    """It writes a state file for Terraform, too."""

    def set_up(self):
        self.spec.apply([self.thing("d"), self.user(), self.map("b")], **FIELDS,
                        terraformState={"to": {"secretRef": {"name": "tfstate-default-infile"}}})
        self.spec.wait("True")
        eventually(self.is_written)

    def is_written(self):
        conditions = {one["type"]: one["status"] for one in self.spec.get()["status"]["conditions"]}
        assert conditions.get("TerraformStateWritten") == "True", conditions
        return True


class Orphaned(Deleted):
    """All that is held is left where it is."""

    def there(self, short):
        return False


@pytest.mark.parametrize("store", STORES)
def test_what_is_held_is_let_go(person, store):
    phases = {"ready": Ready, "growing": Growing, "deleted": Deleted, "infile": InFile, "orphaned": Orphaned}
    one = person(store, phases=phases)
    made = one.world
    lose(made, "clear")
    made.each("check")
    ready, growing, deleted, infile, orphaned = made.lives
    listed = one.type(LIST, growing)
    revision = int(re.search(r"not-created\] to (\d+)", listed)[1])
    assert [line.split(": ")[0] for line in listed.splitlines() if ": State was lost" in line] == [
        thing_id(KIND, growing.name(short)) for short in "de"]
    one.type(NOT_CREATED, growing, ID=thing_id(KIND, growing.name("e")), REVISION=revision)
    for life in (ready, growing, deleted):
        one.type(IMPORT, life, **{"ID": thing_id(KIND, life.name("d")), "IMPORT-ID": f"thing/{life.name('d')}/1"})
    one.type(FROM_FILE, infile, SECRET="tfstate-default-infile")
    one.type(ORPHAN, orphaned)
    for life in (deleted, orphaned):
        eventually(life.is_gone)
    for life in (ready, growing, infile):
        eventually(lambda: is_said(life, "ReconciliationSucceeded"))
    one.type(TO_FILE, infile, SECRET="tfstate-default-infile")
    eventually(infile.is_written)
    for life in (ready, growing, infile):
        life.spec.delete()
    assert growing.made("e") == ["POST 1", "DELETE 1"]
    assert orphaned.made("d") == ["POST 1"], "it is left"
    made.backend.worlds["w"].objects.clear()
    made.end()
