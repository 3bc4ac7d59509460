"""What only a real Vault does: it is sealed, its tokens end, it comes back without them. hack/soak secrets builds
it, and runs test_secret_store.py with it, too."""

import time

import pytest

from kusion_e2e.real_vault import PROGRAM
from kusion_e2e.rights import account
from kusion_e2e.specs import config_map
from kusion_e2e.wait import eventually
from test_secret_store import data_of, operator, secret, spec, team, vault  # noqa: F401 (fixtures)

pytestmark = pytest.mark.skipif(not PROGRAM, reason="takes minutes to build: hack/soak secrets")


def texts(namespace, **data):
    return secret(namespace, stringData=data)


def message(spec):
    return (spec.condition() or {"message": ""})["message"]


@pytest.mark.parametrize("version", ["v2", "v1"])
def test_both_engines(spec, vault, version):
    mount = {"v1": "plain", "v2": "secret"}[version]
    vault.put(f"{mount}/team/db", password="hunter-one", port=5432, tls={"ca": "x"})
    spec.apply([texts(spec.namespace, p="ref://team/db/password", n="ref://team/db/port", i="ref://team/db/tls.ca",
                       m=f"ref://{mount}/team/db/password")],
               secretStore=vault.store(spec.namespace, version=version, path=mount), interval="1s")
    spec.wait("True")
    assert data_of(spec) == {"p": "hunter-one", "n": "5432", "i": "x", "m": "hunter-one"}
    vault.put(f"{mount}/team/db", password="hunter-two", port=1, tls={"ca": "y"})
    eventually(lambda: data_of(spec) == {"p": "hunter-two", "n": "1", "i": "y", "m": "hunter-two"})
    spec.delete()


def test_the_wrong_version_of_the_engine_is_said(spec, vault):
    vault.put("plain/mixed", password="hunter-plain")
    vault.put("secret/mixed", password="hunter-mixed")
    for version, path in (("v1", "secret"), ("v2", "plain")):
        spec.apply([texts(spec.namespace, p="ref://mixed/password")],
                   secretStore=vault.store(spec.namespace, version=version, path=path))
        ready = spec.wait("False")
        assert ready["reason"] in ("SecretNotFound", "SecretDenied"), ready
    spec.delete()


def test_versions_that_were_deleted_or_destroyed_are_not_there(spec, vault):
    for number in range(3):
        vault.put("secret/gone", password=f"hunter-{number}")
    vault.must("POST", "secret/delete/gone", {"versions": [3]})
    vault.must("PUT", "secret/destroy/gone", {"versions": [1]})
    for reference in ("ref://gone/password", "ref://gone/password?version=1"):
        spec.apply([texts(spec.namespace, p=reference)], secretStore=vault.store(spec.namespace))
        assert spec.wait("False")["reason"] == "SecretNotFound"
    spec.apply([texts(spec.namespace, p="ref://gone/password?version=2")], secretStore=vault.store(spec.namespace))
    spec.wait("True")
    assert data_of(spec) == {"p": "hunter-1"}
    spec.delete()


@pytest.mark.parametrize("fields, words", [
    ({"bound_service_account_names": ["somebody-else"]}, ("SecretDenied", "403")),
    ({"bound_service_account_namespaces": ["elsewhere"]}, ("SecretDenied", "403")),
    ({"audience": "another"}, ("SecretDenied",)),
    ({"token_policies": ["no-such-policy"]}, ("SecretDenied", "403")),
])
def test_a_role_that_does_not_fit(spec, vault, fields, words):
    vault.put("secret/fit", password="hunter-fit")
    vault.allow(spec.namespace, account(spec.namespace), **fields)
    spec.apply([texts(spec.namespace, p="ref://fit/password")], secretStore=vault.store(spec.namespace),
               retryInterval="1s")
    ready = spec.wait("False")
    assert not [word for word in words if word not in ready["reason"] + ready["message"]], ready
    vault.allow(spec.namespace, account(spec.namespace))
    spec.wait("True")
    spec.delete()


def test_a_sealed_server_holds_only_what_needs_it(spec, vault):
    vault.put("secret/sealed", password="hunter-sealed")
    ns = spec.namespace
    vault.seal()
    try:
        spec.apply([texts(ns, p="ref://sealed/password"), config_map("other", ns)],
                   secretStore=vault.store(ns), retryInterval="1s")
        eventually(lambda: spec.cluster.api.get(f"/api/v1/namespaces/{ns}/configmaps/other").ok)
        eventually(lambda: "answers 503" in message(spec))
        assert spec.cluster.api.get(f"/api/v1/namespaces/{ns}/secrets/s").code == 404
    finally:
        vault.unseal()
    spec.wait("True")
    assert data_of(spec) == {"p": "hunter-sealed"}
    vault.seal()
    try:
        spec.delete()  # asks for none
    finally:
        vault.unseal()


def test_a_token_that_ended_is_replaced(spec, vault):
    vault.put("secret/lease", password="hunter-one")
    vault.allow(spec.namespace, account(spec.namespace), token_ttl="2s", token_max_ttl="2s")
    spec.apply([texts(spec.namespace, p="ref://lease/password")], secretStore=vault.store(spec.namespace),
               interval="1s", retryInterval="1s")
    spec.wait("True")
    time.sleep(3)
    vault.put("secret/lease", password="hunter-two")
    eventually(lambda: data_of(spec) == {"p": "hunter-two"})
    spec.wait("True")
    spec.delete()


def test_a_server_that_lost_its_tokens_is_asked_with_new_ones(spec, vault):
    vault.put("secret/back", password="hunter-one")
    spec.apply([texts(spec.namespace, p="ref://back/password")], secretStore=vault.store(spec.namespace),
               interval="1s", retryInterval="1s")
    spec.wait("True")
    vault.stop()
    eventually(lambda: "answers 502" in message(spec))
    assert data_of(spec) == {"p": "hunter-one"}
    vault.start()
    vault.put("secret/back", password="hunter-zero")
    vault.put("secret/back", password="hunter-two")
    eventually(lambda: data_of(spec) == {"p": "hunter-two"})
    spec.wait("True")
    spec.delete()
