"""Terraform's data sources, as resources that are only read, and resources that get another id: by the
providers of test/provider."""

import json
import time

import pytest

from kusion_e2e.approved import Approved
from kusion_e2e.controller import Controller
from kusion_e2e.releases import plan_of
from kusion_e2e.specs import config_map, resource
from kusion_e2e.states import open_text
from kusion_e2e.terraform import flags, need_providers, new_backend, spec_of
from kusion_e2e.wait import eventually

UNKNOWN = "(known after apply)"
PLACE = "thing/by-hand/1"
DEFECT = ("\nthis is a defect of the provider: use another version of it (extensions.provider), and tell its "
          "authors")


@pytest.fixture(scope="module", autouse=True)
def providers():
    need_providers("test")


@pytest.fixture(scope="module")
def controller(state_namespace):
    controller = Controller(state_namespace, flags=flags("kusion/probe", "kusion/legacy", which=("test",)))
    yield controller.wait_leading()
    assert controller.stop() == 0


class World:
    """What the providers see: an object that was made by hand, and what the Spec makes."""

    def __init__(self, server, name):
        self.address = server.address(name)
        self.objects = server.worlds[name].objects
        self.objects[PLACE] = {"name": "by-hand", "text": "first", "secret": "correct-horse-battery",
                               "serial": 7, "size": 3}

    def id(self, kind, name):
        return f"kusion:{kind.removeprefix('data.').split('_')[0]}:{kind}:{name}"

    def resource(self, kind, name, /, depends_on=(), extensions=None, **attributes):
        made = {"id": self.id(kind, name), "type": "Terraform", "attributes": attributes,
                "extensions": {"providerMeta": {"address": self.address}, **(extensions or {})}}
        if depends_on:
            made["dependsOn"] = list(depends_on)
        return made

    def found(self, name="d", /, **more):
        return self.resource("data.probe_found", name, **{"id": PLACE, **more})

    def thing(self, name, /, **more):
        return self.resource("probe_thing", name, name=name, **more)

    def reference(self, kind, name, path):
        return f"$kusion_path.{self.id(kind, name)}.{path}"

    def of_found(self, path, name="d"):
        return self.reference("data.probe_found", name, path)


@pytest.fixture(scope="module")
def server():
    server = new_backend()
    yield server
    server.close()


@pytest.fixture
def world(server, tenant):
    return World(server, tenant)


@pytest.fixture
def spec(controller, tenant):
    with spec_of(controller.cluster, tenant) as spec:
        yield spec


def data_of(spec, name="a"):
    return spec.cluster.api.get(f"/api/v1/namespaces/{spec.namespace}/configmaps/{name}").must().object["data"]


def results(spec):
    return {one["id"]: one for one in spec.releases()[-1].get("status", {}).get("results", [])}


def actions(spec):
    return {id: one["action"] for id, one in results(spec).items()}


def failed(spec):
    return {one["id"]: (one["reason"], one["message"]) for one in spec.get()["status"]["resources"]["failed"]}


def field(result, path):
    one, = [one for one in result["fields"] if one["path"] == path]
    return one


def secret_of(spec, **data):
    return resource({"apiVersion": "v1", "kind": "Secret",
                     "metadata": {"name": "s", "namespace": spec.namespace}, "stringData": data})


def test_values_for_others_of_both_platforms(spec, world, controller):
    legacy = world.resource("data.legacy_found", "l", of=PLACE)
    made = [world.found(field=[{"name": "serial"}]), legacy,
            config_map("a", spec.namespace, {"text": world.of_found("text"),
                                             "nested": world.of_found("inner.text"),
                                             "block": world.of_found("field[0].value"),
                                             "legacy": world.reference("data.legacy_found", "l", "inner[0].text")}),
            secret_of(spec, password=world.of_found("inner.secret")),
            world.thing("t", secret=world.of_found("secret"), list=[world.of_found("label")])]
    spec.apply(made, interval="1s").wait("True")
    assert data_of(spec) == {"text": "first", "nested": "first", "block": "7", "legacy": "first"}
    assert world.objects["thing/t/1"]["secret"] == "correct-horse-battery"
    assert world.objects["thing/t/1"]["list"] == ["by-hand"]
    assert actions(spec)[world.id("data.probe_found", "d")] == "unchanged"
    assert "correct-horse" not in open_text(spec.cluster, spec) + controller.log.read_text()
    assert not any("data." in one["id"] for one in spec.get()["status"]["inventory"]["entries"])

    # It reads what nobody has: no Release. It reads what others have: theirs.
    known = len(spec.releases())
    world.objects[PLACE]["size"] = 4
    time.sleep(3)
    assert len(spec.releases()) == known
    world.objects[PLACE]["text"] = "second"
    eventually(lambda: data_of(spec)["text"] == data_of(spec)["legacy"] == "second")
    eventually(lambda: actions(spec).get(f"v1:ConfigMap:{spec.namespace}:a") == "update")  # Ready stays True meanwhile
    assert known < len(spec.releases()) <= known + 2, "two data sources, which one plan may read before and after"

    spec.delete()
    assert list(world.objects) == [PLACE], "it is not deleted"


def test_read_when_its_turn_comes(spec, world):
    """What it is asked by is known after another is made; or the other is to change first."""
    def made(text, depends_on=()):
        return [world.thing("t", text=text),
                world.found(id=world.reference("probe_thing", "t", "id"), depends_on=depends_on),
                config_map("a", spec.namespace, {"text": world.of_found("text")})]

    data, after = world.id("data.probe_found", "d"), [world.id("probe_thing", "t")]
    spec.apply(made("one"), suspend=True).wait("Unknown")
    shown = plan_of(spec.cluster, spec.namespace, spec.name)[data]
    assert (shown["action"], shown["message"]) == ("read", "it is read when its attributes are known")
    assert {field(shown, path)["to"] for path in ("id", "text", "inner", "serial")} == {UNKNOWN}
    assert field(shown, "secret")["to"] == "(sensitive)"
    spec.apply(made("one")).wait("True")
    assert spec.releases()[-1]["status"]["plan"]["read"] == 1
    assert actions(spec)[data] == "read" and data_of(spec) == {"text": "one"}
    assert "1 read" in spec.condition()["message"], spec.condition()

    spec.apply(made("two", after)).wait("True")
    assert actions(spec)[data] == "read" and data_of(spec) == {"text": "two"}
    spec.apply(made("two", after), interval="1h").wait("True")
    assert set(actions(spec).values()) == {"unchanged"}


def test_what_is_wrong_is_named(spec, world):
    mistakes = {
        "absent": (dict(id="thing/no/1"), "ProviderError",
                   "attributes.id: there is no such object: thing/no/1"),
        "name": (dict(labell="x"), "InvalidAttribute",
                 'attributes.labell: there is no such argument; is "label" meant?'),
        "computed": (dict(text="x"), "InvalidAttribute",
                     "attributes.text: cannot be set: the provider computes it"),
        "nested": (dict(field=[{}]), "InvalidAttribute", "attributes.field[0].name: is required"),
        "fails": (dict(fail_on=["read"]), "ProviderError", 'the back end: fail_on has "read"'),
        "unknown": (dict(fail_on=["unknown"]), "ProviderFailed",
                    "the provider left values unknown that it has to have read" + DEFECT),
        "null": (dict(fail_on=["null"]), "ProviderFailed",
                 "the provider answered without an error, and without having read anything" + DEFECT),
    }
    spec.apply([world.found(name, **wrong) for name, (wrong, *_) in mistakes.items()])
    spec.wait("False")
    assert failed(spec) == {world.id("data.probe_found", name): tuple(said)
                            for name, (_, *said) in mistakes.items()}
    nothing = [world.resource("data.probe_thing", "t", name="t")]
    spec.apply(nothing).wait("False")
    assert failed(spec)[nothing[0]["id"]] == \
        ("UnknownResourceType", "extensions.resourceType: the provider kusion/probe 1.0.0 has no data source "
         'of the type "probe_thing"; is "probe_thing" meant?')
    spec.apply([world.found(extensions={"lifecycle": {"preventDestroy": True}})]).wait("False")
    assert "(resources[0].extensions.lifecycle): means nothing for a data source" \
        in spec.condition()["message"]


def test_a_slow_one_ends_with_the_timeout_of_the_spec(spec, world):
    started = time.monotonic()
    spec.apply([world.found(delay="60s"), config_map("a", spec.namespace)], timeout="2s").wait("False")
    assert time.monotonic() - started < 30
    assert "Timeout" in json.dumps(spec.get()["status"]["resources"]["failed"])
    spec.apply([world.found(delay="1s"), config_map("a", spec.namespace)], timeout="20s").wait("True")


def test_an_id_of_what_was_made_is_refused(spec, world):
    thing = world.thing("t")
    spec.apply([thing]).wait("True")
    spec.apply([{**world.found(), "id": thing["id"],
                 "extensions": {**thing["extensions"], "resourceType": "data.probe_found"}}]).wait("False")
    assert "a data source cannot have the id of an object" in failed(spec)[thing["id"]][1]
    assert "thing/t/1" in world.objects


def test_a_provider_that_is_configured_by_what_was_read(spec, world):
    """It is deleted with what State has, also if that cannot be read any more."""
    world.objects[PLACE]["text"] = world.address
    by_it = {"providerMeta": {"address": world.of_found("text")}}
    spec.apply([world.found(), world.thing("t", extensions=by_it)]).wait("True")
    assert "thing/t/1" in world.objects
    del world.objects[PLACE]
    spec.delete()
    assert not world.objects


def configured_later(spec, world):
    """What configures the provider of the thing is read in the apply, after the ConfigMap is made."""
    world.objects[PLACE]["text"] = world.address
    first = config_map("a", spec.namespace)
    return [first, world.found(depends_on=[first["id"]]),
            world.thing("t", extensions={"providerMeta": {"address": world.of_found("text")}}),
            config_map("b", spec.namespace, {"id": world.reference("probe_thing", "t", "id")})]


def test_a_provider_that_is_configured_in_the_apply_is_asked_in_the_same_one(spec, world):
    spec.apply(configured_later(spec, world)).wait("True")
    assert data_of(spec, "b") == {"id": "thing/t/1"} and "thing/t/1" in world.objects
    release, = spec.releases()
    assert (release["status"]["phase"], actions(spec)[world.id("probe_thing", "t")]) == ("succeeded", "create")


def test_what_is_planned_in_the_apply_needs_an_approval_of_its_own(controller, world, tenant):
    spec = Approved(controller.cluster, tenant)
    try:
        spec.apply(configured_later(spec, world))
        spec.approve(spec.waiting(create=2))
        release = spec.waiting(create=2, unchanged=2)
        assert "thing/t/1" not in world.objects
        assert actions(spec)[world.id("probe_thing", "t")] == "create"
        spec.approve(release)
        spec.wait("True")
        assert data_of(spec, "b") == {"id": "thing/t/1"}
    finally:
        spec.delete()


def test_an_approval_is_of_what_was_read(controller, world, tenant):
    spec = Approved(controller.cluster, tenant)
    try:
        made = [world.found(), config_map("a", tenant, {"text": world.of_found("text")})]
        spec.apply(made)
        release = spec.waiting(create=1)
        world.objects[PLACE]["text"] = "second"
        spec.approve(release)
        eventually(lambda: spec.phases() == ["cancelled", "awaitingApproval"])
        stale = spec.releases()[0]["status"]
        assert [one["reason"] for one in stale["conditions"] if one["type"] == "Ready"] == ["PlanStale"]
        spec.approve(spec.waiting(create=1))
        spec.wait("True")
        assert data_of(spec) == {"text": "second"}
    finally:
        spec.delete()


def test_it_is_forgotten_when_it_leaves(spec, world):
    spec.apply([world.found(), config_map("a", spec.namespace)]).wait("True")
    data = world.id("data.probe_found", "d")
    assert data in spec.state()
    spec.apply([config_map("a", spec.namespace)]).wait("True")
    assert (results(spec)[data]["action"], results(spec)[data]["message"]) == \
        ("forget", "it is not read any more")
    assert PLACE in world.objects and data not in spec.state()


# ---- Another id ----


def moved_from(id):
    return {"kusionstack.io/moved-from": id}


def test_another_id_keeps_the_object(spec, world):
    def made(name, kind="probe_thing", text="one", **more):
        thing = world.resource(kind, name, name="t", text=text, **more)
        return [thing, config_map("a", spec.namespace, {"id": world.reference(kind, name, "id")})]

    def extensions(old):
        return {"providerMeta": {"address": world.address}, **moved_from(old)}

    old, new = world.id("probe_thing", "old"), world.id("probe_thing", "new")
    spec.apply(made("old")).wait("True")
    spec.apply(made("new", extensions=extensions(old)), suspend=True)
    shown = plan_of(spec.cluster, spec.namespace, spec.name)
    assert (shown[new]["action"], shown[new]["message"]) == ("unchanged", f"moved from {old}")
    assert old not in shown and old in spec.state(), "a Preview moves nothing"
    spec.apply(made("new", extensions=extensions(old))).wait("True")
    assert (results(spec)[new]["action"], results(spec)[new]["message"]) == ("unchanged", f"moved from {old}")
    assert new in spec.state() and old not in spec.state()
    spec.apply(made("new", text="two", extensions=extensions(old))).wait("True")
    assert results(spec)[new]["action"] == "update" and "message" not in results(spec)[new]

    other = world.id("probe_renamed", "other")
    spec.apply(made("other", "probe_renamed", "two", extensions=extensions(new))).wait("True")
    assert results(spec)[other]["message"] == f"moved from {new}"
    assert data_of(spec) == {"id": "thing/t/1"} and set(world.objects) == {PLACE, "thing/t/1"}
    spec.apply(made("blocks", "probe_blocks", extensions=extensions(other))).wait("False")
    assert failed(spec)[world.id("probe_blocks", "blocks")][0] == "MoveFailed"
    assert other in spec.state() and "thing/t/1" in world.objects
    spec.delete()
    assert set(world.objects) == {PLACE}


def test_another_id_needs_no_approval_alone(controller, world, tenant):
    spec = Approved(controller.cluster, tenant)
    try:
        old = world.thing("old")
        spec.apply([old])
        spec.approve(spec.waiting(create=1))
        spec.wait("True")
        new = world.resource("probe_thing", "new", name="old")
        new["extensions"].update(moved_from(old["id"]))
        spec.apply([new]).wait("True")
        assert new["id"] in spec.state()
        changed = {**new, "id": world.id("probe_thing", "newer"), "attributes": {"name": "old", "text": "a"}}
        changed["extensions"] = {**changed["extensions"], **moved_from(new["id"])}
        spec.apply([changed])
        release = spec.waiting(update=1)
        assert new["id"] in spec.state()
        spec.approve(release)
        spec.wait("True")
        assert set(world.objects) == {PLACE, "thing/old/1"} and world.objects["thing/old/1"]["text"] == "a"
    finally:
        spec.delete()


def test_an_object_of_kubernetes_gets_no_other_id(spec):
    moved = config_map("a", spec.namespace)
    moved["extensions"] = moved_from(f"v1:ConfigMap:{spec.namespace}:b")
    spec.apply([moved]).wait("False")
    assert "(resources[0].extensions[kusionstack.io/moved-from]): a Kubernetes object cannot get another " \
        "name" in spec.condition()["message"]
