"""What is secret of Terraform resources is in Secrets, in the provider's process, and nowhere else.

Each place that may hold a secret has one of its own that can be found again (kusion_e2e.canary). The
provider is a careless one: with "quote" in fail_on it says all that it was told in warnings, in errors, on
stdout and on stderr. Then all that was written is searched."""

import base64
import gzip
import json

import pytest

from kusion_e2e.approved import Approved
from kusion_e2e.kinds import create, new_release, path_of
from kusion_e2e.long import takes_long
from kusion_e2e.releases import plan_of
from kusion_e2e.searched import Search, searched_operator
from kusion_e2e.specs import Spec, resource
from kusion_e2e.states import states
from kusion_e2e.terraform import need_providers, new_backend, thing, thing_id, things_flags
from kusion_e2e.wait import eventually

AUTOMATIC = {"approval": {"mode": "Automatic"}}


@pytest.fixture(scope="module", autouse=True)
def providers():
    need_providers("test")


@pytest.fixture(scope="module")
def operator(state_namespace, tmp_path_factory):
    made = searched_operator(state_namespace, tmp_path_factory.mktemp("t"), things_flags())
    yield made
    assert made.stop() == 0


@pytest.fixture
def backend():
    made = new_backend()
    yield made
    made.close()


# ---- What is planted ----


def nested(plant, where, depth=1):
    """Members of a nested attribute or block of both providers."""
    made = {"key": "k", "text": "t", "secret": plant(where)}
    if depth:
        made["inner_list"] = [nested(plant, f"{where}.inner_list", 0)]
        made["inner_set"] = [nested(plant, f"{where}.inner_set", 0)]
    return made


def planted(plant, tenant, backend, note, fail_on=("quote",), **more):
    """Resources, with secrets that were not there before. note: which ones."""
    def new(where):
        return plant(f"{note} {where}")

    names = ("text", "token", "provider", "any", "list", "map", "set")
    keys = {key: plant.data(f"{note} Secret {key}") for key in names}
    of_secret = {key: f"$kusion_path.v1:Secret:{tenant}:keys.data.{key}" for key in keys}
    address, meta = backend.address("w"), {"token": of_secret["provider"]}
    plain = {"key": "k", "secret": new("plain_set")}
    common = {"fail_on": list(fail_on), **more}
    return [
        resource({"apiVersion": "v1", "kind": "Secret", "data": keys,
                  "metadata": {"name": "keys", "namespace": tenant}}),
        thing("probe_thing", "t", address, meta=meta, secret=new("secret"), token=of_secret["token"],
              text=of_secret["text"], any={"a": [of_secret["any"]]}, list=["a", of_secret["list"]],
              map={"a": of_secret["map"]}, set=["a", of_secret["set"]],
              single=nested(new, "single"), list_of=[nested(new, "list_of")], set_of=[nested(new, "set_of")],
              map_of={"a": nested(new, "map_of")}, plain_set=[plain], **common),
        thing("probe_blocks", "b", address, meta=meta, list_block=[nested(new, "list_block")],
              set_block=[nested(new, "set_block")], plain_block=[plain],
              single_block={"secret": new("single_block")}, fail_on=list(fail_on)),
        thing("legacy_thing", "l", address, secret=new("legacy"), token=of_secret["token"],
              single=[nested(new, "legacy single")], blocks=[nested(new, "legacy blocks")],
              sets=[nested(new, "legacy sets")], **common),
    ]


@pytest.fixture
def search(operator, tenant):
    return Search(operator, tenant)


# ---- The tests ----


def test_the_search_finds_what_is_there(search, operator, tenant):
    word = search.canaries("a")
    operator.cluster.api.create(f"/api/v1/namespaces/{tenant}/configmaps", {
        "metadata": {"name": "c"}, "binaryData": {"a": base64.b64encode(gzip.compress(word.encode())).decode()}}).must()
    with pytest.raises(AssertionError, match="ConfigMap c"):
        search.now()


def put_secret(cluster, tenant, name, **data):
    cluster.apply(json.dumps({"apiVersion": "v1", "kind": "Secret", "stringData": data,
                              "metadata": {"name": name, "namespace": tenant}}))


def ended(cluster, tenant, release):
    path = path_of("Release", tenant, release["metadata"]["name"])
    return eventually(lambda: cluster.api.get(path).must().object.get("status", {}).get("phase")
                      in ("succeeded", "failed"))


def test_a_whole_life(search, operator, tenant, backend):
    cluster, plant = operator.cluster, search.canaries
    put_secret(cluster, tenant, "cloud", ACME_KEY=plant("contextFrom"))
    fields = {"contextFrom": [{"secretRef": {"name": "cloud"}}], "retryInterval": "1s"}
    spec = Approved(cluster, tenant)

    first = planted(plant, tenant, backend, "first")
    spec.apply(first, **fields)
    release = spec.waiting()
    search.now()
    spec.approve(release, unseen=True)  # what has a canary's text is not shown
    spec.wait("True")
    search.now()

    spec.apply(planted(plant, tenant, backend, "updated"), **fields)
    release = spec.waiting()
    plan_of(cluster, tenant, spec.name)
    search.now()
    spec.approve(release, unseen=True)
    spec.wait("True")
    search.now()

    fields |= AUTOMATIC
    spec.apply(planted(plant, tenant, backend, "replaced", zone="b"), **fields).wait("True")
    search.now()
    for moment in ("plan", "update", "update_half", "read"):
        spec.apply(planted(plant, tenant, backend, moment, ["quote", moment], zone="b"), **fields)
        spec.wait("False" if moment != "read" else "True")
        search.now()
    spec.apply(planted(plant, tenant, backend, "read again", ["quote"], zone="b"), **fields).wait("False")
    search.now()
    cluster.api.patch(spec.path, {"spec": {"deletionPolicy": "Orphan"}}).must()  # it cannot be read
    spec.delete()
    search.now()


@takes_long
def test_a_creation_that_fails(search, operator, tenant, backend):
    cluster, plant = operator.cluster, search.canaries
    put_secret(cluster, tenant, "cloud", ACME_KEY=plant("contextFrom"))
    fields = {"contextFrom": [{"secretRef": {"name": "cloud"}}], "retryInterval": "1s"}
    spec = Spec(cluster, tenant)
    for moment in ("create", "create_half"):
        spec.apply(planted(plant, tenant, backend, moment, ["quote", moment]), **fields).wait("False")
        search.now()
    spec.apply(planted(plant, tenant, backend, "delete", ["quote", "delete"]), **fields).wait("True")
    for one in [one for one in backend.worlds["w"].objects.values() if "secret" in one]:
        one["secret"] = plant(f"drift {one['name']}")
    spec.apply(planted(plant, tenant, backend, "after drift", ["quote", "delete"]), **fields).wait("True")
    search.now()
    made = create(cluster, tenant, new_release("back", operation="Rollback", toRevision=3,
                                               specRef={"name": spec.name})).must().object
    ended(cluster, tenant, made)
    search.now()
    spec.apply([], **fields).wait("False")
    search.now()
    spec.apply(planted(plant, tenant, backend, "last"), **fields).wait("True")
    spec.delete()
    search.now()
    assert not backend.worlds["w"].objects and not states(cluster, tenant)


def test_what_cannot_be_configured_or_taken_over(search, operator, tenant, backend):
    cluster, plant = operator.cluster, search.canaries
    put_secret(cluster, tenant, "cloud", ACME_KEY=plant("contextFrom"))
    keys = {"t": plant.data("token"), "id": plant.data("import id")}
    secret = resource({"apiVersion": "v1", "kind": "Secret", "data": keys,
                       "metadata": {"name": "keys", "namespace": tenant}})
    address = backend.address("w")
    of_secret = f"$kusion_path.v1:Secret:{tenant}:keys.data."
    spec = Spec(cluster, tenant).apply([
        secret,
        thing("probe_thing", "unconfigured", "none", meta={"token": of_secret + "t"}),
        thing("probe_thing", "absent", address, {"kusionstack.io/import-id": of_secret + "id"}),
    ], contextFrom=[{"secretRef": {"name": "cloud"}}], retryInterval="1s")
    spec.wait("False")
    failed = {one["id"]: one["reason"] for one in spec.get()["status"]["resources"]["failed"]}
    assert failed[thing_id("probe_thing", "absent")] == "ImportFailed", failed
    assert set(failed) == {thing_id("probe_thing", "absent"), thing_id("probe_thing", "unconfigured")}
    search.now()
    spec.delete()
    search.now()
