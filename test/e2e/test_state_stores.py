"""State on servers: PostgreSQL, a bucket of S3, WebDAV. What the whole operator makes of them, while they
and the operator are killed, and what they get to see."""

import os
import random
import re
import subprocess
import time

import pytest

from kusion_e2e.canary import Canary
from kusion_e2e.controller import PROGRAM, Controller, release_lease
from kusion_e2e.long import LONG, sampled, takes_long
from kusion_e2e.paths import ROOT
from kusion_e2e.servers import Servers
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.wait import eventually

KMS_PLUGIN = ROOT / "hack/kms-plugin"
KINDS = ["postgres", "s3", "apache"]
MANY = [f"m{n}" for n in range(30)]
UNSEALED = ["--state-encryption=none"]
SPECS = 1000 if LONG else 40  # whose State is copied


class World:
    """An operator that works for one namespace, with State where it is told."""

    def __init__(self, cluster, tenant, servers, folder):
        self.cluster, self.tenant, self.servers = cluster, tenant, servers
        self.state = cluster.new_namespace("state")
        self.keys = folder / "keys"
        self.keys.mkdir()
        self.use_key("k1")
        self.seal = [f"--state-key=file:{self.keys}"]
        self.canary = Canary(plain=True)
        self.operator = None
        self.logs = ""

    def use_key(self, name):
        """As in a mounted Secret."""
        for file, content in ((name, os.urandom(32)), ("current", name.encode())):
            (self.keys / file).unlink(missing_ok=True)
            (self.keys / file).write_bytes(content)
            (self.keys / file).chmod(0o400)

    def begin(self, place, *more):
        self.operator = Controller(self.cluster, state=self.state, flags=[
            "--watch-namespace", self.tenant, "--state-backend", place, *self.seal, *more])

    def start(self, place, *more):
        self.begin(place, *more)
        self.operator.wait_leading()

    def refused(self, place):
        """What an operator says that ends because it cannot begin."""
        self.begin(place)
        eventually(lambda: self.operator.process.poll() is not None)
        said, self.operator = self.operator.logged(), None
        return said

    def kill(self):
        self.operator.crash()
        self.logs += self.operator.logged()
        self.operator = None

    def stop(self):
        self.logs += self.operator.logged()
        assert self.operator.stop() == 0
        self.operator = None

    def end(self):
        if self.operator:
            self.operator.stop()
        self.cluster.leave_namespace(self.state)

    def _words(self, *words):
        return [PROGRAM, "state", *words, "--kubeconfig", str(self.cluster.kubeconfig),
                "--state-namespace", self.state, *self.seal]

    def copy_killed(self, source, target, chance):
        """Kills the copy at a moment by chance, a later one each time, until one ends before it."""
        longest, kills = 1, 0
        while True:
            command = self._words("copy", "--from", source, "--to", target)
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as copy:
                try:
                    said, _ = copy.communicate(timeout=chance.uniform(0, longest))
                    assert copy.returncode == 0, said
                    return kills
                except subprocess.TimeoutExpired:
                    copy.kill()
            release_lease(self.cluster, self.state)
            longest, kills = 1.5 * longest, kills + 1

    def command(self, *words):
        done = subprocess.run(self._words(*words), capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stderr
        assert not self.canary.is_in(done.stdout + done.stderr)
        return done.stdout

    def spec(self, name="web"):
        return Spec(self.cluster, self.tenant, name)

    def apply(self, *names, x="1", spec="web"):
        """ConfigMaps, and a Secret with the canary."""
        secret = resource({"apiVersion": "v1", "kind": "Secret",
                           "metadata": {"name": f"login-{spec}", "namespace": self.tenant},
                           "data": {"password": self.canary.data}})
        maps = [config_map(name, self.tenant, {"x": x}) for name in names]
        return self.spec(spec).apply([*maps, secret], interval="5s", retryInterval="1s")

    def made(self):
        """ConfigMaps that are of a Spec: name to x and uid."""
        answer = self.cluster.api.get(f"/api/v1/namespaces/{self.tenant}/configmaps").must()
        return {one["metadata"]["name"]: (one["data"]["x"], one["metadata"]["uid"])
                for one in answer.object["items"] if "x" in (one.get("data") or {})}

    def values(self):
        return {name: x for name, (x, _) in self.made().items()}

    def reason(self, spec="web"):
        ready = {one["type"]: one for one in self.spec(spec).get()["status"]["conditions"]}["Ready"]
        return ready["reason"]

    def wait_reason(self, reason):
        def says():
            found = self.reason()
            assert found == reason, found
            return True

        eventually(says)

    def kept(self, place):
        """How many documents are whole, and how many of these are State."""
        said = self.command("verify", "--state-backend", place)
        found = re.search(r"(\d+) documents are whole, (\d+) of them State; 0 are damaged", said)
        assert found, said
        return int(found.group(1)), int(found.group(2))


@pytest.fixture(scope="module")
def servers():
    made = Servers(f"e2e-{os.getpid()}")
    yield made
    made.down()


@pytest.fixture
def world(state_namespace, tenant, servers, tmp_path):
    made = World(state_namespace, tenant, servers, tmp_path)
    yield made
    made.end()


@pytest.mark.parametrize("kind, is_sealed", [*((kind, True) for kind in KINDS), ("postgres", False),
                                             ("s3", False), ("apache", False)])
@sampled
def test_the_life_of_a_spec(world, kind, is_sealed):
    server = world.servers.get(kind)
    place = server.new_place()
    world.seal = world.seal if is_sealed else UNSEALED
    world.start(place)
    world.apply("a", "b").wait("True")
    first = world.made()["a"][1]
    world.apply("a", "c", x="2").wait("True")
    assert world.values() == {"a": "2", "c": "2"}

    world.apply("a", *MANY, x="3")
    eventually(lambda: world.values().get("m0"), every=0.01)
    world.kill()
    world.start(place)
    eventually(lambda: world.values() == dict.fromkeys(["a", *MANY], "3"))
    world.apply("a", x="4").wait("True")
    assert world.values() == {"a": "4"} and world.made()["a"][1] == first

    assert world.kept(place)[1] == 1
    found = world.canary.is_in(server.content(place))
    assert found != is_sealed, "what is not sealed must be found, so that this can"

    world.spec().delete()
    assert not world.values()
    eventually(lambda: world.kept(place) == (0, 0))
    world.stop()
    assert not world.canary.is_in(world.logs)


def test_state_that_was_not_sealed_is_left_alone(world):
    place = world.servers.get("postgres").new_place()
    sealed, world.seal = world.seal, UNSEALED
    world.start(place)
    world.apply("a", "b").wait("True")
    before = world.made()
    world.kill()

    world.seal = sealed
    world.start(place)
    world.apply("a", "c", x="2")
    world.wait_reason("NotSealed")
    assert world.made() == before
    world.kill()

    world.seal = [sealed[0] + ",identity"]
    assert "and 0 could not be\n" in world.command("rekey", "--state-backend", place)
    world.seal = sealed
    world.start(place)
    eventually(lambda: world.values() == {"a": "2", "c": "2"})
    assert world.made()["a"][1] == before["a"][1]
    world.spec().delete()


class Kms:
    """A plugin of KMS v2 (test/kms), and what it is told of its keys."""

    def __init__(self, folder):
        built = subprocess.run([KMS_PLUGIN], capture_output=True, text=True, timeout=400, check=False)
        if built.returncode != 0:
            pytest.skip(f"there is no KMS plugin: {built.stderr[-300:]}")
        self.program = built.stdout.strip()
        self.socket, self.switches = folder / "kms.sock", folder / "switches"
        self.process = None

    def run(self):
        self.socket.unlink(missing_ok=True)
        self.process = subprocess.Popen([self.program, self.socket, self.switches])
        eventually(self.socket.exists)

    def switch(self, words):
        self.switches.write_text(words)

    def kill(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def kms(tmp_path):
    made = Kms(tmp_path)
    made.run()
    yield made
    made.kill()


def test_a_kms_that_is_down_stops_who_begins(world, kms, tmp_path):
    """And nobody else; and a key may go when nothing needs it any more."""
    place = f"file:{tmp_path / 'state'}"
    world.seal = [f"--state-key=kms:unix://{kms.socket}"]
    world.start(place)
    world.apply("a", "b").wait("True")
    before = world.made()
    kms.kill()
    world.apply("a", "c", x="2").wait("True")
    world.kill()

    world.apply("a", "d", x="3")
    assert "KeyUnavailable" in world.refused(place)
    assert world.values() == {"a": "2", "c": "2"}
    kms.run()
    world.start(place)
    eventually(lambda: world.values() == {"a": "3", "d": "3"})
    assert world.made()["a"][1] == before["a"][1]
    world.stop()

    kms.switch("key key-2")
    assert "and 0 could not be\n" in world.command("rekey", "--state-backend", place)
    kms.switch("key key-2\nforget key-1")
    world.start(place)
    world.apply("a", x="4").wait("True")
    assert world.values() == {"a": "4"} and world.made()["a"][1] == before["a"][1]
    files = [path.read_bytes() for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert files and not any(world.canary.is_in(content.decode(errors="replace")) for content in files)
    world.spec().delete()
    assert not world.values()


@pytest.mark.parametrize("kind", [*KINDS, "nginx"])
@sampled
def test_another_store_and_a_server_that_is_away(world, kind):
    server = world.servers.get(kind)
    place, another = server.new_place(), server.new_place()
    world.start(place)
    world.apply("a", "b").wait("True")
    before = world.made()
    world.kill()

    world.start(another)
    world.wait_reason("StoreReplaced")
    changed = world.apply("a", "c", x="2")
    eventually(changed.condition)
    world.wait_reason("StoreReplaced")
    assert world.made() == before
    world.kill()

    world.start(place)
    eventually(lambda: world.values() == {"a": "2", "c": "2"})
    assert world.made()["a"][1] == before["a"][1]

    server.kill()
    try:
        world.apply("a", "d", x="3")
        world.wait_reason("StoreUnreachable")
        assert world.values() == {"a": "2", "c": "2"}
    finally:
        server.run()
    eventually(lambda: world.values() == {"a": "3", "d": "3"})

    world.apply("a", *MANY, x="4")
    eventually(lambda: world.values().get("m0"), every=0.01)
    server.kill()
    found = {name: uid for name, (_, uid) in world.made().items() if name in MANY}
    world.kill()
    server.run()
    world.start(place)
    eventually(lambda: world.values() == dict.fromkeys(["a", *MANY], "4"))
    after = {name: uid for name, (_, uid) in world.made().items()}
    assert after["a"] == before["a"][1] and found.items() <= after.items()
    world.spec().delete()
    assert not world.values()


@pytest.mark.parametrize("kind", KINDS)
@sampled
def test_a_store_that_is_emptied_while_the_operator_works(world, kind):
    server = world.servers.get(kind)
    place = server.new_place()
    world.start(place)
    world.apply("a", "b").wait("True")
    before = world.made()

    def refuses():
        found = world.reason()
        assert found in ("StoreReplaced", "StoreNotFound", "StateLost"), found
        return True

    server.empty(place)
    try:
        changed = world.apply("a", "c", x="2")
        eventually(lambda: changed.condition() and refuses())
        assert world.made() == before
    finally:
        server.restore(place)
    eventually(lambda: world.values() == {"a": "2", "c": "2"})
    assert world.made()["a"][1] == before["a"][1]
    world.spec().delete()
    assert not world.values()


@pytest.mark.parametrize("kind, reason", [("s3", "StoreBusy"), ("apache", "StoreRefused"), ("nginx", "StoreRefused")])
@sampled
def test_a_folder_that_the_server_may_not_enter_is_not_empty(world, kind, reason):
    """Neither to one that works, nor to one that begins."""
    server = world.servers.get(kind)
    place = server.new_place()
    world.start(place)
    world.apply("a", "b").wait("True")
    before = world.made()
    folder = server.folder_of(place)

    def refuses():
        assert {world.reason(spec) for spec in ("web", "shop")} == {reason}
        return True

    folder.chmod(0)
    try:
        for spec, names in (("web", "ac"), ("shop", "d")):
            changed = world.apply(*names, x="2", spec=spec)
            eventually(changed.condition)
        eventually(refuses)
        world.kill()
        world.start(place)
        eventually(refuses)
        assert world.made() == before
    finally:
        folder.chmod(0o755)
    eventually(lambda: world.values() == {"a": "2", "c": "2", "d": "2"})
    assert world.made()["a"][1] == before["a"][1]
    for spec in ("web", "shop"):
        world.spec(spec).delete()
    assert not world.values()


@pytest.mark.parametrize("kind", KINDS)
def test_a_backup_that_is_put_back(world, tmp_path, kind):
    """It is older than what the operator has done since."""
    server = world.servers.get(kind)
    place, backup = server.new_place(), tmp_path / "backup"
    world.start(place)
    world.apply("a", "b").wait("True")
    world.stop()
    server.back_up(place, backup)
    world.start(place)
    world.apply("a", "c", x="2").wait("True")
    before = world.made()
    world.stop()

    server.put_back(place, backup)
    world.start(place)
    world.apply("a", "d", x="3")
    world.wait_reason("StoreRestored")
    assert world.made() == before
    token = world.operator.token()
    world.kill()

    world.start(place, f"--accept-store={token}")
    eventually(lambda: world.values() == {"a": "3", "d": "3"})
    assert world.made()["a"][1] == before["a"][1], "it was not made a second time"
    world.spec().delete()
    assert not world.values()


@takes_long
def test_state_goes_round_all_stores(world, tmp_path):
    places = ["configmap", *(world.servers.get(kind).new_place() for kind in KINDS), f"file:{tmp_path / 'state'}",
              "configmap"]
    sealed, world.seal = world.seal, UNSEALED
    world.start(places[0])
    for spec in ("web", "shop"):
        world.apply(f"{spec}-a", f"{spec}-b", spec=spec).wait("True")
    before = world.made()
    world.seal = [sealed[0] + ",identity"]
    for source, target in zip(places, places[1:]):
        world.stop()
        world.command("copy", "--from", source, "--to", target)
        world.seal = sealed  # all of it is, from the first copy on
        assert world.kept(target)[1] == 2
        if target.startswith("s3:"):
            world.use_key("k2")
            world.command("rekey", "--state-backend", target)
            (world.keys / "k1").unlink()
        world.start(target)
        for spec in ("web", "shop"):
            world.apply(f"{spec}-a", f"{spec}-b", x=target[:20], spec=spec).wait("True")
    after = world.made()
    assert {name: uid for name, (_, uid) in after.items()} == {name: uid for name, (_, uid) in before.items()}
    for spec in ("web", "shop"):
        world.spec(spec).delete()
    assert not world.values() and world.kept("configmap") == (0, 0)


def all_pairs(kinds):
    """A round on which each kind is copied to each other one, once."""
    first, *others = kinds
    there_and_back = [kind for other in others[1:] for kind in (other, first)]
    return [first, *there_and_back, *([*all_pairs(others), first] if others else [])]


class Round:
    """Copies of many States, each to an empty place."""

    def __init__(self, world, folder):
        self.world, self.folder = world, folder
        self.chance = random.Random(int(os.environ.get("KUSION_TEST_SEED", "1")))
        self.place = "configmap"
        self.listed = None
        self.documents = {}  # how many there are, by whether the store has Releases

    def empty_place(self, kind, number):
        if kind == "file":
            return f"file:{self.folder / f'state{number}'}"
        if kind != "configmap":
            return self.world.servers.get(kind).new_place()
        for objects in ("configmaps", "secrets"):
            path = f"/api/v1/namespaces/{self.world.state}/{objects}"
            self.world.cluster.api.delete(f"{path}?labelSelector=api.kusion.io/state").must()
        return kind

    def check(self):
        """All is there, and whole."""
        said = self.world.command("list", "--state-backend", self.place)
        listed = sorted(re.findall(r"(\S+)  revision (\d+)  (\d+) resources", said))
        documents, states = self.world.kept(self.place)
        assert states == len(listed) == SPECS
        assert listed == (self.listed or listed)
        assert documents == self.documents.setdefault(self.place == "configmap", documents)
        self.listed = listed

    def copy(self, kind, number):
        target, began = self.empty_place(kind, number), time.monotonic()
        kills = self.world.copy_killed(self.place, target, self.chance)
        print(f"{self.place[:9]} to {target[:9]}: killed {kills} times, {time.monotonic() - began:.0f} s", flush=True)
        self.place = target


@takes_long
@pytest.mark.parametrize("is_sealed", [True, False])
def test_copies_that_are_killed(world, tmp_path, is_sealed):
    names = [f"s{number}" for number in range(SPECS)]
    sealed, world.seal = world.seal, UNSEALED
    world.start("configmap")
    specs = [world.spec(name).apply([config_map(name, world.tenant, {"x": "1"})]) for name in names]
    eventually(lambda: world.values() == dict.fromkeys(names, "1"), 600)
    for spec in specs:
        spec.wait("True")
    before = world.made()
    world.stop()
    copies = Round(world, tmp_path)
    copies.check()
    kinds = all_pairs(["configmap", *KINDS, "file"])
    for number, kind in enumerate(kinds[1:]):
        if is_sealed:
            world.seal = [sealed[0] + ("" if number else ",identity")]
        copies.copy(kind, number)
        world.seal = sealed if is_sealed else UNSEALED
        copies.check()
    world.start("configmap")
    for spec in (specs[0], specs[-1]):
        spec.apply([config_map(spec.name, world.tenant, {"x": "2"})]).wait("True")
    assert {name: uid for name, (_, uid) in world.made().items()} == {name: uid for name, (_, uid) in before.items()}
    for spec in specs:
        world.cluster.api.delete(spec.path).must()
    eventually(lambda: not world.values(), 600)
    eventually(lambda: world.kept("configmap") == (0, 0))
