"""`resourcesFrom`: resources from ConfigMaps and Secrets, and docs/large-specs.md as it stands there."""

import base64
import gzip
import hashlib
import json
import re
import time

import pytest

from kusion_e2e.long import sampled
from kusion_e2e.paths import ROOT
from kusion_e2e.requested import Requested
from kusion_e2e.rights import account, wait_until_may
from kusion_e2e.pages import snippets
from kusion_e2e.shell import type_in
from kusion_e2e.specs import config_map
from kusion_e2e.wait import eventually

KEY = "all"


def manifest(name, namespace, level="1"):
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}}}\ndata: {{level: '{level}'}}\n"


def stream(*texts):
    return "".join(f"---\n{text}" for text in texts)


def ref(name, kind="ConfigMap", **more):
    return {"kind": kind, "name": name, "key": KEY, **more}


class Sourced(Requested):
    """A Spec, and its sources."""

    def put(self, name, content, kind="ConfigMap"):
        """Makes the source, or gives it that content: text, or bytes."""
        body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": self.namespace}}
        if kind == "ConfigMap" and isinstance(content, str):
            body["data"] = {KEY: content}
        else:
            raw = content.encode() if isinstance(content, str) else content
            body["data" if kind == "Secret" else "binaryData"] = {KEY: base64.b64encode(raw).decode()}
        answer = self.cluster.api.apply(self.object_path(name, kind), json.dumps(body)).must()
        return answer.object["metadata"]

    def object_path(self, name, kind="ConfigMap"):
        return f"/api/v1/namespaces/{self.namespace}/{kind.lower()}s/{name}"

    def level(self, name):
        answer = self.cluster.api.get(self.object_path(name))
        return answer.object["data"]["level"] if answer.ok else None

    def wait_level(self, name, level):
        def is_so():
            assert self.level(name) == level, (self.level(name), self.get()["status"])
            return True

        eventually(is_so)

    def take(self, *sources, resources=(), **fields):
        return self.apply(list(resources), resourcesFrom=list(sources), **fields)

    def message(self, reason):
        def said():
            ready = self.condition()
            assert ready and ready["status"] == "False" and ready["reason"] == reason, ready
            return ready["message"]

        return eventually(said)


@pytest.fixture
def spec(controlled, tenant):
    yield Sourced(controlled, tenant)


def two(spec, level="1"):
    return stream(manifest("a", spec.namespace, level), manifest("b", spec.namespace, level))


def test_resources_of_all_sources_are_one_graph(spec):
    space = spec.namespace
    kusion = {"resources": [config_map("c", space, {"level": "3"}, depends_on=[f"v1:ConfigMap:{space}:a"])]}
    spec.put("plain", two(spec))
    spec.put("packed", gzip.compress(json.dumps(kusion).encode()))
    spec.put("hidden", json.dumps({"apiVersion": "v1", "kind": "List", "items": [
        config_map("d", space, {"level": "4"})["attributes"]]}), kind="Secret")
    spec.take(ref("plain"), ref("packed"), ref("hidden", "Secret"),
              resources=[config_map("own", space, {"level": "$kusion_path.v1:ConfigMap:" + space + ":d.data.level"})])
    assert spec.wait("True")["message"] == "revision 1: 5 created"
    assert {name: spec.level(name) for name in ("a", "b", "c", "d", "own")} == {
        "a": "1", "b": "1", "c": "3", "d": "4", "own": "4"}


def both_that_succeeded(spec):
    records = [one["status"] for one in spec.records()]
    return records if [one.get("phase") for one in records] == ["succeeded"] * 2 else None


def test_a_change_is_applied_at_once_and_recorded(spec):
    first = spec.put("one", two(spec))
    spec.take(ref("one"), interval="1h").wait("True")
    second = spec.put("one", stream(manifest("a", spec.namespace, "2")))
    spec.wait_level("a", "2")
    eventually(lambda: spec.level("b") is None)
    spec.wait("True")
    records = eventually(lambda: both_that_succeeded(spec))
    assert [one["sources"][0]["resourceVersion"] for one in records] == [
        first["resourceVersion"], second["resourceVersion"]]
    assert records[1]["sources"] == [{
        "kind": "ConfigMap", "name": "one", "key": KEY, "uid": second["uid"],
        "resourceVersion": second["resourceVersion"],
        "digest": "sha256:" + hashlib.sha256(stream(manifest("a", spec.namespace, "2")).encode()).hexdigest()}]
    spec.cluster.api.patch(spec.object_path("one"), {"metadata": {"labels": {"seen": "yes"}}}).must()  # not its content
    time.sleep(2)
    assert len(spec.records()) == 2


# What becomes of the source of a Spec that was applied; the reason, and words of the message.
def broken(space):
    whole = stream(manifest("a", space, "2"), manifest("b", space, "2"))
    packed = gzip.compress(whole.encode())
    return {
        "gone": (None, "SourceNotFound", 'resourcesFrom[0]: ConfigMap "one", key "all": there is no such ConfigMap'),
        "empty": ("", "InvalidSource", "has no document"),
        "cut YAML": (stream(manifest("a", space)) + "---\napiVersion: v1\nkind: {", "InvalidSource", "line 9, column 1"),
        "cut gzip": (packed[:-9], "InvalidSource", "cut or damaged"),
        "gzip and more": (packed + b"x", "InvalidSource", "something follows"),
        "cut JSON": ('{"resources": [', "InvalidSource", "line 1"),
        "an id twice": (stream(manifest("a", space), manifest("a", space, "2")), "InvalidSource",
                        'line 6: the resource "v1:ConfigMap:' + space + ':a" is there twice; the first one: '
                        'resourcesFrom[0]: ConfigMap "one", key "all", line 1'),
        "a hash that YAML takes for a number": (
            stream(manifest("a", space)) + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: h, namespace: "
            + space + "}\ndata: {hash: 0e0967014998816}\n", "InvalidSource", "quote it"),
        "a Spec": ("apiVersion: api.kusion.io/v1\nkind: Spec\nmetadata: {name: a}\nspec: {resources: []}\n",
                   "InvalidSource", "is no resource"),
        "neither": ("a: 1\n", "InvalidSource", "neither an object of Kubernetes"),
        "a resource with an unknown field": (
            "resources:\n- {id: x, type: Kubernetes, depends_on: []}\n", "InvalidSource", 'unknown field "depends_on"'),
        "a bomb": (gzip.compress(b" " * (33 << 20)), "TooLarge", "unzipped, it has more than 32 MiB"),
        "many values": (gzip.compress(b"[" + b"1," * (8 << 20) + b"1]"), "TooLarge", "--operation-memory"),
    }


@pytest.mark.parametrize("row", broken("x"))
@sampled
def test_a_bad_source_changes_and_prunes_nothing(spec, row):
    content, reason, words = broken(spec.namespace)[row]
    spec.put("one", two(spec))
    spec.take(ref("one")).wait("True")
    if content is None:
        spec.cluster.api.delete(spec.object_path("one")).must()
    else:
        spec.cluster.api.delete(spec.object_path("one")).must()  # from data to binaryData
        spec.put("one", content)
    message = spec.message(reason)
    assert words in message, message
    assert (spec.level("a"), spec.level("b")) == ("1", "1")
    spec.cluster.api.delete(spec.object_path("one"))
    spec.put("one", two(spec))
    spec.wait("True")
    assert len(spec.records()) == 1


def test_an_id_in_two_sources_names_both(spec):
    spec.put("one", two(spec))
    spec.put("two", stream(manifest("b", spec.namespace)))
    spec.take(ref("one"), ref("two"))
    message = spec.message("InvalidSource")
    assert 'resourcesFrom[1]: ConfigMap "two", key "all", line 1' in message
    assert 'resourcesFrom[0]: ConfigMap "one", key "all", line 6' in message
    assert spec.level("a") is None


def test_a_missing_key_and_another_digest(spec):
    spec.put("one", two(spec))
    spec.take({**ref("one"), "key": "other"})
    assert "it has no such key" in spec.message("SourceNotFound")
    wanted = two(spec, "2")
    spec.take(ref("one", digest="sha256:" + hashlib.sha256(wanted.encode()).hexdigest()))
    assert "not the one that the Spec wants" in spec.message("SourceDigest")
    spec.put("one", wanted)
    spec.wait("True")
    assert spec.level("a") == "2"


def test_half_a_change_is_not_applied(spec):
    spec.put("one", two(spec))
    spec.put("two", stream(manifest("c", spec.namespace)))
    spec.take(ref("one"), ref("two")).wait("True")
    uid = spec.cluster.api.get(spec.object_path("b")).object["metadata"]["uid"]
    spec.put("one", stream(manifest("a", spec.namespace, "2")))
    time.sleep(0.5)
    spec.put("two", stream(manifest("b", spec.namespace, "2"), manifest("c", spec.namespace, "2")))
    spec.wait_level("c", "2")
    spec.wait("True")
    assert spec.cluster.api.get(spec.object_path("b")).object["metadata"]["uid"] == uid  # it moved
    assert len(spec.records()) == 2


def test_rollback_has_the_resources_of_the_revision(spec):
    spec.put("one", two(spec))
    spec.take(ref("one")).wait("True")
    spec.put("one", stream(manifest("a", spec.namespace, "2")))
    spec.wait_level("a", "2")
    spec.wait("True")
    spec.wait_request(spec.request("Rollback"))
    assert (spec.level("a"), spec.level("b")) == ("1", "1")
    spec.put("one", stream(manifest("a", spec.namespace, "3")))  # ends it
    spec.wait_level("a", "3")
    spec.wait("True")


def test_an_approved_plan_is_of_one_content(spec):
    spec.put("one", two(spec))
    spec.take(ref("one"), approval={"mode": "Manual"})
    waiting = eventually(spec.waiting_record)
    spec.put("one", two(spec, "2"))

    def shown_anew():
        one = spec.waiting_record()
        assert one["metadata"]["name"] != waiting["metadata"]["name"], one["status"]
        return one

    other = eventually(shown_anew)
    assert [one["status"]["phase"] for one in spec.records()] == ["cancelled", "awaitingApproval"]
    assert spec.level("a") is None
    spec.approve(other)
    spec.wait_level("a", "2")
    spec.wait("True")


def test_a_preview_is_of_the_sources_as_they_are(spec):
    spec.put("one", two(spec))
    spec.take(ref("one"), suspend=True)
    release = spec.wait_request(spec.request("Preview"))
    assert release["status"]["plan"]["create"] == 2 and len(release["status"]["sources"]) == 1
    own = [config_map("p", spec.namespace)]
    release = spec.wait_request(spec.request("Preview", resources=own))
    assert release["status"]["plan"]["create"] == 1 and "sources" not in release["status"]


def test_what_a_secret_has_is_not_shown(spec):
    secret = "hunter2-hunter2"
    spec.put("hidden", stream(manifest("a", spec.namespace, secret)), kind="Secret")
    spec.take(ref("hidden", "Secret"), approval={"mode": "Manual"})
    waiting = eventually(spec.waiting_record)
    assert "(sensitive)" in json.dumps(waiting) and secret not in json.dumps(waiting)
    assert "digest" not in waiting["status"]["sources"][0]
    spec.approve(waiting)
    spec.wait_level("a", secret)
    spec.put("hidden", "a: " + secret + ": [", kind="Secret")
    message = spec.message("InvalidSource")
    assert "line 1" in message and secret not in message
    every = spec.cluster.api.get("/api/v1/configmaps").must().object["items"]
    shown = [one for one in every if one["metadata"]["namespace"] != spec.namespace]
    assert secret not in json.dumps(shown)


def test_a_tenant_reads_nothing_that_its_account_may_not(controlled):
    """The operator may read all Secrets, as it keeps State in some."""
    spec = Sourced(controlled, controlled.new_namespace("poor"))
    spec.put("hidden", stream(manifest("a", spec.namespace)), kind="Secret")
    controlled.kubectl("create", "role", "poor", "-n", spec.namespace, "--verb=*", "--resource=configmaps")
    controlled.kubectl("create", "rolebinding", "poor", "-n", spec.namespace, "--role=poor",
                       f"--serviceaccount={spec.namespace}:default")
    wait_until_may(controlled, account(spec.namespace), "get", "configmaps", spec.namespace)
    spec.take(ref("hidden", "Secret"))
    there = spec.message("AccessDenied")
    spec.take(ref("absent", "Secret"))
    absent = spec.message("AccessDenied")
    assert there.replace("hidden", "absent") == absent  # nor whether it is there
    assert spec.level("a") is None
    [offered] = re.findall("to allow it: (.*)", there)
    assert type_in(controlled, offered).returncode == 0
    spec.take(ref("hidden", "Secret")).wait("True")
    controlled.delete_namespace(spec.namespace)


def test_without_the_right_to_watch_it_is_seen_at_the_interval(controlled):
    spec = Sourced(controlled, controlled.new_namespace("poor"))
    spec.put("one", stream(manifest("a", spec.namespace)))
    controlled.kubectl("create", "role", "poor", "-n", spec.namespace, "--verb=get,create,patch,delete",
                       "--resource=configmaps")
    controlled.kubectl("create", "rolebinding", "poor", "-n", spec.namespace, "--role=poor",
                       f"--serviceaccount={spec.namespace}:default")
    wait_until_may(controlled, account(spec.namespace), "get", "configmaps", spec.namespace)
    spec.take(ref("one"), interval="10s").wait("True")
    spec.put("one", stream(manifest("a", spec.namespace, "2")))
    spec.wait_level("a", "2")
    controlled.delete_namespace(spec.namespace)


def test_the_page(spec, tmp_path):
    page = (ROOT / "docs" / "large-specs.md").read_text()
    [command] = snippets("large-specs.md", __file__)
    [text] = re.findall(r"```yaml\n(apiVersion.*?)```", page, re.DOTALL)
    (tmp_path / "shop").mkdir()
    for name in "ab":
        (tmp_path / "shop" / f"{name}.yaml").write_text(manifest(name, spec.namespace))
    done = type_in(spec.cluster, "set -e\n" + command.replace("team-a", spec.namespace), tmp_path)
    assert done.returncode == 0, done.stderr
    assert "serviceAccountName: deployer" in text, "as in examples/team-a.yaml, and wherever a Spec is shown"
    spec.cluster.apply(text.replace("team-a", spec.namespace).replace("deployer", "default"))
    shop = Sourced(spec.cluster, spec.namespace, "shop")
    shop.generation = 1
    assert shop.wait("True")["message"] == "revision 1: 2 created"


def test_the_example(spec):
    text = (ROOT / "examples" / "large.yaml").read_text().replace("team-a", spec.namespace)
    spec.cluster.apply(text.replace("serviceAccountName: deployer", "serviceAccountName: default"))
    shop = Sourced(spec.cluster, spec.namespace, "shop")
    shop.generation = 1
    assert shop.wait("True")["message"] == "revision 1: 2 created"
