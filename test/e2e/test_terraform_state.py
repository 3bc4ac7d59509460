"""State files of Terraform: what OpenTofu has made is taken over, and what is written out OpenTofu
plans no change to. With OpenTofu's own back end in Kubernetes."""

import base64
import gzip
import json
import os
import time

import pytest

from kusion_e2e import tofu
from kusion_e2e.controller import Controller
from kusion_e2e.specs import config_map, resource
from kusion_e2e.states import open_text
from kusion_e2e.terraform import spec_of
from kusion_e2e.wait import eventually

OURS = {"probe": "kusion", "legacy": "kusion"}


@pytest.fixture(scope="module", autouse=True)
def needed():
    why_not = "the chart mounts no providers" if os.environ.get("KUSION_E2E_POD") else tofu.mirror()[1]
    if not why_not and not tofu.program():
        why_not = tofu.WHY_NOT
    if why_not:
        pytest.skip(why_not)


@pytest.fixture(scope="module")
def controller(state_namespace):
    controller = Controller(state_namespace, flags=tofu.flags())
    yield controller.wait_leading()
    assert controller.stop() == 0


@pytest.fixture(scope="module")
def backend():
    backend = tofu.Backend()
    yield backend
    backend.close()


@pytest.fixture
def world(backend, tenant):
    return backend.worlds[tenant]


@pytest.fixture
def spec(controller, tenant):
    with spec_of(controller.cluster, tenant) as spec:
        yield spec


@pytest.fixture
def module(tmp_path, backend, tenant):
    return tofu.Tofu(tmp_path / "module", backend.address(tenant))


# ---- The same resources for both ----


def id_of(kind, name):
    short = kind.split("_")[0]
    return f"{OURS.get(short, 'hashicorp')}:{short}:{kind}:{name}"


def terraform(kind, resource_name, address=None, extensions=None, **attributes):
    short = kind.split("_")[0]
    extensions = {"provider": f"{OURS.get(short, 'hashicorp')}/{short}", "resourceType": kind, **(extensions or {})}
    if short in OURS:
        extensions["providerMeta"] = {"address": address}
    return {"id": id_of(kind, resource_name), "type": "Terraform", "attributes": attributes, "extensions": extensions}


def at(address):
    return {"kusionstack.io/state-address": address}


SECRET = "correct-horse-battery-staple"
GENERATED = {"$": ["random_password", "db", "result"]}  # sensitive where nobody's schema says so

EVERYTHING = {
    "random_password": {"db": {"length": 20}},
    "random_pet": {"name": {"keepers": {"of": {"$": ["random_password", "db", "length"]}}}},
    "tls_private_key": {"key": {"algorithm": "ED25519"}},
    "tls_self_signed_cert": {"cert": {
        "private_key_pem": {"$": ["tls_private_key", "key", "private_key_pem"]}, "validity_period_hours": 24000,
        "allowed_uses": ["server_auth"], "subject": [{"common_name": "example.com"}]}},
    "time_static": {"since": {}},
    "time_sleep": {"moment": {"create_duration": "1ms"}},
    "probe_thing": {"all": {
        "name": "all", "text": "a text", "flag": True, "count_of": 3, "ratio": 0.1, "number": 1.5,
        "secret": SECRET, "any": {"a": [1, "b"]}, "list": ["b", GENERATED], "set": ["b", "a"],
        "map": {"k.1": GENERATED, "k": "v"}, "token": GENERATED, "token_version": "1",
        "deep": {"k": [["b", "a"]]}, "object": {"a": GENERATED, "b": 1, "c": True},
        "single": {"key": "k", "inner_list": [{"key": "i", "secret": SECRET, "text": GENERATED}]},
        "list_of": [{"key": "l"}, {"key": "l", "text": GENERATED}],
        "set_of": [{"key": "s2"}, {"key": "s1", "secret": SECRET}], "map_of": {"m": {"key": "k"}}}},
    "probe_blocks": {"all": {
        "name": "blocks", "text": "b", "list_block": [{"key": "k", "text": GENERATED, "inner_set": [{"key": "i"}]}],
        "plain_block": [{"key": "k2", "text": GENERATED}, {"key": "k1"}]}},
    "legacy_thing": {"all": {
        "name": "legacy", "text": GENERATED, "size": 3, "secret": SECRET, "single": [{"key": "k"}],
        "blocks": [{"key": "b"}, {"key": "a", "text": GENERATED}], "set": ["b", "a"],
        "timeouts": {"create": "10m"}}},
}


def render(value, refer):
    if isinstance(value, dict):
        return refer(*value["$"]) if set(value) == {"$"} else {key: render(one, refer) for key, one in value.items()}
    return [render(one, refer) for one in value] if isinstance(value, list) else value


def for_tofu(resources):
    return render(resources, lambda kind, name, path: f"${{{kind}.{name}.{path}}}")


def for_spec(resources, address):
    def refer(kind, name, path):
        return f"$kusion_path.{id_of(kind, name)}.{path}"

    return [terraform(kind, name, address, **render(attributes, refer))
            for kind, named in resources.items() for name, attributes in named.items()]


# ---- Secrets ----


def put_secret(spec, name, data):
    spec.cluster.apply(json.dumps({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": spec.namespace},
        "data": {key: base64.b64encode(value).decode() for key, value in data.items()}}))


def get_secret(spec, name):
    found = spec.cluster.api.get(f"/api/v1/namespaces/{spec.namespace}/secrets/{name}")
    return found.object if found.ok else None


def file_of(secret):
    return json.loads(gzip.decompress(base64.b64decode(secret["data"]["tfstate"])))


def source(name, **more):
    return {"from": {"secretRef": {"name": name, **more}}}


def target(name):
    return {"to": {"secretRef": {"name": name}}}


def last_results(spec):
    return {one["id"]: one for one in spec.releases()[-1]["status"]["results"]}


def failed(spec):
    return {one["id"]: one for one in spec.get()["status"]["resources"]["failed"]}


def written(spec, status, reason):
    def said():
        condition = spec.condition("TerraformStateWritten")
        assert condition and (condition["status"], condition["reason"]) == (status, reason), condition
        return condition

    return eventually(said)


# ---- In ----


def test_what_opentofu_made_is_taken_over_without_a_change(spec, module, world, backend, controller):
    module.configure(for_tofu(EVERYTHING)).apply()
    state, made = module.state(), list(world.log)
    spec.cluster.kubectl("create", "secret", "generic", "old", "-n", spec.namespace,
                         f"--from-file=tfstate={module.folder / 'terraform.tfstate'}")
    resources = for_spec(EVERYTHING, backend.address(spec.namespace))

    spec.apply(resources, terraformState=source("old"), suspend=True).wait("Unknown")
    spec.apply(resources, terraformState=source("old"), retryInterval="1s").wait("True")
    assert {id: one["action"] for id, one in last_results(spec).items()} == \
        {one["id"]: "adopt" for one in resources}
    assert world.log == made, "nothing was made, changed or deleted"

    # The values are those of the state, and are shown nowhere.
    password = next(one for one in json.loads(state)["resources"] if one["type"] == "random_password")
    password = password["instances"][0]["attributes"]["result"]
    resources = [*resources, resource({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": spec.namespace},
        "stringData": {"p": f"$kusion_path.{id_of('random_password', 'db')}.result"}})]
    spec.apply(resources).wait("True")
    assert base64.b64decode(get_secret(spec, "s")["data"]["p"]).decode() == password
    # The Spec itself has the one in clear; what was generated nobody has.
    said = open_text(spec.cluster, spec) + controller.log.read_text()
    assert password not in said and "PRIVATE KEY" not in said

    # The Secret means nothing any more, and may be gone.
    spec.cluster.api.delete(f"/api/v1/namespaces/{spec.namespace}/secrets/old").must()
    spec.apply(resources, terraformState=source("old"), interval="1s").wait("True")
    known = len(spec.releases())
    time.sleep(3)
    assert len(spec.releases()) == known and world.log == made


def test_modules_and_keys_by_their_addresses(spec, module):
    """And what Terraform's own back end wrote, gzipped."""
    module.module("sub", {"random_pet": {"p": {"count": 2, "length": 2}}})
    module.configure({"random_id": {"i": {"for_each": {"a b": "1", "c": "2"}, "byte_length": 4}}},
                     tofu.backend(spec.cluster, spec.namespace, "theirs"),
                     module={"m": {"source": "./sub", "for_each": {"x.y": "1"}}}).apply()
    ids = {one["type"]: [instance["attributes"]["id"] for instance in one["instances"]]
           for one in json.loads(module.state())["resources"]}
    spec.apply([
        terraform("random_pet", "p1", extensions=at('module.m["x.y"].random_pet.p[1]'), length=2),
        terraform("random_id", "i", extensions=at('random_id.i["a b"]'), byte_length=4),
        terraform("random_id", "new", byte_length=4),
        config_map("ids", spec.namespace, {"pet": f"$kusion_path.{id_of('random_pet', 'p1')}.id",
                                           "id": f"$kusion_path.{id_of('random_id', 'i')}.id"}),
    ], terraformState={**source("tfstate-default-theirs"), **target("tfstate-default-ours")}).wait("True")
    actions = {id: one["action"] for id, one in last_results(spec).items() if "random" in id}
    assert actions == {id_of("random_pet", "p1"): "adopt", id_of("random_id", "i"): "adopt",
                       id_of("random_id", "new"): "create"}
    found = spec.cluster.api.get(f"/api/v1/namespaces/{spec.namespace}/configmaps/ids").must().object["data"]
    assert found == {"pet": ids["random_pet"][1], "id": ids["random_id"][0]}

    # Out again, under the same addresses.
    file = file_of(get_secret(spec, "tfstate-default-ours"))
    assert [(one.get("module"), one["type"], one["name"], [i.get("index_key") for i in one["instances"]])
            for one in file["resources"]] == [
        (None, "random_id", "i", ["a b"]), (None, "random_id", "new", [None]),
        ('module.m["x.y"]', "random_pet", "p", [1])]


def test_what_cannot_be_taken_over_is_not_made_instead(spec, module, world, backend):
    """And does not hold up the others."""
    address = backend.address(spec.namespace)
    module.configure({"random_string": {"s": {"length": 8}, "many": {"count": 2, "length": 8}},
                      "probe_thing": {"gone": {"name": "gone"}, "other": {"name": "other", "zone": "r1"}}}).apply()
    module.run("taint", "random_string.s")
    del world.objects[next(iter(world.of("gone")))]
    put_secret(spec, "old", {"terraform.tfstate": module.state().encode()})
    made = list(world.log)
    spec.apply([
        config_map("a", spec.namespace),
        terraform("random_string", "s", length=8),
        terraform("random_string", "many", length=8),
        terraform("random_string", "absent", extensions=at("module.a.random_string.s"), length=8),
        terraform("probe_thing", "gone", address, name="gone"),
        terraform("probe_thing", "other", address, name="other", zone="r2"),
    ], terraformState=source("old", key="terraform.tfstate")).wait("False")
    said = {id.rpartition(":")[2]: (one["reason"], one["message"]) for id, one in failed(spec).items()}
    assert {reason for reason, _ in said.values()} == {"TakeoverFailed"}, said
    assert 'has random_string.s as "tainted"' in said["s"][1]
    assert "has random_string.many with these keys: [0], [1]: say which one" in said["many"][1]
    assert "Terraform's state has no module.a.random_string.s" in said["absent"][1]
    assert "the object of probe_thing.gone of Terraform's state does not exist any more" in said["gone"][1]
    assert "is not replaced when it is taken over: attributes.zone cannot be changed" in said["other"][1]
    assert world.log == made
    assert spec.cluster.api.get(f"/api/v1/namespaces/{spec.namespace}/configmaps/a").ok
    spec.delete()
    assert world.log == made


@pytest.mark.parametrize("data, words", [
    (None, 'there is no Secret "old" in namespace'),
    ({"a": b"{}"}, 'there is no key "tfstate" in Secret "old"'),
    ({"tfstate": b"no JSON, a secret"}, 'key "tfstate" of Secret "old": it is not JSON'),
    ({"tfstate": b'{"version": 3}'}, "it is a state file of version 3"),
    ({"tfstate": gzip.compress(b'{"version": 4}')[:-4]}, "is no whole gzip file"),
    ({"tfstate": gzip.compress(b"[" + b" " * (20 << 20) + b"]")}, "has more than 16 MiB when it is unpacked"),
])
def test_a_state_that_cannot_be_read_fails_what_may_need_it(spec, controller, data, words):
    if data:
        put_secret(spec, "old", data)
    spec.apply([config_map("a", spec.namespace), terraform("random_id", "i", byte_length=4)],
               terraformState=source("old"), retryInterval="1s").wait("False")
    one, = failed(spec).values()
    assert one["reason"] == "TakeoverFailed" and words in one["message"], one
    assert spec.cluster.api.get(f"/api/v1/namespaces/{spec.namespace}/configmaps/a").ok
    put_secret(spec, "old", {"tfstate": b'{"version": 4}'})
    spec.wait("True")


def test_the_state_is_read_with_the_rights_of_the_service_account(spec):
    spec.cluster.apply(json.dumps({"apiVersion": "v1", "kind": "ServiceAccount",
                                   "metadata": {"name": "nobody", "namespace": spec.namespace}}))
    put_secret(spec, "old", {"tfstate": b'{"version": 4}'})
    spec.apply([terraform("random_id", "i", byte_length=4)], serviceAccountName="nobody",
               terraformState={**source("old"), **target("tfstate-default-x")}).wait("False")
    one, = failed(spec).values()
    assert one["reason"] == "AccessDenied" and 'terraformState.from: secrets "old" is forbidden' in one["message"]
    spec.apply([terraform("random_id", "i", byte_length=4)], serviceAccountName="nobody",
               terraformState=target("tfstate-default-x")).wait("True")
    condition = written(spec, "False", "Forbidden")
    assert 'secrets "tfstate-default-x" is forbidden' in condition["message"]


# ---- Out ----


def test_opentofu_plans_no_change_to_what_is_written(spec, module, world, backend):
    """With its own back end. What comes out also goes in again."""
    resources = for_spec(EVERYTHING, backend.address(spec.namespace))
    spec.apply(resources, terraformState=target("tfstate-default-out")).wait("True")
    written(spec, "True", "Written")
    made = list(world.log)
    module.configure(for_tofu(EVERYTHING), tofu.backend(spec.cluster, spec.namespace, "out"))
    assert module.plan() is None

    # It is written where it has changed, and only then. (SDK v2 reads other nulls than it made.)
    spec.apply(resources, terraformState=target("tfstate-default-out"), interval="1s").wait("True")
    first = get_secret(spec, "tfstate-default-out")
    time.sleep(3)
    assert get_secret(spec, "tfstate-default-out")["metadata"]["resourceVersion"] == \
        first["metadata"]["resourceVersion"]
    assert world.log == made

    # Deleted as an orphan, the Spec leaves it: OpenTofu goes on.
    changed = json.loads(json.dumps(EVERYTHING))
    changed["probe_thing"]["all"]["text"] = "another"
    spec.apply(for_spec(changed, backend.address(spec.namespace)), deletionPolicy="Orphan",
               terraformState=target("tfstate-default-out")).wait("True")
    second = get_secret(spec, "tfstate-default-out")
    before, after = file_of(first), file_of(second)
    assert (before["lineage"], before["serial"] + 1) == (after["lineage"], after["serial"])
    spec.delete()
    assert get_secret(spec, "tfstate-default-out")["data"] == second["data"]
    module.configure(for_tofu(changed), tofu.backend(spec.cluster, spec.namespace, "out"))
    assert module.plan() is None

    # And back.
    spec.apply(for_spec(changed, backend.address(spec.namespace)), terraformState=source("tfstate-default-out"))
    spec.wait("True")
    assert {one["action"] for one in last_results(spec).values()} == {"adopt"}


def test_a_secret_of_others_is_left_alone(spec, module):
    made = [terraform("random_id", "i", byte_length=4)]
    put_secret(spec, "tfstate-default-x", {"tfstate": b"theirs"})
    spec.apply(made, terraformState=target("tfstate-default-x")).wait("True")
    condition = written(spec, "False", "TerraformStateNotOurs")
    assert "name another one, or delete it" in condition["message"]
    spec.wait_event("TerraformStateNotOurs", type="Warning")
    assert base64.b64decode(get_secret(spec, "tfstate-default-x")["data"]["tfstate"]) == b"theirs"

    # One that OpenTofu has written since is its own.
    spec.apply(made, terraformState=target("tfstate-default-y")).wait("True")
    written(spec, "True", "Written")
    module.configure({"random_id": {"i": {"byte_length": 4}, "j": {"byte_length": 4}}},
                     tofu.backend(spec.cluster, spec.namespace, "y")).apply()
    theirs = file_of(get_secret(spec, "tfstate-default-y"))
    assert len(theirs["resources"][0:2]) == 2
    spec.apply([*made, terraform("random_id", "k", byte_length=4)], terraformState=target("tfstate-default-y"),
               retryInterval="1s").wait("True")
    written(spec, "False", "TerraformStateChanged")
    assert file_of(get_secret(spec, "tfstate-default-y")) == theirs

    # Without the field there is no such condition.
    spec.apply(made).wait("True")
    assert spec.condition("TerraformStateWritten") is None


def test_the_lock_of_opentofu_is_waited_for(spec):
    made = [terraform("random_id", "i", byte_length=4)]
    fields = {"terraformState": target("tfstate-default-x"), "retryInterval": "1s"}
    spec.apply(made, **fields).wait("True")
    written(spec, "True", "Written")
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{spec.namespace}/leases/lock-tfstate-default-x"
    spec.cluster.apply(json.dumps({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "lock-tfstate-default-x", "namespace": spec.namespace},
        "spec": {"holderIdentity": "somebody"}}))
    spec.apply([*made, terraform("random_id", "j", byte_length=4)], **fields).wait("True")
    written(spec, "False", "TerraformStateLocked")
    spec.cluster.api.delete(lease).must()
    written(spec, "True", "Written")
    names = [one["name"] for one in file_of(get_secret(spec, "tfstate-default-x"))["resources"]]
    assert names == ["i", "j"]
