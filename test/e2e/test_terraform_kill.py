"""kill -9 of the operator, or of the provider, while a change of a Terraform resource is on its way:
nothing is made twice, and nothing is forgotten.

The moments are certain: the back end of the test providers holds the request, the test kills, and then
the request is done late, or never. All moments of one victim are tried at once, each with a Spec of its own,
so that one kill is enough.

Whether a creation happened that was not answered nobody can know. The resource is held then: first while
the creation may still take effect, which is 25 minutes (the next operator's clock is set ahead by them), and
afterwards until somebody says what became of it."""

import os
import re
import signal
import subprocess
from dataclasses import dataclass

import pytest

from kusion_e2e.controller import Controller
from kusion_e2e.long import takes_long
from kusion_e2e.paths import ROOT
from kusion_e2e.specs import Spec
from kusion_e2e.states import open_state, states
from kusion_e2e.terraform import need_providers, new_backend, thing, thing_id, things_flags
from kusion_e2e.wait import eventually

LONGER = 31 * 60  # seconds; than a creation may take
FLAGS = ["--concurrent", "64"]
DONE, LATE, NEVER = "done", "late", "never"  # what becomes of the request: before the kill, after it


@dataclass(frozen=True)
class Moment:
    change: str   # create, update, replace, swap (a replacement that creates first), delete, leave, adopt
    method: str   # of the request that is held
    fate: str

    @property
    def name(self):
        return f"{self.change}-{self.method}-{self.fate}".lower()

    @property
    def in_doubt(self):
        return self.method == "POST"


def moments():
    """Every request that changes something, of every change, and each fate."""
    changes = {"create": ["POST"], "update": ["PUT"], "replace": ["DELETE", "POST"],
               "swap": ["POST", "DELETE"], "delete": ["DELETE"], "leave": ["DELETE"], "adopt": ["PUT"]}
    return [Moment(change, method, fate) for change, methods in changes.items()
            for method in methods for fate in (DONE, LATE, NEVER)] + \
        [Moment("adopt", "GET", fate) for fate in (DONE, NEVER)]


MOMENTS = moments()


class Life:
    """A Spec with one resource, to which one moment happens."""

    def __init__(self, cluster, tenant, moment, world, address):
        self.moment, self.name, self.world, self.address = moment, moment.name, world, address
        self.kind = ("probe_thing", "legacy_thing")[MOMENTS.index(moment) % 2]
        self.id = thing_id(self.kind, self.name)
        self.place = f"{self.kind.split('_')[1] if self.kind == 'probe_thing' else 'legacy'}/{self.name}"
        self.spec = Spec(cluster, tenant, self.name)
        self.hold = None

    def _apply(self, extensions=None, **attributes):
        more = dict(extensions or {})
        if self.moment.change == "swap":
            more["lifecycle"] = {"createBeforeDestroy": True}
        self.spec.apply([thing(self.kind, self.name, self.address, more, **attributes)],
                        **self._fields())

    def _fields(self):
        return {"retryInterval": "1s", "context": {"WHOSE": self.spec.namespace}}

    def _before(self):
        return {"text": "1", "zone": "a"}

    def _after(self):
        change = self.moment.change
        return {"text": "2" if change in ("update", "adopt") else "1",
                "zone": "b" if change in ("replace", "swap") else "a"}

    # ---- Its steps ----

    def set_up(self):
        if self.moment.change != "create":
            self._apply(**self._before())

    def is_set_up(self):
        if self.moment.change != "create":
            self.spec.wait("True")

    def orphan(self):
        """Of an object that is to be taken over: the Spec is not there any more."""
        self.spec.cluster.api.patch(self.spec.path, {"spec": {"deletionPolicy": "Orphan"}}).must()
        self.spec.delete()

    def begin(self):
        change = self.moment.change
        when = "after" if self.moment.fate == DONE else "before"
        self.hold = self.world.hold(self.moment.method, self.name, when)
        if change == "delete":
            self.spec.cluster.api.delete(self.spec.path).must()
        elif change == "leave":
            self.spec.apply([], **self._fields())
        else:
            self.again()

    def again(self, extensions=None):
        """Its Spec as it is after the change."""
        known = {"kusionstack.io/import-id": f"{self.place}/1"} if self.moment.change == "adopt" else {}
        self._apply({**known, **(extensions or {})}, **self._after())

    # ---- What must be ----

    def changes(self):
        """The methods of what was done, in their order, with the number of the object."""
        return [f"{method} {place.rpartition('/')[2]}" for method, place in self.world.changes(self.name)]

    def objects(self):
        return {place.rpartition("/")[2]: one for place, one in self.world.of(self.name).items()}

    def records(self):
        """Of State: status and whether it is deposed."""
        for head in states(self.spec.cluster, self.spec.namespace):
            found = open_state(head)
            if found and found["spec"]["name"] == self.name:
                return [one["record"] for one in found["resources"]]
        return []

    def expected(self):
        """The changes that the back end has when all is over, and the objects."""
        return {"create": (["POST 1"], ["1"]),
                "update": (["POST 1", "PUT 1"], ["1"]),
                "replace": (["POST 1", "DELETE 1", "POST 2"], ["2"]),
                "swap": (["POST 1", "POST 2", "DELETE 1"], ["2"]),
                "delete": (["POST 1", "DELETE 1"], []),
                "leave": (["POST 1", "DELETE 1"], []),
                "adopt": (["POST 1", "PUT 1"], ["1"])}[self.moment.change]

    def is_over(self):
        """Not in doubt, and as if nobody had been killed."""
        if self.moment.change == "delete":
            assert self.spec.get() is None
        else:
            ready = self.spec.condition()
            assert ready and ready["status"] == "True", (self.name, ready)
        changes, objects = self.expected()
        # A request that was done late may be done twice; it does no harm.
        assert without_repeated_puts(self.changes()) == changes, (self.name, self.changes())
        assert list(self.objects()) == objects, self.name
        for one in self.objects().values():
            assert {key: one[key] for key in ("text", "zone")} == self._after(), self.name
        return True

    def is_held(self, reasons, words):
        """Nobody knows whether the object was made; nothing is made again, and nothing is deleted that may
        still be needed."""
        ready = self.spec.condition()
        assert ready and ready["status"] == "False" and ready["reason"] in reasons, (self.name, ready)
        assert any(word in ready["message"] for word in words), ready
        was_made = self.moment.fate != NEVER and (self.moment.fate == DONE or self.hold is None)
        assert self.changes() == self.in_doubt(was_made), (self.name, self.changes())
        assert self.is_known(), (self.name, self.objects(), self.records())
        return True

    def in_doubt(self, was_made):
        before = {"create": [], "replace": ["POST 1", "DELETE 1"], "swap": ["POST 1"]}[self.moment.change]
        return before + ([f"POST {'1' if self.moment.change == 'create' else '2'}"] if was_made else [])

    def is_known(self):
        """Each object is in State, or its creation is."""
        records = self.records()
        return any(one["status"] == "creating" for one in records) and len(self.objects()) <= len(records)

    def tell(self):
        """What somebody finds out who looks at the back end, and the condition."""
        said = self.spec.condition()["message"]
        revision, = re.findall(r"extensions\[kusionstack.io/not-created\] to (\d+)", said)
        number = "1" if self.moment.change == "create" else "2"
        if number in self.objects():
            self.again({"kusionstack.io/import-id": f"{self.place}/{number}"})
        else:
            self.again({"kusionstack.io/not-created": int(revision)})

    def release(self):
        self.hold.release(lost=self.moment.fate == NEVER)
        self.hold = None


def without_repeated_puts(changes):
    return [one for i, one in enumerate(changes) if not (one.startswith("PUT") and one in changes[:i])]


# ---- Fixtures ----


@pytest.fixture(scope="module", autouse=True)
def providers():
    need_providers("test")


@pytest.fixture(scope="module")
def clock(tmp_path_factory):
    """The environment of an operator whose clock is so many seconds ahead."""
    library = tmp_path_factory.mktemp("clock") / "clock.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, ROOT / "test/faults/clock.c", "-ldl"],
                   check=True)
    options = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    return lambda seconds: {"LD_PRELOAD": str(library), "KUSION_TEST_CLOCK_AHEAD": str(seconds),
                            "ASAN_OPTIONS": options}


@pytest.fixture
def backend():
    made = new_backend()
    yield made
    made.close()


class Operators:
    """One at a time."""

    def __init__(self, cluster):
        self.cluster, self.now = cluster, None

    def start(self, **more):
        self.now = Controller(self.cluster, flags=things_flags(*FLAGS), **more).wait_leading()

    def kill(self):
        if self.now.process.poll() is None:
            self.now.crash()
            self.now.log.unlink()


@pytest.fixture
def operators(state_namespace):
    operators = Operators(state_namespace)
    operators.start()
    yield operators
    operators.kill()


@pytest.fixture
def lives(state_namespace, tenant, backend, operators):
    """All are at their moments: their requests are held."""
    world = backend.worlds["w"]
    lives = [Life(state_namespace, tenant, moment, world, backend.address("w")) for moment in MOMENTS]
    for life in lives:
        life.set_up()
    for life in lives:
        life.is_set_up()
    for life in lives:
        if life.moment.change == "adopt":
            life.orphan()
    for life in lives:
        life.begin()
    for life in lives:
        life.hold.wait()
    yield lives
    for life in lives:
        if life.hold:
            life.hold.release(lost=True)


def providers_of(operator, namespace):
    """The processes of the providers that a namespace's Specs use."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(operator.process.pid)],
                           capture_output=True, text=True).stdout
    pids = []
    for pid in map(int, found.split()):
        with open(f"/proc/{pid}/environ", errors="replace") as file:
            if f"WHOSE={namespace}" in file.read().split("\0"):
                pids.append(pid)
    return pids


# ---- The tests ----


def settle(lives):
    """After a kill: what is late is done when the operator has found out what it can."""
    for life in lives:
        if life.moment.fate != LATE:
            life.release()
    told = ["may still take effect"]
    for late in (False, True):
        for life in lives:
            if late and life.hold:
                life.release()
        for life in lives:
            if life.moment.in_doubt:
                eventually(lambda: life.is_held(("Deferred", "OutcomeUnknown"), told))
            else:
                eventually(life.is_over)


def pass_time(operators, clock):
    """The next operator begins when every creation would be over."""
    operators.kill()
    operators.start(environment=clock(LONGER))


def resolve(lives, operators, clock):
    """As the condition says: what is there is taken over, and what is not is made. Then all goes."""
    in_doubt = [life for life in lives if life.moment.in_doubt]
    pass_time(operators, clock)
    for life in in_doubt:
        eventually(lambda: life.is_held(("OutcomeUnknown",), ["whether it happened is not known"]))
    for life in in_doubt:
        life.tell()
    for life in lives:
        eventually(life.is_over)
    for life in lives:
        if life.spec.get():
            life.spec.cluster.api.delete(life.spec.path).must()
    for life in lives:
        eventually(lambda: life.spec.get() is None)
    world = lives[0].world
    assert world.objects == {} and not states(lives[0].spec.cluster, lives[0].spec.namespace)


def test_the_operator_is_killed(lives, operators, clock):
    operators.kill()
    operators.start()
    settle(lives)
    resolve(lives, operators, clock)


@takes_long
def test_the_provider_is_killed(lives, operators, clock):
    pids = providers_of(operators.now, lives[0].spec.namespace)
    assert len(pids) == 2
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids))
    settle(lives)
    resolve(lives, operators, clock)
