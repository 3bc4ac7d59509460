"""Resources of type HTTP: what goes wrong with their requests, and their credentials."""

import json
import re
import time

import pytest

from kusion_e2e.controller import Controller
from kusion_e2e.rest import SECRET, TOKEN, Rest, reference, thing_id
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.states import open_text, states
from kusion_e2e.wait import eventually

LATE = 90  # seconds: a request that was not answered counts as one that may come for 60


@pytest.fixture(scope="module")
def rest():
    server = Rest()
    yield server
    server.close()


@pytest.fixture(scope="module")
def controller(state_namespace, rest):
    controller = Controller(state_namespace, flags=rest.flags)
    yield controller.wait_leading()
    assert controller.stop() == 0


@pytest.fixture
def spec(controller, rest, tenant):
    rest.forget_log()
    rest.secret(controller.cluster, tenant)
    spec = Spec(controller.cluster, tenant)
    yield spec
    for name in rest.faults():
        rest.fault(name, None)
    try:
        if spec.get():
            spec.delete()
    finally:
        left = rest.things()
        rest.made.clear()
    assert not left and not states(controller.cluster, tenant)


def results(spec):
    return {one["id"]: one for one in spec.releases()[-1]["status"]["results"]}


def message_of(spec, name):
    one, = [one for one in spec.get()["status"]["resources"]["failed"] if one["id"] == thing_id(name)]
    return one["message"]


def names(rest):
    return sorted(one["name"] for one in rest.things().values())


# ---- Faults ----


def test_nothing_is_made_twice_and_nothing_forgotten_whatever_becomes_of_an_answer(spec, rest):
    faults = ["lost", "late", "failed", "nothing", "refused"]
    made = {f"{kind}-{fault}": fault for kind in ("found", "placed", "blind") for fault in faults}
    made["placed-twice"] = "twice"
    for name, fault in made.items():
        rest.fault(name, fault)

    def resources(**more):
        return [{"found": rest.found, "placed": rest.placed, "blind": rest.thing}[name.split("-")[0]](
            name, x="1", **more) for name in made]

    every = resources()
    for one in every:
        one["extensions"]["create"]["timeout"] = "2s"
    spec.apply(every, retryInterval="2s", timeout="20s")
    spec.wait("False", 60)
    for name, fault in made.items():
        if fault in ("nothing", "refused", "failed"):
            rest.fault(name, None)
    held = {f"blind-{fault}" for fault in ("lost", "late", "failed", "nothing")}

    def settled():
        status = spec.get()["status"]
        failed = {one["id"] for one in status["resources"]["failed"]}
        assert failed == {thing_id(name) for name in held}, (failed, spec.condition())
        return spec.condition()["status"] == "False"

    eventually(settled, 4 * LATE)  # what fails is tried at longer and longer intervals
    there = set(made) - {"blind-nothing"}
    assert names(rest) == sorted(there)  # each of them once
    ids = {one["name"]: one["id"] for one in rest.things().values()}
    for one in every:
        name = one["extensions"]["parameters"]["name"]
        if name in held and name in ids:
            one["extensions"]["kusionstack.io/import-id"] = ids[name]
        elif name in held:
            said, = re.findall(r"not-created\]? to (\d+)|\(revision (\d+)\)", message_of(spec, name))[:1]
            one["extensions"]["kusionstack.io/not-created"] = int("".join(said))
    for name in made:
        rest.fault(name, None)
    spec.apply(every, retryInterval="2s", timeout="20s").wait("True")
    assert {one["name"]: one["id"] for one in rest.things().values() if one["name"] in ids} == ids
    assert names(rest) == sorted(made)
    spec.delete()
    assert names(rest) == []


def test_an_update_changes_what_was_planned_or_is_planned_again(spec, rest):
    spec.apply([rest.thing("a", x="1")]).wait("True")
    rest.forget_log()
    spec.apply([rest.thing("a", x="2")]).wait("True")
    sent = [headers.get("If-Match") for method, _, headers, _ in rest.requests if method == "PUT"]
    assert sent == [f'"{rest.only("a")["id"]}-1"'], rest.requests


def test_a_failing_update_is_tried_to_its_end(spec, rest):
    spec.apply([rest.thing("a", x="1", y="1")]).wait("True")
    rest.fault("a", "half")
    spec.apply([rest.thing("a", x="2", y="2")], retryInterval="2s", timeout="5s")
    assert "changed in part" in spec.wait("False")["message"]
    assert rest.only("a")["attributes"] == {"x": "2", "y": "1"}
    rest.fault("a", None)
    spec.wait("True")
    assert rest.only("a")["attributes"] == {"x": "2", "y": "2"}


# ---- Life ----


def test_what_is_there_already_is_left_alone_or_taken_over(spec, rest):
    other = rest.new("theirs", {"x": "0"})
    spec.apply([rest.placed("theirs", x="1")], retryInterval="2s")
    ready = spec.wait("False")
    assert ready["reason"] == "ConflictDetected" and "import-id" in ready["message"], ready
    assert rest.only("theirs")["attributes"] == {"x": "0"}
    mine = rest.placed("theirs", x="1")
    mine["extensions"]["kusionstack.io/import-id"] = "theirs"
    spec.apply([mine]).wait("True")
    assert results(spec)[thing_id("theirs")]["action"] == "adopt"
    assert rest.only("theirs")["attributes"] == {"x": "1"} and rest.only("theirs")["id"] == other["id"]


def test_an_import_id_is_that_of_what_is_found(spec, rest):
    """Else a request would go to the thing that the id names, with what was planned for that of the name."""
    found, other = rest.new("theirs", {"name": "theirs", "x": "0"}), rest.new("other", {"x": "0"})
    mine = rest.found("theirs", x="1")
    for wrong in (other["id"], "theirs"):
        mine["extensions"]["kusionstack.io/import-id"] = wrong
        spec.apply([mine], retryInterval="2s")
        eventually(lambda: spec.condition() and spec.condition()["reason"] == "ImportFailed")
        assert f'has the id "{found["id"]}"' in spec.condition()["message"]
    assert rest.only("theirs")["attributes"]["x"] == rest.only("other")["attributes"]["x"] == "0"
    mine["extensions"]["kusionstack.io/import-id"] = found["id"]
    spec.apply([mine]).wait("True")
    assert rest.only("theirs")["attributes"]["x"] == "1" and rest.only("theirs")["id"] == found["id"]
    rest.delete(other["id"])


def test_one_that_is_looked_for_in_another_way_stays(spec, rest):
    """By its id, then by its name in a list: the id says that it is the same."""
    mine = rest.thing("a", x="1")
    mine["attributes"]["name"] = "a"
    spec.apply([mine]).wait("True")
    before = rest.only("a")["id"]
    for x in ("1", "2"):
        listed = rest.found("a", x=x)
        spec.apply([listed]).wait("True")
        assert rest.only("a")["id"] == before and rest.only("a")["attributes"]["x"] == x
    # And one of that name which somebody else has made is not taken for it.
    other = {**rest.thing("b", x="2"), "id": thing_id("other")}
    other["attributes"]["name"] = "b"
    theirs = rest.new("b", {"name": "b", "x": "0"})
    spec.apply([listed, other]).wait("True")
    named = {**rest.found("b", x="2"), "id": thing_id("other")}
    with rest.lock:
        ours, = [one for one in rest.things().values() if one["name"] == "b" and one["id"] != theirs["id"]]
        rest.made[ours["id"]]["name"] = "c"
    spec.apply([listed, named], retryInterval="2s")
    assert spec.wait("False")["reason"] == "ConflictDetected"
    rest.delete(theirs["id"])


def test_another_one_of_the_same_name_is_not_ours(spec, rest):
    """Somebody deletes it, and makes one of that name."""
    spec.apply([rest.found("a", x="1")], interval="2s", retryInterval="2s").wait("True")
    rest.delete(rest.only("a")["id"])
    theirs = rest.new("a", {"name": "a", "x": "0"})["id"]
    ready = spec.wait("False")
    assert ready["reason"] == "ConflictDetected" and "not the thing that State has" in ready["message"], ready
    spec.apply([config_map("book", spec.namespace)]).wait("True")
    assert rest.only("a")["id"] == theirs and rest.only("a")["attributes"]["x"] == "0"
    mine = rest.found("a", x="1")
    mine["extensions"]["kusionstack.io/import-id"] = theirs
    spec.apply([mine]).wait("True")
    assert rest.only("a")["id"] == theirs and rest.only("a")["attributes"]["x"] == "1"


def test_what_waits_waits_and_what_failed_fails(spec, rest):
    rest.changed["a"] = {"status": "pending"}
    waiting = rest.thing("a")
    waiting["extensions"]["wait"] = {"pointer": "/status", "ready": ["ready"], "failed": ["error"]}
    spec.apply([waiting, config_map("book", spec.namespace, {"a": reference("a", "address")})],
               retryInterval="2s")
    eventually(lambda: "status is pending" in (spec.condition() or {}).get("message", ""))
    assert spec.cluster.get_json("configmap", "book", "-n", spec.namespace) is None
    with rest.lock:
        rest.made[rest.only("a")["id"]]["status"] = "error"
    assert "status is error" in spec.wait("False")["message"]
    with rest.lock:
        rest.made[rest.only("a")["id"]]["status"] = "ready"
    spec.wait("True")


def test_an_attribute_that_leaves_and_one_that_renames(spec, rest):
    spec.apply([rest.placed("a", x="1", y="1")]).wait("True")
    before = rest.only("a")["id"]
    spec.apply([rest.thing("other")]).wait("True")
    assert names(rest) == ["other"]
    renamed = rest.placed("b", x="1")
    renamed["id"] = thing_id("a")
    first = rest.placed("a", x="1")
    spec.apply([first]).wait("True")
    spec.apply([renamed]).wait("True")
    assert names(rest) == ["b"] and rest.only("b")["id"] != before
    assert results(spec)[thing_id("a")]["action"] == "replace"


def test_rollback_and_destroy(spec, rest):
    spec.apply([rest.thing("a", x="1")]).wait("True")
    spec.apply([rest.thing("a", x="2")]).wait("True")
    release = {"apiVersion": "api.kusion.io/v1", "kind": "Release",
               "metadata": {"name": "back", "namespace": spec.namespace},
               "spec": {"specRef": {"name": "spec"}, "operation": "Rollback", "toRevision": 1}}
    spec.cluster.apply(json.dumps(release))
    eventually(lambda: rest.only("a")["attributes"] == {"x": "1"})


def test_drift_is_changed_back(spec, rest):
    spec.apply([rest.thing("a", x="1")], interval="2s").wait("True")
    with rest.lock:
        rest.made[rest.only("a")["id"]]["attributes"]["x"] = "theirs"
    eventually(lambda: rest.only("a")["attributes"] == {"x": "1"})


# ---- Credentials ----


def test_credentials_are_waited_for_and_told_nobody(controller, rest, tenant):
    cluster = controller.cluster
    spec = Spec(cluster, tenant)
    spec.apply([rest.thing("a")], retryInterval="2s")
    ready = spec.wait("False")
    assert ready["reason"] == "SecretNotFound" and f'"{SECRET}"' in ready["message"], ready
    rest.secret(cluster, tenant, token="wrong-token-that-is-quoted")
    eventually(lambda: spec.condition()["reason"] == "CredentialsRefused")
    ready = spec.condition()
    assert "status 401" in ready["message"] and "wrong-token" not in ready["message"], ready
    rest.secret(cluster, tenant)
    spec.wait("True")
    text = open_text(cluster, spec) + controller.log.read_text()
    assert TOKEN not in text and "wrong-token" not in text
    spec.delete()
    assert not rest.things()


def test_a_secret_that_the_server_quotes_is_told_nobody(controller, rest, spec):
    password, cluster = "hunter2-that-is-quoted", spec.cluster
    rest.changed = {"db": {"address": f"https://me:{password}@db"}, "keyed": {"index": {password: True}}}
    spec.apply([rest.thing(name, password=password) for name in ("db", "keyed", "plain")] + [
        config_map("quoting", spec.namespace, {"db": reference("db", "address"), "keyed": reference("keyed", "id"),
                                               "plain": reference("plain", "address")})]).wait("True")
    rest.changed = {}
    data = cluster.api.get(f"/api/v1/namespaces/{spec.namespace}/configmaps/quoting").must().object["data"]
    assert data["db"] == f"https://me:{password}@db" and data["keyed"] == rest.only("keyed")["id"]
    text = open_text(cluster, spec) + controller.log.read_text()
    assert password not in text, text
    assert rest.only("plain")["address"] in text


def test_they_are_read_as_the_specs_account(controller, rest, state_namespace):
    """A ServiceAccount without rights gets no Secret, though the operator may read it."""
    cluster = state_namespace
    namespace = cluster.new_namespace("poor")
    try:
        rest.secret(cluster, namespace)
        spec = Spec(cluster, namespace)
        spec.apply([rest.thing("a")])
        ready = spec.wait("False")
        assert ready["reason"] == "AccessDenied" and "secrets" in ready["message"], ready
        assert not rest.things()
        spec.delete()
    finally:
        cluster.delete_namespace(namespace)


def test_a_preview_with_resources_of_its_own_gets_none(spec, rest):
    spec.apply([rest.thing("a", x="1")]).wait("True")
    rest.forget_log()
    release = {"apiVersion": "api.kusion.io/v1", "kind": "Release",
               "metadata": {"name": "look", "namespace": spec.namespace},
               "spec": {"specRef": {"name": "spec"}, "operation": "Preview",
                        "resources": [rest.thing("a", x="2"), rest.thing("b")]}}
    spec.cluster.apply(json.dumps(release))
    path = f"/apis/api.kusion.io/v1/namespaces/{spec.namespace}/releases/look"

    def ended():
        status = spec.cluster.api.get(path).must().object.get("status", {})
        return status if status.get("phase") in ("succeeded", "failed") else None

    status = eventually(ended)
    assert "gets no credentials" in json.dumps(status), status
    assert not rest.requests
    time.sleep(0.1)
