"""The model itself, the comparison, and the sequences: without a cluster."""

import copy
import json

import pytest

from kusion_model.catalog import KUBECTL, NAMES, OTHER, OURS, REFERENCE, SOMEONE, resources
from kusion_model.compare import Live, Memory, Record, Seen, bind, differences
from kusion_model.generate import sequence
from kusion_model.world import World, after


def world_after(*steps):
    """One World; after each action the operator has done what it can."""
    world = World()
    for step in steps:
        world.act(step)
        world.seen = world.waiting
        world.converge()
        world.seen = world.waiting
        if world.shown:
            world.plans[world.shown.core, world.shown.whole] = str(hash(world.shown.core))
    return world


PUT = ["put", "a", {"k": "1"}]
MANUAL, APPROVE = ["mode", "Manual"], ["approve"]
WAITING = (MANUAL, PUT)
DONE = (*WAITING, APPROVE)


@pytest.mark.parametrize("steps, fields, owners", [
    ([PUT], {"k": "1"}, {"k": {OURS}}),
    ([PUT, ["edit", "a", "k", "x1", SOMEONE]], {"k": "1"}, {"k": {OURS}}),
    ([PUT, ["edit", "a", "l", "x1", SOMEONE]], {"k": "1", "l": "x1"}, {"k": {OURS}, "l": {SOMEONE}}),
    ([PUT, ["edit", "a", "l", "x1", KUBECTL]], {"k": "1"}, {"k": {OURS}}),
    ([PUT, ["take", "a", "k", None]], {"k": "1"}, {"k": {OURS, OTHER}}),
    ([PUT, ["take", "a", "k", "x1"]], {"k": "1"}, {"k": {OURS}}),
    ([["put", "a", {"k": "1", "l": "1"}], PUT], {"k": "1"}, {"k": {OURS}}),
    ([["put", "a", {"k": "1", "l": "1"}], ["take", "a", "l", None], PUT], {"k": "1", "l": "1"},
     {"k": {OURS}, "l": {OTHER}}),
    ([["make", "a", SOMEONE], ["put", "a", {"k": "1"}]], {"k": "1"}, {"k": {OURS}}),
], ids=["made", "drift", "added", "added-with-kubectl", "shared", "taken-back", "given-up",
        "given-up-and-kept", "adopted"])
def test_fields_and_their_owners(steps, fields, owners):
    live = world_after(*steps).objects["a"]
    assert live.ours and live.fields == fields
    assert {short: found for short, found in live.owners.items() if found} == owners


@pytest.mark.parametrize("steps, names, made", [
    ([PUT, ["delete", "a"]], {"a"}, 2),
    ([PUT, ["drop", "a"]], set(), 1),
    ([PUT, ["edit", "a", "k", "x1", SOMEONE]], {"a"}, 1),
    ([["make", "a", SOMEONE], PUT, ["drop", "a"]], set(), 1),
    ([*WAITING], set(), 0),
    ([*DONE], {"a"}, 1),
    ([*DONE, ["drop", "a"]], {"a"}, 1),
    ([*DONE, ["drop", "a"], APPROVE], set(), 1),
    ([*DONE, ["delete", "a"]], set(), 1),
    ([*DONE, ["delete", "a"], ["mode", "Automatic"]], {"a"}, 2),
    ([*DONE, ["delete", "a"], ["make", "a", SOMEONE], ["drop", "a"]], {"a"}, 2),
    ([*WAITING, ["approve_in_spec", 0]], {"a"}, 1),
], ids=["deleted", "dropped", "drift", "adopted-and-dropped", "waits", "approved", "drop-waits",
        "drop-approved", "drift-waits", "no-longer-manual", "not-ours-stays", "approved-in-the-spec"])
def test_objects(steps, names, made):
    world = world_after(*steps)
    assert set(world.objects) == names and world.made.get("a", 0) == made


@pytest.mark.parametrize("steps, ready, revisions", [
    ([PUT], "ReconciliationSucceeded", ["Apply"]),
    ([PUT, ["touch"]], "ReconciliationSucceeded", ["Apply"] * 2),
    ([*WAITING], "AwaitingApproval", ["Apply"]),       # without a resource there was nothing to approve
    ([*DONE], "ReconciliationSucceeded", ["Apply"] * 2),
    ([PUT, ["edit", "a", "k", "x1", SOMEONE]], "ReconciliationSucceeded", ["Apply"] * 2),
    ([PUT, *[["edit", "a", "k", "x1", SOMEONE]] * 3], "ReconciliationSucceeded", ["Apply"] * 2),
    ([PUT, ["destroy"]], "Destroyed", ["Apply", "Destroy"]),
    ([PUT, ["destroy"], ["touch"]], "ReconciliationSucceeded", ["Apply", "Destroy", "Apply"]),
    ([PUT, ["put", "a", {"k": "2"}], ["rollback", None]], "RolledBack", ["Apply", "Apply", "Rollback"]),
    ([*DONE, ["put", "a", {"k": "2"}], APPROVE, ["rollback", 1]], "AwaitingApproval", ["Apply"] * 3),
], ids=["made", "touched", "waits", "approved", "drift", "drift-that-repeats", "destroyed",
        "destroyed-and-changed", "rolled-back", "rollback-waits"])
def test_conditions_and_revisions(steps, ready, revisions):
    world = world_after(*steps)
    assert world.ready()[1] == ready
    assert [one.operation for one in world.history] == revisions


def test_a_rollback_holds_until_the_spec_changes():
    first, second = ["put", "a", {"k": "1"}], ["put", "a", {"k": "2"}]
    rolled_back = world_after(first, second, ["rollback", 1], ["edit", "a", "k", "x1", SOMEONE])
    assert rolled_back.objects["a"].fields == {"k": "1"}
    assert world_after(first, second, ["rollback", 1], ["touch"]).objects["a"].fields == {"k": "2"}


def test_a_request_may_count_as_later_than_a_change_of_the_spec():
    world = world_after(PUT, ["put", "a", {"k": "2"}])
    worlds = after(world, [["rollback", 1], ["touch"]], [True, True])
    assert {one.ready()[1] for one in worlds} == {"RolledBack", "ReconciliationSucceeded"}
    assert {one.objects["a"].fields["k"] for one in worlds} == {"1", "2"}


def test_a_request_may_overtake_one_that_nobody_saw():
    """What a Rollback goes back to without a revision is relative to what is in force."""
    world = world_after(PUT, ["put", "a", {"k": "2"}], ["put", "b", {"k": "1"}])
    worlds = after(world, [["rollback", 1], ["rollback", None]], [True, True])
    assert {("b" in one.objects, one.objects["a"].fields["k"]) for one in worlds} == {(True, "2"), (False, "2")}


def test_an_approval_of_another_plan_is_none():
    world = world_after(*WAITING)
    worlds = after(world, [["put", "a", {"k": "2"}], APPROVE], [True, True])
    assert worlds and all(not one.objects for one in worlds)
    assert not after(world, [["approve_ended"]], [True])  # that it is taken is no possible World


def test_a_reference_is_known_only_when_its_service_is_there():
    world = world_after(["put", "svc", {}], ["put", "addr", {"k": REFERENCE}])
    uid = world.objects["svc"].uid
    assert world.objects["addr"].fields["k"] == ("address", uid)
    world.act(["delete", "svc"])
    assert world.plan().actions() == {"addr": "update", "svc": "create"}
    assert world.converge().objects["addr"].fields["k"] == ("address", uid + 2)


def test_a_race_has_several_ends():
    world = world_after(PUT)
    worlds = after(world, [["put", "a", {"k": "2"}], ["put", "a", {"k": "3"}]], [True, True])
    assert {len(one.history) for one in worlds} == {2, 3}
    assert len(after(world_after(*WAITING), [APPROVE, ["touch"]], [True, True])) > 2
    assert {one.objects["a"].fields["k"] for one in worlds} == {"3"}


def test_a_change_may_come_after_the_look_of_an_operation_that_goes_on():
    """Then it is corrected by another, with a Release of its own."""
    world = world_after(["put", "svc", {}], ["put", "a", {"k": "1"}])
    worlds = after(world, [["drop", "svc"], ["delete", "a"], ["edit", "svc", "app", "x2", SOMEONE]], [True] * 3)
    assert all(set(one.objects) == {"a"} and one.made["a"] == 2 for one in worlds)
    assert {len(one.history) - len(world.history) for one in worlds} == {1, 2}


# ---- the comparison

def seen_of(world):
    """What is seen if all is as in the World."""
    objects = {name: Live(f"uid-{live.uid}", dict(live.fields), copy.deepcopy(live.owners),
                          "owner" if live.ours else None) for name, live in world.objects.items()}
    records = [Record(f"s-{i}", one.operation, i, "succeeded", "", 1, f"d{i}", {}, None, {}, None, "1")
               for i, one in enumerate(world.history, 1)]
    status, reason = world.ready()
    conditions = [{"type": "Ready", "status": status, "reason": reason, "observedGeneration": 1}]
    return Seen(1, {"conditions": conditions, "owner": "owner", "inventory": {"total": len(world.state)},
                    "resources": {"ready": len(world.state)}, "lastAppliedRevision": len(records),
                    "driftCorrections": {"count": world.corrections}},
                objects, {name: f"uid-{uid}" for name, uid in world.state.items()}, records, None)


def uid(seen):
    seen.objects["a"].uid = "another"


def field(seen):
    seen.objects["a"].fields["k"] = "x1"


def lost(seen):
    seen.objects["a"].owners["k"] = {SOMEONE}


def label(seen):
    seen.objects["a"].owner = None


def gone(seen):
    del seen.objects["a"]


def more(seen):
    seen.objects["b"] = copy.deepcopy(seen.objects["a"])


def state(seen):
    seen.state = {}


def ready(seen):
    seen.status["conditions"][0]["reason"] = "Other"


def generation(seen):
    seen.generation = 2


def twice(seen):
    seen.records.append(seen.records[-1])


def waits(seen):
    seen.records[-1].phase = "awaitingApproval"


def corrections(seen):
    seen.status["driftCorrections"]["count"] = 7


@pytest.mark.parametrize("change", [uid, field, lost, label, gone, more, state, ready, generation,
                                    twice, waits, corrections], ids=lambda one: one.__name__)
def test_a_difference_is_found(change):
    world = world_after(PUT, ["edit", "a", "l", "x1", SOMEONE])
    seen = seen_of(world)
    assert differences(world, seen, True) == []
    bind(world, seen)
    change(seen)
    assert differences(world, seen, True)


def test_history_only_grows():
    seen = seen_of(world_after(PUT, ["touch"]))
    memory = Memory()
    assert memory.look(copy.deepcopy(seen)) == []
    ended = copy.deepcopy(seen)
    ended.records[0].reason = "Other"
    assert memory.look(ended)
    seen.records.pop()
    assert memory.look(seen)


def test_what_was_approved_is_what_was_done():
    seen, memory = seen_of(world_after(PUT)), Memory()
    seen.records[0].phase, seen.records[0].actions = "awaitingApproval", {"a": "create"}
    assert memory.look(copy.deepcopy(seen)) == []
    seen.records[0].phase, seen.records[0].approved = "succeeded", seen.records[0].digest
    assert memory.look(copy.deepcopy(seen)) == []
    another = copy.deepcopy(seen)
    another.records[0].actions = {"a": "update"}
    assert Memory().look(another) == [] and memory.look(another)


# ---- sequences

def test_a_seed_gives_the_same_sequence():
    assert sequence(1, 2) == sequence(1, 2) != sequence(1, 3)
    assert json.loads(json.dumps(sequence(1, 2))) == sequence(1, 2)


def test_sequences_have_all_actions():
    found = {action[0] for number in range(300) for step in sequence(7, number)
             for action in step}
    assert found | {"rollback_to"} == {name[4:] for name in dir(World) if name.startswith("_do_")}


def test_specs_are_valid():
    """No reference and no dependency without its object, and no cycle."""
    wanted = {"addr": ({"k": REFERENCE}, ("a",)), "c": ({"k": "1"}, ("addr", "b"))}
    assert [(one["id"], one.get("dependsOn")) for one in resources(wanted, "n")] == [
        ("v1:ConfigMap:n:c", None)]
    wanted.update({"svc": ({}, ()), "b": ({"k": "1"}, ("c",))})
    assert [one.get("dependsOn") for one in resources(wanted, "n")] == [
        None, ["v1:ConfigMap:n:b"], None, None]
    assert NAMES.index("svc") < NAMES.index("addr")
