"""References to secrets of a store (`secretStore`, `ref://NAME/PROPERTY`): looked up as the Spec's own
ServiceAccount when a plan is made, and in no other place than the objects."""

import base64
import json

import pytest

from kusion_e2e.controller import Controller
from kusion_e2e.rights import account
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.states import open_text
from kusion_e2e.vault import Vault


@pytest.fixture(scope="module")
def vault(state_namespace):
    vault = Vault(state_namespace)
    yield vault
    vault.close()


@pytest.fixture(scope="module")
def operator(state_namespace, vault):
    operator = Controller(state_namespace, flags=vault.flags()).wait_leading()
    yield operator
    assert operator.stop() == 0


@pytest.fixture
def spec(state_namespace, operator, vault, tenant):
    vault.allow(tenant, account(tenant))
    vault.broken, vault.quotes, vault.may_look = None, False, True
    vault.requests.clear()
    yield Spec(state_namespace, tenant)


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
