"""Values of a secret store are in the objects, in a provider's process, and (of Terraform resources) in the
Secrets of State; nowhere else, through a whole life, whatever goes wrong. The store, the API server and the
provider quote them where they can."""

import base64

import pytest

from kusion_e2e import state_backend
from kusion_e2e.approved import Approved
from kusion_e2e.controller import STATE
from kusion_e2e.kinds import create, new_release
from kusion_e2e.releases import ask, preview
from kusion_e2e.rest import Rest
from kusion_e2e.rights import account
from kusion_e2e.searched import Search, inflated, leaks, searched_operator
from kusion_e2e.specs import config_map, resource
from kusion_e2e.terraform import need_providers, new_backend, thing, things_flags
from kusion_e2e.vault import Vault
from kusion_e2e.wait import eventually

AUTOMATIC = {"approval": {"mode": "Automatic"}}


@pytest.fixture(scope="module", autouse=True)
def providers():
    need_providers("test")


@pytest.fixture(scope="module")
def vault(state_namespace):
    vault = Vault(state_namespace)
    vault.quotes = True
    yield vault
    vault.close()


@pytest.fixture(scope="module")
def rest():
    server = Rest()
    yield server
    server.close()


@pytest.fixture(scope="module")
def operator(state_namespace, vault, rest, tmp_path_factory):
    made = searched_operator(state_namespace, tmp_path_factory.mktemp("t"),
                             [*things_flags(), *vault.flags(), *rest.flags])
    yield made
    assert made.stop() == 0


@pytest.fixture
def backend():
    made = new_backend()
    yield made
    made.close()


@pytest.fixture
def spec(state_namespace, operator, vault, tenant):
    vault.allow(tenant, account(tenant))
    vault.broken = None
    yield Approved(state_namespace, tenant)


class Life(Search):
    """Of a Spec whose values are canaries, which are other ones after each rotation."""

    def __init__(self, operator, vault, spec):
        super().__init__(operator, spec.namespace)
        self.vault, self.spec, self.n = vault, spec, 0
        self.name = f"team-{spec.namespace}"

    def rotate(self, *keys):
        self.n += 1
        self.vault.put(f"secret/{self.name}", **{key: self.canaries(f"{key} {self.n}") for key in keys})

    def ref(self, key):
        return f"ref://{self.name}/{key}"

    def store(self):
        return self.vault.store(self.spec.namespace)

    def accounts_tokens(self):
        """The tokens that the store got are no canaries, and secrets all the same."""
        log = self.operator.logged()
        assert not [token for token in self.vault.seen_tokens if token in log]
        assert not [token for token in self.vault.tokens if token in log]

    def kept_in_secrets(self):
        """What State's Secrets have of this Spec's canaries."""
        found = self.spec.cluster.api.get(f"/api/v1/namespaces/{STATE}/secrets").must().object["items"]
        text = "".join(inflated(base64.b64decode(part)) for one in found for part in one.get("data", {}).values())
        return [name for name, one in self.canaries.all.items() if one.is_in(text)]


def objects(life, bad_label=False):
    ns = life.spec.namespace
    label = {"labels": {"quoted": life.ref("password")}} if bad_label else {}
    return [
        resource({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": ns},
                  "stringData": {"a": life.ref("password"), "whole": f"ref://{life.name}"},
                  "data": {"b": base64.b64encode(life.ref("user").encode()).decode()}}),
        resource({"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "t", "namespace": ns},
                  "template": {"spec": {"containers": [{"name": "c", "image": "i", "env": [
                      {"name": "P", "value": life.ref("password")},
                      {"name": "Q", "value": f"$kusion_path.v1:Secret:{ns}:s.data.b"}]}]}}}),
        config_map("c", ns, {"it": life.ref("user")}),
        resource({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"},
                  "metadata": {"name": "labelled", "namespace": ns, **label}}),
    ]


class KubernetesLife(Life):
    def now(self):
        self.found |= {one for one in leaks(self.operator, self.tenant, self.canaries, self.seen) if one[0] != "ConfigMap c"}
        assert not self.found, sorted(self.found)[:12]
        assert not self.kept_in_secrets()
        self.accounts_tokens()


def test_a_whole_life_of_objects(operator, vault, spec):
    life = KubernetesLife(operator, vault, spec)
    fields = {"secretStore": life.store(), "retryInterval": "1s", "interval": "1s"}
    life.rotate("password", "user")
    spec.apply(objects(life), **fields)
    release = spec.waiting()
    life.now()
    spec.approve(release, unseen=True)
    spec.wait("True")
    life.now()

    life.rotate("password", "user")  # seen at the next check, shown, and approved
    release = spec.waiting(update=3)
    life.now()
    spec.approve(release, unseen=True)
    spec.wait("True")
    life.now()

    release = preview(spec.cluster, spec.namespace, "spec", "look")
    preview(spec.cluster, spec.namespace, "spec", "own", resources=objects(life))
    life.now()

    spec.apply(objects(life, bad_label=True), **AUTOMATIC, **fields)  # the API server quotes it
    assert "Invalid value" in spec.wait("False")["message"]
    life.now()

    life.rotate("password", "user")
    vault.broken = 500
    spec.apply(objects(life), **AUTOMATIC, **fields)
    eventually(lambda: "answers 500" in (spec.condition() or {}).get("message", ""))
    life.now()
    vault.broken = None
    spec.wait("True")
    life.now()

    create(spec.cluster, spec.namespace,
           new_release("back", operation="Rollback", toRevision=1, specRef={"name": "spec"})).must()
    eventually(lambda: any(one["reason"] == "RolledBack" for one in spec.get()["status"]["conditions"]))
    life.now()
    vault.broken = 500
    spec.delete()
    life.now()
    vault.broken = None


def things(life, backend, fail_on=("quote",)):
    address = backend.address("w")
    return [
        thing("probe_thing", "t", address, meta={"token": life.ref("token")}, secret=life.ref("password"),
              text=life.ref("user"), any={"a": [life.ref("password")]}, map={"a": life.ref("user")},
              fail_on=list(fail_on)),
        config_map("copy", life.spec.namespace, {"it": "$kusion_path.kusion:probe:probe_thing:t.secret"}),
    ]


class TerraformLife(Life):
    def now(self):
        self.found |= {one for one in leaks(self.operator, self.tenant, self.canaries, self.seen)
                       if one[0] != "ConfigMap copy" and not (one[0] == "/proc/PID/environ" and
                                                              one[1].startswith("context"))}
        assert not self.found, sorted(self.found)[:12]
        self.accounts_tokens()


def test_a_whole_life_of_terraform(operator, vault, spec, backend):
    life = TerraformLife(operator, vault, spec)
    fields = {"secretStore": life.store(), "context": {"ACME_KEY": life.ref("context")},
              "retryInterval": "1s", **AUTOMATIC}
    life.rotate("password", "user", "token", "context")
    spec.apply(things(life, backend), **fields)
    spec.wait("True")
    life.now()
    assert state_backend.KIND or life.kept_in_secrets()  # a provider needs its prior state
    life.rotate("password", "user", "token", "context")
    ask(spec)
    spec.wait("True")
    life.now()
    spec.apply(things(life, backend, fail_on=("quote", "apply")), **fields)
    life.rotate("password", "user", "token", "context")
    ask(spec)
    life.now()
    preview(spec.cluster, spec.namespace, "spec", "look")
    life.now()
    spec.apply(things(life, backend), **fields)
    spec.wait("True")
    life.now()
    spec.delete()
    life.now()


class HttpLife(Life):
    def now(self):
        super().now()
        assert not self.kept_in_secrets()
        self.accounts_tokens()

    def rotate_token(self):
        """What a header can have."""
        self.n += 1
        token = self.canaries.data(f"token {self.n}")
        self.vault.put(f"secret/{self.name}-api", token=token)
        return token


def test_a_whole_life_of_things_behind_an_api(operator, vault, spec, rest):
    """The API quotes the credentials that it refuses."""
    life = HttpLife(operator, vault, spec)
    fields = {"secretStore": life.store(), "retryInterval": "1s", **AUTOMATIC}
    reference = f"ref://{life.name}-api/token"
    rest.credentials = {"bearerFrom": {"ref": reference}}

    def things(x):
        header = rest.thing("b", x=x, password=life.ref("password"))
        header["extensions"]["connection"] = {"url": rest.url, "headersFrom": [
            {"name": "Authorization", "prefix": "Bearer ", "ref": reference}]}
        return [rest.thing("a", x=x, password=life.ref("password")), header]

    life.rotate("password")
    rest.token = life.rotate_token()
    spec.apply(things("1"), **fields)
    spec.wait("True")
    life.now()
    rest.token = life.rotate_token()  # of the credentials alone: nothing is to be changed
    life.rotate("password")
    ask(spec)
    spec.wait("True")
    newest = life.canaries.all[f"password {life.n}"]
    assert {one["attributes"]["password"] for one in rest.things().values()} == {newest.plain or newest.data}
    life.now()
    right, rest.token = rest.token, "another"
    spec.apply(things("2"), **fields)
    assert "status 401" in spec.wait("False")["message"]
    life.now()
    rest.token = right
    spec.wait("True")
    vault.broken = 500
    spec.apply(things("3"), **fields)
    eventually(lambda: "answers 500" in (spec.condition() or {}).get("message", ""))
    life.now()
    vault.broken = None
    spec.wait("True")
    preview(spec.cluster, spec.namespace, "spec", "look")
    life.now()
    spec.delete()
    life.now()
    assert not rest.things()
