"""kill -9 while a write of State is on its way, in every change of a Terraform resource: at each of the
writes, which is never carried out, carried out after the next operator has begun, or was carried out without
an answer. Nothing is made twice, nothing is forgotten, and a creation is in doubt only if it was sent, or
if nobody can know.

All moments of a round happen to one operator, each to a Spec of its own, so that one kill is enough.
KUSION_TEST_MOMENTS: their names, with commas between them; "all": each there is, as `hack/soak state` does it;
a number: those of `create`, in which something is in doubt, and so many others, by KUSION_TEST_SEED."""

import os
import random
import subprocess

import pytest

from kusion_faults.paths import ROOT
from kusion_faults.state_moments import LATE, Moment, StateLife, moments
from kusion_e2e.terraform import mirror, new_backend, things_flags
from kusion_e2e.wait import eventually

SEED = int(os.environ.get("KUSION_TEST_SEED", "1"))
CHOSEN = os.environ.get("KUSION_TEST_MOMENTS", "30")
LIKELY = 7  # so many writes each change has, about
ROUND = 30  # of a namespace's calls, which State's writes are made in, 40 may be under way
LONGER = 31 * 60  # seconds; than a creation may take
FLAGS = ("--concurrent", "64", "--api-request-timeout", "60s")


def chosen():
    every = moments()
    if CHOSEN == "all":
        return every
    if CHOSEN.isdigit():
        likely = [one for one in every if one.number < LIKELY]
        others = [one for one in likely if one.change != "create"]
        return [one for one in likely if one.change == "create"] + random.Random(SEED).sample(others, int(CHOSEN))
    return [Moment.named(name) for name in CHOSEN.split(",")]


def rounds():
    found = chosen()
    return [found[at:at + ROUND] for at in range(0, len(found), ROUND)]


@pytest.fixture(scope="module", autouse=True)
def providers():
    why_not = mirror("test")[1]
    if why_not:
        pytest.skip(why_not)


@pytest.fixture(scope="module")
def ahead(tmp_path_factory):
    """The environment of an operator that begins when every creation would be over."""
    library = tmp_path_factory.mktemp("clock") / "clock.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, ROOT / "test/faults/clock.c", "-ldl"], check=True)
    return {"LD_PRELOAD": str(library), "KUSION_TEST_CLOCK_AHEAD": str(LONGER),
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}


@pytest.fixture
def backend():
    made = new_backend()
    yield made
    made.close()


@pytest.fixture
def stage(bare):
    bare.main = bare.lane()
    bare.process = bare.operator(bare.main, *things_flags(*FLAGS))
    yield bare
    bare.main.rules()  # what is held goes on


def each(lives, check):
    """Waits for all: some wait for a provider's process of others."""
    for life in lives:
        eventually(lambda: check(life))


def kill(stage, lives):
    stage.process.kill9()
    for life in lives:
        life.killed()
        if not life.comes_late:
            life.release()
    for life in lives:
        if not life.comes_late:
            life.check_doubt()


def settle(lives):
    """As far as it goes without anybody's help."""
    for life in lives:
        # A late write may make a doubt of a creation, or lose to the next operator's.
        eventually(lambda: life.is_held("may still take effect") if life.is_in_doubt() else life.is_over())
        life.check_known()


def resolve(stage, lives, ahead):
    """As the condition says: what is there is taken over, and what is not is made."""
    in_doubt = [life for life in lives if life.is_in_doubt()]
    stage.process.kill9()
    stage.process.free_lease()
    stage.operators.remove(stage.process)  # another program, so to say
    stage.process = stage.operator(stage.main, *things_flags(*FLAGS), environment=ahead)
    each(in_doubt, lambda life: life.is_held("extensions[kusionstack.io/not-created] to "))
    for life in in_doubt:
        life.tell()
    each(lives, StateLife.is_over)
    return in_doubt


def left(stage, lives):
    """What is kept. Parts of a document that is not there are removed within two hours: a late write made them
    of a Spec that was gone."""
    gone = {life.name for life in lives if (life.moment.change, life.moment.fate) == ("delete", LATE)}
    path = f"/api/v1/namespaces/{stage.room.state}/secrets"
    parts = {f"secrets/{one['metadata']['name']}" for one in stage.api.get(path).must().object["items"]
             if one["metadata"].get("annotations", {}).get("api.kusion.io/spec-name") in gone}
    return set(stage.room.kept()) - parts


@pytest.mark.parametrize("some", rounds(), ids=lambda some: some[0].name)
def test_the_operator_is_killed_while_state_is_written(stage, backend, ahead, some):
    world = backend.worlds["w"]
    lives = [StateLife(stage, moment, world, backend.address("w")) for moment in some]
    for life in lives:
        life.set_up()
    for life in lives:
        life.is_set_up()
    stage.main.rules(*(one for life in lives for one in life.rules()))
    for life in lives:
        life.begin()
    each(lives, StateLife.is_at_its_moment)
    unheld = [life.moment.name for life in lives if life.moment.number == 0 and not life.was_held]
    assert not unheld, f"each change has a first write: {unheld}"
    kill(stage, lives)
    stage.process.restart()
    settle([life for life in lives if not life.comes_late])
    for life in lives:
        if life.comes_late:
            life.release()
    settle(lives)
    in_doubt = resolve(stage, lives, ahead)
    print(f"{sum(life.was_held for life in lives)} writes held, {len(in_doubt)} in doubt:",
          *(f"{life.name} after {life.made}" for life in in_doubt))
    for life in lives:
        life.end()
    each(lives, lambda life: life.spec.get() is None)
    assert world.objects == {}
    assert left(stage, lives) == set()
