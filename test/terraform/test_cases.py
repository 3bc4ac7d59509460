"""Cases by chance, and those that once found something: our engine alone, and beside OpenTofu.

KUSION_TEST_SEED is the seed (it is printed with what fails). hack/soak terraform has more."""

import json
import os

import pytest

from kusion_terraform import ours
from kusion_terraform.generate import case
from kusion_terraform.shrink import tell

SEED = int(os.environ.get("KUSION_TEST_SEED", 7))  # hack/soak terraform: another each time
ALONE, BESIDE = 20, 10


def thing(kind="probe_thing", lifecycle=None, **attributes):
    return {"kind": kind, "attributes": {"name": "", **attributes}, "lifecycle": lifecycle or {}}


def steps(*resources):
    """The same resource, changed."""
    return [{"resources": {"a": one} if one else {}, "drift": []} for one in (*resources, None)]


def found(after=(), kind="data.probe_found", **attributes):
    """A data source, of the object of b."""
    name = "id" if kind == "data.probe_found" else "of"
    return {"kind": kind, "attributes": {name: {"$": ["b", "id"]}, **attributes}, "lifecycle": {},
            **({"after": [{"$": [key, ""]} for key in after]} if after else {})}


def text_of(key, path="text"):
    return thing(text={"$": [key, path]})


def together(*steps):
    return [{"resources": one, "drift": drift} for one, drift in [*((one, []) if isinstance(one, dict) else one
                                                                   for one in steps), ({}, [])]]


def blocks(*keys, zone=None):
    return [{"key": key, **({"zone": zone} if zone else {})} for key in keys]


REGRESSIONS = {
    "elements-that-are-there-twice": steps(
        thing(set=["b", "a", "b"], plain_set=blocks("k", "k"), set_of=blocks("k2", "k1", "k2")),
        thing(set=["a", "b", "b"], plain_set=blocks("k"), set_of=blocks("k1", "k2"))),
    "elements-that-defaults-make-equal": steps(
        thing("probe_blocks", set_block=[{"key": "k", "inner_set": [{"key": "k3", "color": "blue"}, {"key": "k3"},
                                                                    {"key": "k3", "zone": "r1"}]}])),
    "sets-inside-of-others": steps(
        thing(deep={"k": [["b", "a"], ["c", "c"]]}), thing(deep={"k": [["a", "b"], ["c"]]})),
    "a-field-inside-of-a-set-replaces": steps(
        thing(set_of=[*blocks("k1", zone="r1"), *blocks("k2", zone="r2")]),
        thing(set_of=[*blocks("k1", zone="r2"), *blocks("k2", zone="r2")]),
        thing(set_of=[*blocks("k3", zone="r1"), *blocks("k2", zone="r2")])),
    "several-fields-replace": steps(
        thing(zone="r1", fixed=["a"], single={"key": "k", "zone": "r1"}),
        thing(zone="r2", fixed=["b"], single={"key": "k", "zone": "r2"})),
    "what-may-only-be-written-replaces": steps(
        thing(token="t1", token_version="1"), thing(token="t2", token_version="1"),
        thing(token="t2", token_version="2")),
    "what-may-only-be-written-is-ignored": steps(
        thing("probe_thing", {"ignoreChanges": ["token"]}, token="t1", text="1"),
        thing("probe_thing", {"ignoreChanges": ["token"]}, token="t2", text="2")),
    "all-changes-are-ignored": steps(
        thing("probe_thing", {"ignoreChanges": "all"}, zone="r1", text="1",
              list_of=[{"key": "k", "inner_set": [*blocks("k1"), {"key": "k2", "floating": "x"}]}]),
        thing("probe_thing", {"ignoreChanges": "all"}, zone="r2", text="2"),
        thing("probe_thing", text="2")),
    "keys-of-a-map-are-ignored": steps(
        thing("probe_thing", {"ignoreChanges": ["map.k1", "map.k2"]}, map={"k1": "1"}),
        thing("probe_thing", {"ignoreChanges": ["map.k1", "map.k2"]}, map={"k2": "2", "k/4": "2"}),
        thing("probe_thing", {"ignoreChanges": ["map.k1", "map.k2"]}, text="2")),
    "what-is-inside-of-blocks-is-ignored": steps(
        thing("legacy_thing", {"ignoreChanges": ["single[0].text", "blocks.1.size"]},
              single=[{"key": "k", "text": "1"}], blocks=[{"key": "k", "size": 1}, {"key": "l", "size": 1}]),
        thing("legacy_thing", {"ignoreChanges": ["single[0].text", "blocks.1.size"]},
              single=[{"key": "k", "text": "2"}], blocks=[{"key": "k", "size": 2}, {"key": "l", "size": 2}]),
        thing("legacy_thing", {"ignoreChanges": ["single[0].text", "blocks.1.size"]}, blocks=[{"key": "k"}]),
        thing("legacy_thing", single=[{"key": "k", "text": "3"}])),
    "what-is-inside-of-lists-is-ignored": steps(
        thing("probe_thing", {"ignoreChanges": ["list_of[0].text", "list[1]", "single.inner_list[0].zone"]},
              list=["a", "b"], list_of=[{"key": "k", "text": "1"}], single={"key": "k", "inner_list": blocks("k", zone="r1")}),
        thing("probe_thing", {"ignoreChanges": ["list_of[0].text", "list[1]", "single.inner_list[0].zone"]},
              list=["c", "d"], list_of=[{"key": "k", "text": "2"}], single={"key": "k", "inner_list": blocks("k", zone="r2")})),
    "the-old-library-has-it-in-another-form-and-it-is-ignored": steps(
        thing("legacy_thing", {"ignoreChanges": ["folded"]}, folded="A", text="1"),
        thing("legacy_thing", {"ignoreChanges": ["folded"]}, folded="B", text="2"),
        thing("legacy_thing", {"ignoreChanges": "all"}, folded="C", text="3", size=5)),
    "a-creation-fails-while-the-old-one-is-there": steps(
        thing("legacy_thing", {"createBeforeDestroy": True}),
        thing("legacy_thing", {"createBeforeDestroy": True}, zone="r1", fail_on=["create_half"]),
        thing("legacy_thing", {"createBeforeDestroy": True}, zone="r1", fail_on=["create_half"]),
        thing("legacy_thing", {"createBeforeDestroy": True}, zone="r1")),
    "another-id-and-another-type": [
        {"resources": {"a": thing(text="1")}, "drift": []},
        {"resources": {"a": {**thing(text="1"), "as": "m1", "moved": ["probe_thing", ""]},
                       "b": thing(text={"$": ["a", "id"]})}, "drift": []},
        {"resources": {"a": {**thing("probe_renamed", text="2"), "as": "m2", "moved": ["probe_thing", "m1"],
                             "born": "probe_thing"}, "b": thing(text={"$": ["a", "id"]})}, "drift": []},
        {"resources": {}, "drift": []}],
    "an-object-like-another-is-taken-over": together(
        {"a": thing(text="1", set_of=blocks("k1", "k2"), token="t1"), "b": thing("legacy_thing", text="1")},
        {"a": thing(text="1", set_of=blocks("k1", "k2"), token="t1"), "b": thing("legacy_thing", text="1"),
         "c": {**thing(text="2", set_of=blocks("k1", "k3"), token="t1"), "import": "a"},
         "d": {**thing("legacy_thing", text="1"), "import": "b"}}),
    # Read in the apply that makes it; then for each plan; a change is seen by the next one, or waited for.
    "a-data-source": together(
        {"b": thing(text="one"), "c": found(), "d": text_of("c")},
        {"b": thing(text="one"), "c": found(label="x"), "d": text_of("c", "label")},
        {"b": thing(text="two"), "c": found(), "d": text_of("c")},
        {"b": thing(text="two"), "c": found(), "d": text_of("c")},
        {"b": thing(text="three"), "c": found(after=["b"]), "d": text_of("c")},
        {"b": thing(text="three"), "c": found(after=["b"]), "d": text_of("c")},
        ({"b": thing(text="three"), "c": found(field=[{"name": "text"}]), "d": text_of("c", "inner.text")},
         [["b", "text"]])),
    "a-data-source-of-what-is-replaced": together(
        {"b": thing(zone="r1", text="one"), "c": found(), "d": text_of("c", "id")},
        {"b": thing(zone="r2", text="one"), "c": found(), "d": text_of("c", "id")}),
    "a-data-source-of-the-old-library": together(
        {"b": thing("legacy_thing", text="one"), "c": found(kind="data.legacy_found"),
         "d": text_of("c", "inner[0].text")},
        {"b": thing("legacy_thing", text="two"), "c": found(["b"], "data.legacy_found"),
         "d": text_of("c", "inner[0].text")}),
    "a-data-source-after-another": together(
        {"a": thing(text="one"), "b": thing(text="two"), "c": found(after=["a"]), "d": text_of("c")},
        {"a": thing(text="two"), "b": thing(text="two"), "c": found(after=["a"]), "d": text_of("c")}),
    "what-is-not-known-yet-in-what-is-of-any-type": together(
        {"a": thing(), "b": thing(any={"data": {"$": ["a", "id"]}}, fail_on=["untyped"]),
         "c": thing(any=[{"$": ["a", "made_list"]}], fail_on=["untyped"])},
        {"a": thing(zone="r1"), "b": thing(any={"data": {"$": ["a", "id"]}}, fail_on=["untyped"]),
         "c": thing(any=[{"$": ["a", "made_list"]}], fail_on=["untyped"])}),
    "from-outside": [
        {"resources": {"a": thing(text="a", set_of=blocks("k1", "k2"))}, "drift": []},
        {"resources": {"a": thing(text="a", set_of=blocks("k1", "k2"))}, "drift": [["a", "nested"]]},
        {"resources": {"a": thing(text="a", set_of=blocks("k1", "k2"))}, "drift": [["a", "delete"]]},
        {"resources": {}, "drift": [["a", "delete"]]}],
}


def test_what_may_only_be_written_is_written_although_its_changes_are_ignored(alone):
    ignoring = {"ignoreChanges": ["token"]}
    changes = steps(thing("probe_thing", ignoring, token="t1", text="1"),
                    thing("probe_thing", ignoring, token="t1", text="2"))
    assert not alone.play("ignored", changes[:-1])
    made, = alone.backend.worlds["alone"].of("ignored-a-probe-thing").values()
    assert (made["text"], made["token"]) == ("2", "t1")
    assert not alone.play("ignored", changes[-1:])


def test_what_is_inside_of_a_block_stays_as_it_is_if_that_is_ignored(alone):
    def changed(word, *ignored):
        return thing("legacy_thing", {"ignoreChanges": list(ignored)} if ignored else {}, text=word,
                     single=[{"key": "k", "text": word, "size": 1}])

    changes = steps(changed("1"), changed("2", "single[0].text"), changed("3", "single.0.text"), changed("4"))
    for count, words in enumerate([("1", "1"), ("2", "1"), ("3", "1"), ("4", "4")], 1):
        assert not alone.play("inside", changes[:count])
        made, = alone.backend.worlds["alone"].of("inside-a-legacy-thing").values()
        assert (made["text"], made["single"][0]["text"]) == words
    assert not alone.play("inside", changes[-1:])


def asked(alone, name, do, resources):
    """The answer of our engine: {key: (action, message)}."""
    kinds = {key: one["kind"] for key, one in resources.items()}
    ids = {key: ours.id_of(kind, f"{name}-{key}") for key, kind in kinds.items()}
    address = alone.backend.address("alone")
    spec = [ours.resource({**one, "attributes": {**one["attributes"], "name": f"{name}-{key}"}}, f"{name}-{key}",
                          ids, address) for key, one in resources.items()]
    answer = alone.driver.ask(do, name, spec)
    assert not answer["error"], answer
    found = {one["id"]: (one["action"], (one["error"] or {}).get("message") or one.get("reason"))
             for one in answer["plan" if do == "plan" else "results"]}
    return {key: found[id] for key, id in ids.items()}


def test_the_plan_shows_which_object_it_takes_over(alone):
    """The name is the author's choice. What is sensitive is not shown."""
    address, name = alone.backend.address("alone"), "adopted"
    id = ours.id_of("probe_thing", name)
    one = {**thing(text="1"), "attributes": {"name": name, "text": "1"}}

    def reason(more=None, **asked):
        spec = [ours.resource(one, name, {}, address, more)]
        answer = alone.driver.ask("plan", "adopting", spec, **asked)
        shown, = answer["plan"]
        assert shown["action"] == "adopt", shown
        return shown["reason"]

    made = alone.driver.ask("apply", "adopted", [ours.resource(one, name, {}, address)], export=True)
    file, object = made["file"], next(found["result"]["id"] for found in made["state"] if found["id"] == id)
    assert object.startswith("thing/adopted/")
    assert reason({"kusionstack.io/import-id": object}) == f'takes over an existing object, id "{object}"'
    assert reason(**{"from": file}) == f"takes over probe_thing.adopted of Terraform's state, id \"{object}\""

    secret = json.loads(file)
    secret["resources"][0]["instances"][0]["sensitive_attributes"] = [[{"type": "get_attr", "value": "id"}]]
    assert reason(**{"from": json.dumps(secret)}) == "takes over probe_thing.adopted of Terraform's state"
    assert alone.driver.ask("apply", "adopted", [])["state"] == []


def refers_to(key, path="id", **more):
    """As kubernetes_manifest, it refuses what has no type."""
    return thing("probe_thing", any={"data": {"$": [key, path]}, **more}, fail_on=["untyped"])


def test_what_is_not_known_yet_has_the_type_of_what_it_refers_to(alone):
    resources = {"a": thing(), "b": refers_to("a", more=[{"made": {"$": ["a", "made_list"]}}])}
    planned = asked(alone, "typed", "plan", resources)
    assert planned == {"a": ("create", None), "b": ("create", None)}
    asked(alone, "typed", "apply", resources)
    made, = alone.backend.worlds["alone"].of("typed-b").values()
    assert "typed-a" in str(made["any"]), made
    assert asked(alone, "typed", "plan", resources)["b"] == ("unchanged", None)
    assert alone.driver.ask("apply", "typed", [])["state"] == []


def test_what_a_provider_refuses_without_its_type_is_planned_when_it_is_known(alone):
    """What refers to an attribute of any type has none."""
    resources = {"a": thing(), "b": refers_to("a"), "c": refers_to("b", "any.data")}
    planned = asked(alone, "untyped", "plan", resources)
    assert [planned[key][0] for key in "abc"] == ["create", "create", "deferred"], planned
    assert "it has no type" in planned["c"][1]
    asked(alone, "untyped", "apply", resources)
    made, = alone.backend.worlds["alone"].of("untyped-c").values()
    assert "untyped-a" in str(made["any"]), made
    assert alone.driver.ask("apply", "untyped", [])["state"] == []


@pytest.mark.parametrize("name, argument, path, says", [
    ("nothing", "text", "map", "attributes.text: must be a string, and what it refers to is an object of strings"),
    ("inside", "single.text", "list", "attributes.single.text: must be a string, and what it refers to is a list of "
                                      "strings"),
    ("unknown", "numbers", "id", "attributes.numbers: must be a list of numbers, and what it refers to is a string"),
])
def test_a_reference_to_what_can_never_become_the_argument_is_refused_without_a_value(alone, name, argument, path, says):
    """The value is null, or not known yet."""
    value = {"$": ["a", path]}
    for part in reversed(argument.split(".")[1:]):
        value = {"key": "k", part: value}
    resources = {"a": thing(), "b": thing("probe_thing", **{argument.split(".")[0]: value})}
    assert asked(alone, name, "plan", resources)["b"] == ("unknown", says)
    fits = {"a": thing(), "b": thing(numbers={"$": ["a", "count_of"]}, text={"$": ["a", "number"]})}
    fits["b"]["attributes"]["numbers"] = [fits["b"]["attributes"]["numbers"]]
    assert asked(alone, name, "plan", fits)["b"] == ("create", None)


@pytest.mark.parametrize("name", REGRESSIONS)
def test_what_once_found_something(alone, name):
    assert not alone.play(name, REGRESSIONS[name])


def test_objects_are_as_configured_and_none_is_lost(alone):
    for number in range(ALONE):
        assert not alone.play(f"c{number}", case(SEED, number)), f"seed {SEED}, case {number}"


def test_what_once_found_something_goes_as_in_opentofu(stage):
    found = dict(zip(REGRESSIONS, stage.play(list(REGRESSIONS.values()))))
    assert found == dict.fromkeys(REGRESSIONS, [])


def test_cases_go_as_in_opentofu(stage):
    cases = [case(SEED, number) for number in range(BESIDE)]
    told = [tell(stage, f"seed {SEED}, case {number}", one, found)
            for number, (one, found) in enumerate(zip(cases, stage.play(cases))) if found]
    assert not told, "\n".join(told)
