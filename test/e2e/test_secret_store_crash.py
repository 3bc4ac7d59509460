"""kill -9 of an operator whose Spec refers to secrets: what was known of them was in its memory alone."""

import pytest

from kusion_e2e.controller import Controller
from kusion_e2e.long import takes_long
from kusion_e2e.rights import account
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.vault import Vault
from kusion_e2e.wait import eventually


@pytest.fixture
def vault(state_namespace, tenant):
    vault = Vault(state_namespace)
    vault.allow(tenant, account(tenant))
    yield vault
    vault.close()


def value_of(spec, name):
    found = spec.cluster.api.get(f"/api/v1/namespaces/{spec.namespace}/configmaps/{name}")
    return found.object["data"]["a"] if found.ok else None


@takes_long
def test_each_life_goes_on_where_the_last_one_ended(state_namespace, vault, tenant):
    vault.put("secret/db", password="one")
    spec = Spec(state_namespace, tenant)
    operator = Controller(state_namespace, flags=vault.flags()).wait_leading()
    names = [f"c{i}" for i in range(20)]

    def again():
        nonlocal operator
        operator.crash()
        operator = Controller(state_namespace, flags=vault.flags()).wait_leading()

    try:
        spec.apply([config_map(name, tenant, {"a": "ref://db/password"}) for name in names],
                   secretStore=vault.store(tenant), interval="1s")
        eventually(lambda: value_of(spec, "c3"), every=0.01)
        again()  # while it creates
        spec.wait("True")
        assert {value_of(spec, name) for name in names} == {"one"}
        releases = len(spec.releases())
        again()  # while nothing is to be done: the value is read once more, and is as recorded
        eventually(lambda: len(vault.reads()) > 1)
        spec.wait("True")
        assert len(spec.releases()) == releases
        vault.put("secret/db", password="two")
        eventually(lambda: value_of(spec, "c3") == "two", every=0.01)
        again()  # while it rotates
        eventually(lambda: {value_of(spec, name) for name in names} == {"two"})
        spec.wait("True")
        vault.broken = 503
        again()
        spec.delete()
        assert value_of(spec, "c3") is None
    finally:
        operator.stop()
