"""An operator that once ran providers and is started without any: State has objects of theirs. Their
Specs say so, nothing else is held up, and there is a way out without the provider, and one with it."""

import pytest

from kusion_e2e.controller import Controller
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.states import states
from kusion_e2e.terraform import flags, need_providers, terraform
from kusion_e2e.wait import eventually


@pytest.fixture(scope="module", autouse=True)
def providers():
    need_providers()


def made_by_an_operator_with_providers(cluster, namespace, names):
    operator = Controller(cluster, flags=flags("hashicorp/random")).wait_leading()
    specs = [Spec(cluster, namespace, name) for name in names]
    try:
        for spec in specs:
            spec.apply([terraform("random_id", "a", byte_length=2), config_map(spec.name, namespace)])
        for spec in specs:
            spec.wait("True")
    finally:
        operator.stop()
    return specs


def begin_deletion(spec):
    spec.cluster.api.delete(spec.path).must()
    spec.generation = spec.get()["metadata"]["generation"]


def wait_gone(spec):
    eventually(lambda: spec.get() is None)


def patch(spec, **fields):
    spec.cluster.api.patch(spec.path, {"spec": fields}).must()


def says_not_allowed(spec):
    def said():
        ready = spec.condition()
        assert ready and ready["status"] == "False", ready
        failed, = spec.get()["status"]["resources"]["failed"]
        assert failed["reason"] == "ProviderNotAllowed", failed
        return failed["message"]

    return eventually(said)


def test_without_its_provider_only_what_needs_it_waits(state_namespace, tenant):
    deleted, left, smaller = made_by_an_operator_with_providers(
        state_namespace, tenant, ("deleted", "left", "smaller"))
    operator = Controller(state_namespace).wait_leading()
    try:
        for spec in (deleted, left):
            begin_deletion(spec)
        smaller.apply([config_map("smaller", tenant)])
        for spec in (deleted, left, smaller):
            message = says_not_allowed(spec)
            assert "--terraform-provider" in message and "deletionPolicy: Orphan" in message, message
        Spec(state_namespace, tenant, "other").apply([config_map("other", tenant)]).wait("True")
        patch(left, deletionPolicy="Orphan")
        wait_gone(left)
        smaller.apply([config_map("smaller", tenant)], prune=False).wait("True")
    finally:
        operator.stop()
    operator = Controller(state_namespace, flags=flags("hashicorp/random")).wait_leading()
    try:
        wait_gone(deleted)
        for name in ("smaller", "other"):
            Spec(state_namespace, tenant, name).delete()
        assert not states(state_namespace, tenant)
    finally:
        operator.stop()
