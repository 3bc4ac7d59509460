"""A change that is on its way while its Spec changes: it is not forgotten, however late it comes."""

import time

import pytest

from kusion_faults.faults import rule
from kusion_faults.stage import stays
from kusion_e2e.wait import eventually

LATE = 2  # seconds that a change is on its way
SETTLED = 8  # seconds after which an operator that waits has shown it
TIMEOUT = ("--api-request-timeout", "15s")  # more than SETTLED


@pytest.fixture
def stage(bare):
    bare.main = bare.lane()
    bare.process = bare.operator(bare.main, *TIMEOUT)
    return bare


def held(stage, name, *, contains="", skip=0):
    """The next apply of a ConfigMap is held, and goes on although the operator gives it up."""
    stage.main.rules(rule("held", "hold", "before", "PATCH", stage.on(name), contains, skip,
                          detached=True))


def lost(stage, name, *, contains="", skip=0):
    """The operator loses the connection before the answer; the API server gets the change later."""
    stage.main.rules(rule("held", "drop", "before", "PATCH", stage.on(name), contains, skip,
                          detached=True, seconds=300))


def settle(stage, spec, seconds=SETTLED):
    """Until the Spec is Ready or gone; or until it is clear that the operator waits."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and stage.api.get(spec.path).ok:
        ready = spec.condition()
        if ready and ready["status"] == "True":
            return
        time.sleep(0.05)


def test_inflight_create_delete(stage):
    """The Spec is deleted while the create of one of its objects is on its way."""
    held(stage, "b")
    spec = stage.spec().apply([stage.config("a"), stage.config("b")])
    stage.main.wait_fired("held")
    stage.api.delete(spec.path).must()
    time.sleep(LATE)
    stage.main.release("held")
    stage.gone(spec)
    stays(lambda: stage.ours() == [], 1)


def test_inflight_create_prune(stage):
    """The object leaves the Spec while its create is on its way."""
    held(stage, "b")
    spec = stage.spec().apply([stage.config("a"), stage.config("b")])
    stage.main.wait_fired("held")
    spec.apply([stage.config("a")])
    time.sleep(LATE)
    stage.main.release("held")
    stage.ready(spec)
    eventually(lambda: stage.ours() == ["a"], 30)
    spec.delete()
    stage.gone(spec)
    stays(lambda: stage.ours() == [], 1)


@pytest.mark.parametrize("late", [held, lost])
def test_inflight_update(stage, late):
    """An older content comes after a newer one."""
    spec = stage.spec().apply([stage.config("a", "1")])
    stage.ready(spec)
    late(stage, "a", contains='"2"', skip=1)  # the first is a dry run
    spec.apply([stage.config("a", "2")])
    stage.main.wait_fired("held")
    spec.apply([stage.config("a", "3")])
    time.sleep(LATE)
    stage.main.release("held")
    stage.ready(spec)
    stays(lambda: stage.value("a") == "3", 1)
    spec.delete()
    stage.gone(spec)


def count_deletes(stage, lane, name):
    return sum(one["verb"] == "DELETE" and one["path"].partition("?")[0] == stage.path(name)
               for one in lane.requests())


def wait_made(stage, lane, name, deletes=0):
    """Until the late create is carried out. The operator may have deleted the object at once; it had sent
    so many deletions before."""
    eventually(lambda: name in stage.ours() or count_deletes(stage, lane, name) > deletes)


def nothing_is_forgotten(stage, spec, names):
    """Objects that left the Spec are in State, or gone; in the end they are gone."""
    stays(lambda: set(stage.ours()) - set(names) <= stage.room.known(spec), 3)
    eventually(lambda: stage.ours() == names, 100)
    spec.delete()
    stage.gone(spec, 100)
    stays(lambda: stage.ours() == [], 1)


def test_lost_create_delete(stage):
    """The answer of a create is lost, the create is sent again, and the Spec is deleted; then the
    first create is carried out."""
    lost(stage, "b")
    spec = stage.spec().apply([stage.config("a"), stage.config("b")], retryInterval="1s")
    stage.main.wait_fired("held")
    stage.ready(spec)
    stage.api.delete(spec.path).must()
    eventually(lambda: stage.value("b") is None)
    settle(stage, spec)
    stage.main.release("held")
    stage.gone(spec, 100)
    stays(lambda: stage.ours() == [], 2)


def test_lost_create_prune(stage):
    """The answer of a create is lost, the create is sent again, and the object leaves the Spec; then
    the first create is carried out."""
    lost(stage, "b")
    spec = stage.spec().apply([stage.config("a"), stage.config("b")], retryInterval="1s")
    stage.main.wait_fired("held")
    stage.ready(spec)
    spec.apply([stage.config("a")], retryInterval="1s")
    eventually(lambda: stage.value("b") is None)
    settle(stage, spec)
    deletes = count_deletes(stage, stage.main, "b")
    stage.main.release("held")
    wait_made(stage, stage.main, "b", deletes)
    nothing_is_forgotten(stage, spec, ["a"])


def test_partition_hold(bare):
    """A leader is cut off with five creates on their way; the next one applies a smaller
    generation; then the creates are carried out."""
    cut_off, other = bare.lane(), bare.lane()
    bare.operator(cut_off, *TIMEOUT)
    cut_off.rules(rule("held", "hold", "before", "PATCH", bare.path("c"), times=5, detached=True))
    creates = [bare.config(f"c{number}") for number in range(5)]
    spec = bare.spec().apply([bare.config("a"), *creates])
    cut_off.wait_fired("held", 5)
    cut_off.add_rules(rule("cut", "hang", "before", times=-1))
    second = bare.operator(other, *TIMEOUT)
    second.free_lease()
    spec.apply([bare.config("a")])
    eventually(second.leads)
    settle(bare, spec)
    cut_off.release("held")
    wait_made(bare, other, "c4")
    nothing_is_forgotten(bare, spec, ["a"])


def test_killed_hold(stage):
    """kill -9 with a create on its way; the object leaves the Spec; then the create is carried out."""
    held(stage, "b")
    spec = stage.spec().apply([stage.config("a"), stage.config("b")])
    stage.main.wait_fired("held")
    stage.process.kill9()
    spec.apply([stage.config("a")])
    stage.process.restart()
    settle(stage, spec)
    stage.main.release("held")
    wait_made(stage, stage.main, "b")
    nothing_is_forgotten(stage, spec, ["a"])


def test_killed_hold_delete(stage):
    """kill -9 with a create on its way; the Spec is deleted; then the create is carried out."""
    held(stage, "b")
    spec = stage.spec().apply([stage.config("a"), stage.config("b")])
    stage.main.wait_fired("held")
    stage.process.kill9()
    stage.api.delete(spec.path).must()
    stage.process.restart()
    settle(stage, spec)
    stage.main.release("held")
    stage.gone(spec, 100)
    stays(lambda: stage.ours() == [], 1)


def states(stage):
    """A regular expression for the requests for the documents of State."""
    return rf"^/api/v1/namespaces/{stage.room.state}/configmaps(\?|$)"


def state_stays_gone(stage, spec):
    """The Spec is deleted, and nothing of its State is there, nor comes back. The create is carried out
    as soon as the Spec is gone, or when it is clear that the operator waits."""
    stage.api.delete(spec.path).must()
    end = time.monotonic() + SETTLED
    while time.monotonic() < end and stage.api.get(spec.path).ok:
        time.sleep(0.05)
    stage.main.release("held")
    stage.gone(spec, 100)
    stays(lambda: stage.room.kept() == [], 3)


def another_process(stage):
    """kill -9, and a start in another second than that in which the Spec was created."""
    stage.process.kill9()
    time.sleep(1)
    stage.process.restart()


def test_lost_state_delete(stage):
    """The answer to the create of State's own document is lost, and it is sent again; the Spec is
    deleted; then the first create is carried out."""
    stage.main.rules(rule("held", "drop", "before", "POST", states(stage), detached=True, seconds=300))
    spec = stage.spec().apply([stage.config("a")], retryInterval="1s")
    stage.main.wait_fired("held")
    stage.ready(spec)
    state_stays_gone(stage, spec)


def test_killed_state_delete(stage):
    """kill -9 with the create of State's document on its way; the next process has nothing to delete."""
    stage.main.rules(rule("held", "hold", "before", "POST", states(stage), detached=True))
    spec = stage.spec().apply([stage.config("a")], retryInterval="1s")
    stage.main.wait_fired("held")
    another_process(stage)
    state_stays_gone(stage, spec)


def test_killed_state_written_delete(stage):
    """The same, where the next process writes State, and applies the Spec, before it is deleted."""
    stage.main.rules(rule("held", "hold", "before", "POST", states(stage), detached=True))
    spec = stage.spec().apply([stage.config("a")], retryInterval="1s")
    stage.main.wait_fired("held")
    another_process(stage)
    stage.ready(spec)
    state_stays_gone(stage, spec)
