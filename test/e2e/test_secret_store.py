"""References to secrets of a store (`secretStore`, `ref://NAME/PROPERTY`): looked up as the Spec's own
ServiceAccount when a plan is made, and in no other place than the objects."""

import base64
import gzip
import json
import re

import pytest

from kusion_e2e.approved import Approved
from kusion_e2e.controller import STATE, Controller
from kusion_e2e.real_vault import PROGRAM, vault_of
from kusion_e2e.releases import preview
from kusion_e2e.rest import Rest
from kusion_e2e.rights import account
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.state_backend import need_objects
from kusion_e2e.states import GZIP, open_text
from kusion_e2e.vault import Vault
from kusion_e2e.wait import eventually


@pytest.fixture(scope="module")
def vault(state_namespace):
    vault = vault_of(state_namespace)
    yield vault
    vault.close()


@pytest.fixture(scope="module")
def rest():
    server = Rest()
    yield server
    server.close()


@pytest.fixture(scope="module")
def operator(state_namespace, vault, rest):
    operator = Controller(state_namespace, flags=[*vault.flags(), *rest.flags]).wait_leading()
    yield operator
    assert operator.stop() == 0


@pytest.fixture
def team(operator, vault, tenant):
    """A tenant whose account may read all of the store, which works."""
    vault.allow(tenant, account(tenant))
    vault.broken, vault.quotes, vault.may_look, vault.upgrading = None, False, True, False
    vault.requests.clear()
    yield tenant


@pytest.fixture
def spec(state_namespace, team):
    yield Spec(state_namespace, team)


def secret(namespace, name="s", **fields):
    return resource({"apiVersion": "v1", "kind": "Secret",
                     "metadata": {"name": name, "namespace": namespace}, **fields})


def data_of(spec, name="s"):
    found = spec.cluster.api.get(f"/api/v1/namespaces/{spec.namespace}/secrets/{name}").must().object
    return {key: base64.b64decode(value).decode() for key, value in found["data"].items()}


def b64(text):
    return base64.b64encode(text.encode()).decode()


def test_everywhere_a_reference_may_stand(spec, vault):
    vault.put("secret/team/db", password="hunter-canary-1", port=5432, tls={"ca": "x"})
    vault.put("secret/team/db", password="hunter-canary-2", user="web")
    ns = spec.namespace
    spec.apply([
        secret(ns, stringData={"plain": "ref://team/db/password", "kept": "no ref://team/db/password"},
               data={"kusion": b64("ref://team/db/user"), "plainer": "ref://secret/team/db/user"}),
        secret(ns, "old", stringData={"one": "ref://team/db/password?version=1",
                                      "number": "ref://team/db/port?version=1",
                                      "inner": "ref://team/db/tls.ca?version=1",
                                      "object": "ref://team/db/tls?version=1"}),
        config_map("refers", ns, {"it": f"$kusion_path.v1:Secret:{ns}:s.data.plain"}),
    ], secretStore=vault.store(ns))
    spec.wait("True")
    assert data_of(spec) == {"plain": "hunter-canary-2", "kept": "no ref://team/db/password",
                             "kusion": "web", "plainer": "web"}
    assert data_of(spec, "old") == {"one": "hunter-canary-1", "number": "5432", "inner": "x",
                                    "object": '{"ca":"x"}'}
    found = spec.cluster.api.get(f"/api/v1/namespaces/{ns}/configmaps/refers").must().object
    assert found["data"]["it"] == b64("hunter-canary-2")
    text = open_text(spec.cluster, spec)
    assert "hunter-canary" not in text and b64("hunter-canary-2") not in text
    spec.delete()


def kept(cluster):
    """All that the operator keeps in its namespace, Secrets included, as text."""
    found = []
    for kind in ("configmaps", "secrets"):
        for one in cluster.api.get(f"/api/v1/namespaces/{STATE}/{kind}").must().object["items"]:
            for part in [*one.get("binaryData", {}).values(), *one.get("data", {}).values()]:
                try:
                    part = base64.b64decode(part, validate=True)
                except ValueError:
                    part = part.encode()
                found.append((gzip.decompress(part) if part.startswith(GZIP) else part).decode(errors="replace"))
    return "\n".join(found)


def test_state_has_the_reference_the_version_and_a_digest(spec, vault):
    need_objects()
    vault.put("secret/db", password="hunter-canary-state")
    ns = spec.namespace
    spec.apply([secret(ns, stringData={"p": "ref://db/password"}),
                config_map("refers", ns, {"it": f"$kusion_path.v1:Secret:{ns}:s.data.p"})],
               secretStore=vault.store(ns))
    spec.wait("True")
    text = kept(spec.cluster)
    assert "hunter-canary" not in text and b64("hunter-canary-state") not in text
    assert re.search(r"secret:[0-9a-f]{32} 1 ref://db/password", text)
    assert re.search(r"secret64:[0-9a-f]{32} 1 ref://db/password", text)
    spec.delete()


def test_rotation_is_seen_by_the_version_alone(spec, vault):
    vault.put("secret/rot", password="hunter-first")
    ns = spec.namespace
    spec.apply([secret(ns, stringData={"p": "ref://rot/password"}),
                config_map("refers", ns, {"it": f"$kusion_path.v1:Secret:{ns}:s.data.p"}),
                config_map("other", ns)],
               secretStore=vault.store(ns), interval="1s")
    spec.wait("True")
    reads, looks = len(vault.reads()), len(vault.reads("metadata"))
    eventually(lambda: len(vault.reads("metadata")) > looks + 2)
    assert len(vault.reads()) == reads == 1
    assert len(spec.releases()) == 1
    vault.put("secret/rot", password="hunter-second")
    eventually(lambda: data_of(spec) == {"p": "hunter-second"})
    eventually(lambda: spec.cluster.api.get(f"/api/v1/namespaces/{ns}/configmaps/refers").must()
               .object["data"]["it"] == b64("hunter-second"))
    spec.wait("True")
    assert len(vault.reads()) == reads + 1
    assert len(spec.releases()) == 2
    release = eventually(lambda: next((one for one in spec.releases() if one.get("status", {}).get("revision") == 2 and
                                       one["status"]["phase"] == "succeeded"), None))
    results = {one["id"].split(":")[-1]: one for one in release["status"]["results"]}
    assert results["s"]["action"] == results["refers"]["action"] == "update"
    assert "ref://rot/password has version 2, and was applied in version 1" in results["s"]["message"]
    assert results.get("other", {}).get("action", "unchanged") == "unchanged"
    assert "hunter" not in open_text(spec.cluster, spec)
    spec.delete()


def test_without_the_right_to_look_it_is_read(spec, vault):
    keys = "abcdefgh"
    vault.put("secret/nolook", **dict.fromkeys(keys, "hunter-first"))
    vault.may_look = False
    logins = len(vault.seen_tokens)
    spec.apply([secret(spec.namespace, stringData={key: f"ref://nolook/{key}" for key in keys})],
               secretStore=vault.store(spec.namespace), interval="1s")
    spec.wait("True")
    vault.put("secret/nolook", **dict.fromkeys(keys, "hunter-second"))
    eventually(lambda: data_of(spec) == dict.fromkeys(keys, "hunter-second"))
    looks = eventually(lambda: len(vault.reads("metadata")) >= 3 * len(keys) and len(vault.reads("metadata")))
    assert 2 * (len(vault.seen_tokens) - logins) < looks  # not one for each that was refused
    spec.delete()


def test_a_store_that_is_down_holds_only_what_needs_it(spec, vault):
    vault.put("secret/down", password="hunter-down")
    ns = spec.namespace
    vault.broken, vault.quotes = 503, True
    spec.apply([secret(ns, stringData={"p": "ref://down/password"}), config_map("other", ns),
                config_map("refers", ns, {"it": f"$kusion_path.v1:Secret:{ns}:s.data.p"})],
               secretStore=vault.store(ns), timeout="1m", retryInterval="1s")
    eventually(lambda: spec.cluster.api.get(f"/api/v1/namespaces/{ns}/configmaps/other").ok)
    eventually(lambda: "answers 503" in (spec.condition() or {}).get("message", ""))
    assert spec.cluster.api.get(f"/api/v1/namespaces/{ns}/secrets/s").code == 404
    vault.broken = None
    spec.wait("True")
    assert data_of(spec) == {"p": "hunter-down"}
    vault.broken = 503  # and deletion needs none
    spec.delete()
    assert "hunter" not in open_text_of_events(spec)


@pytest.mark.skipif(bool(PROGRAM), reason="is over before anybody could ask")
def test_a_mount_that_makes_itself_ready_is_asked_again(spec, vault):
    vault.put("secret/upgraded", password="hunter-upgraded")
    vault.upgrading = True
    spec.apply([secret(spec.namespace, stringData={"p": "ref://upgraded/password"})],
               secretStore=vault.store(spec.namespace), timeout="1m")
    eventually(lambda: "makes this mount ready" in (spec.condition() or {}).get("message", ""))
    vault.upgrading = False
    spec.wait("True")
    assert data_of(spec) == {"p": "hunter-upgraded"}
    spec.delete()


def test_a_login_that_ends_at_once_is_made_anew(spec, vault):
    vault.put("secret/used", **{name: f"hunter-{name}" for name in "abc"})
    vault.allow(spec.namespace, account(spec.namespace), token_num_uses=1)
    logins = len(vault.seen_tokens)
    spec.apply([secret(spec.namespace, stringData={name: f"ref://used/{name}" for name in "abc"})],
               secretStore=vault.store(spec.namespace))
    spec.wait("True")
    assert data_of(spec) == {name: f"hunter-{name}" for name in "abc"}
    assert len(vault.seen_tokens) == logins + 3
    spec.delete()


def test_a_thing_that_a_secret_names_is_not_forgotten(spec, vault, rest):
    """By way of a Secret, where the Spec does not say so. State has no value, and cannot say where the thing is."""
    ns = spec.namespace
    vault.put("secret/names", name="hunter-name")
    rest.secret(spec.cluster, ns)
    named = secret(ns, stringData={"name": "ref://names/name"})
    thing = rest.placed("thing", x=f"$kusion_path.v1:Secret:{ns}:s.data.name")
    for request in ("read", "create", "update", "delete"):
        thing["extensions"][request]["path"] = "/named/{/x}"
    fields = {"secretStore": vault.store(ns), "timeout": "10s", "retryInterval": "1s"}
    spec.apply([named, thing], **fields).wait("True")
    there, = rest.things()
    spec.apply([named], **fields)
    ready = spec.wait("False")
    assert ready["reason"] == "CannotBeFound" and "State does not keep" in ready["message"], ready
    spec.apply([named, thing], **fields, deletionPolicy="Orphan").wait("True")
    assert list(rest.things()) == [there]
    spec.delete()
    rest.delete(there)


def open_text_of_events(spec):
    return json.dumps([spec.events(), spec.releases()])


@pytest.mark.parametrize("reference, reason, said", [
    ("ref://none/password", "SecretNotFound", 'the secret "none" is not there'),
    ("ref://some/other", "SecretNotFound", 'the secret "some" has no property "other"'),
    ("ref://some/password?version=9", "SecretNotFound", "not in this version"),
    ("ref://some/empty", "SecretNotFound", "is empty"),
    ("ref://foreign/password", "SecretDenied", "refuses it (403)"),
])
def test_what_is_not_there_is_an_error(spec, vault, reference, reason, said):
    vault.put("secret/some", password="hunter-some", empty="")
    vault.put("secret/foreign", password="hunter-foreign")
    vault.quotes = True
    vault.allow(spec.namespace, account(spec.namespace), "secret/some", "secret/none")
    spec.apply([secret(spec.namespace, stringData={"p": reference})],
               secretStore=vault.store(spec.namespace))
    ready = spec.wait("False")
    assert ready["reason"] == reason and said in ready["message"], ready
    assert "hunter" not in open_text(spec.cluster, spec)
    assert spec.cluster.api.get(f"/api/v1/namespaces/{spec.namespace}/secrets/s").code == 404
    spec.delete()


def test_nobody_gets_the_role_of_another_account(spec, vault):
    vault.put("secret/theirs", password="hunter-theirs")
    vault.allow("theirs", "system:serviceaccount:other:default")
    spec.apply([secret(spec.namespace, stringData={"p": "ref://theirs/password"})],
               secretStore=vault.store("theirs"))
    ready = spec.wait("False")
    assert ready["reason"] == "SecretDenied", ready
    spec.apply([secret(spec.namespace, stringData={"p": "ref://theirs/password"})],
               secretStore=vault.store("no-such-role"))
    assert "does not know the role" in spec.wait("False")["message"]
    spec.delete()


def test_a_preview_looks_nothing_up_and_says_so(spec, vault):
    vault.put("secret/pre", password="hunter-preview")
    ns = spec.namespace
    resources = [secret(ns, stringData={"p": "ref://pre/password"})]
    spec.apply(resources, secretStore=vault.store(ns))
    spec.wait("True")
    vault.requests.clear()
    for name, fields in (("as-it-is", {}), ("own", {"resources": resources})):
        release = preview(spec.cluster, ns, "spec", name, **fields)
        assert release["status"]["phase"] == "succeeded", release["status"]
        assert "not looked up for a preview" in json.dumps(release["status"]), release["status"]
        assert "hunter" not in json.dumps(release)
    assert not vault.requests
    spec.delete()


def test_a_preview_of_a_spec_that_is_not_there_needs_no_store(spec):
    """A Release has no secretStore, and a Preview asks none."""
    ns = spec.namespace
    resources = [secret(ns, stringData={"p": "ref://pre/password"})]
    release = preview(spec.cluster, ns, "none-yet", "first", resources=resources)
    assert release["status"]["phase"] == "succeeded", release["status"]
    assert release["status"]["plan"]["create"] == 1
    assert "not looked up for a preview" in json.dumps(release["status"]), release["status"]


def test_a_rotation_voids_an_approval_and_says_why(state_namespace, vault, team):
    vault.put("secret/app", password="hunter-first")
    spec = Approved(state_namespace, team)
    spec.apply([secret(team, stringData={"p": "ref://app/password"})], secretStore=vault.store(team))
    release = spec.waiting(create=1)
    vault.put("secret/app", password="hunter-second")
    spec.approve(release)
    eventually(lambda: any("a secret that it refers to has another version" in json.dumps(one["status"])
                           for one in spec.releases()), seconds=20)
    assert state_namespace.api.get(f"/api/v1/namespaces/{team}/secrets/s").code == 404
    release = eventually(lambda: spec.releases()[-1]["metadata"]["name"] != release["metadata"]["name"]
                         and spec.waiting(create=1))
    spec.approve(release)
    spec.wait("True")
    assert data_of(spec) == {"p": "hunter-second"}
    assert "hunter" not in open_text(state_namespace, spec)
    spec.delete()


def test_a_host_that_no_flag_names_is_not_asked(spec, vault):
    other = Vault(spec.cluster)
    try:
        for server, said in ((other.address, "--secret-store-host"), ("http://169.254.169.254", "--secret-store-host"),
                             (vault.address.replace("127.0.0.1", "localhost"), "--secret-store-host"),
                             ("http://user@127.0.0.1", "without a user"), ("file:///etc/passwd", "InvalidAddress")):
            store = vault.store(spec.namespace)
            store["provider"]["vault"]["server"] = server
            spec.apply([secret(spec.namespace, stringData={"p": "ref://db/password"})], secretStore=store)
            ready = spec.wait("False")
            assert said in ready["message"] or said in ready["reason"], ready
        assert not other.requests and not other.seen_tokens
    finally:
        other.close()
    spec.delete()


def test_what_a_spec_may_not_say(spec, vault):
    ns = spec.namespace
    store = vault.store(ns)
    for resources, fields, said in (
            ([secret(ns, stringData={"p": "ref://db/password"})], {}, "the Spec has no secretStore"),
            ([secret(ns, stringData={"p": "ref://db/../x"})], {"secretStore": store}, "is no reference"),
            ([secret(ns, stringData={"p": "ref://db/p?x=1"})], {"secretStore": store}, "?version=V"),
            ([], {"secretStore": {"provider": {"vault": {"server": "https://v"}}}}, "secretStore.auth.role"),
            ([], {"secretStore": {"provider": {"onpremises": {}}}}, "not supported by this version")):
        spec.apply(resources, **fields)
        assert said in spec.wait("False")["message"], said
    spec.delete()
