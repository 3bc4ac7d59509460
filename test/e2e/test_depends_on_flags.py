"""Specs that wait for Specs: after a restart, and with operators of one namespace each."""

import pytest

from kusion_e2e.controller import Controller
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.wait import eventually

from test_depends_on import SLOW, is_there, on, waits


@pytest.fixture
def start(state_namespace):
    """Starts an operator of one namespace, with a State of its own."""
    made = []

    def begin(namespace, *flags):
        state = f"{namespace}-state"
        state_namespace.ensure_namespace(state)
        controller = Controller(state_namespace, state=state, flags=["--watch-namespace", namespace, *flags])
        made.append(controller)
        return controller.wait_leading()

    yield begin
    for controller in made:
        controller.stop()
        if state_namespace.api.get(f"/api/v1/namespaces/{controller.state}").ok:
            state_namespace.delete_namespace(controller.state)


def test_after_a_restart_it_still_waits_and_ends(state_namespace, tenant, start):
    first = start(tenant)
    late = f"{tenant}-late"
    web = Spec(state_namespace, tenant, "web").apply([config_map("web", tenant)], **on("db", "done"), **SLOW)
    db = Spec(state_namespace, tenant, "db").apply([config_map("db", late)], retryInterval="1s")
    done = Spec(state_namespace, tenant, "done").apply([config_map("done", tenant)], **SLOW)
    done.wait("True")
    waits(web, "waits for db (")
    first.crash()
    start(tenant)
    # As it did before: what became ready did so in an earlier process.
    state_namespace.api.create("/api/v1/namespaces", {"metadata": {"name": late}}).must()
    web.wait("True", 20)
    for spec in (web, db, done):
        spec.delete()
    state_namespace.delete_namespace(late)


def test_they_are_deleted_in_order_after_a_restart(state_namespace, tenant, start):
    first = start(tenant)
    held = config_map("held", tenant)
    held["attributes"]["metadata"]["finalizers"] = ["example.com/held"]
    db = Spec(state_namespace, tenant, "db").apply([config_map("db", tenant)])
    web = Spec(state_namespace, tenant, "web").apply([held], **on("db"))
    web.wait("True")
    first.crash()
    for spec in (db, web):
        state_namespace.api.delete(spec.path).must()
    start(tenant)
    eventually(lambda: db.get()["status"]["conditions"][0]["reason"] == "DependentsExist", 20)
    assert is_there(state_namespace, "db", tenant)
    state_namespace.api.patch(f"/api/v1/namespaces/{tenant}/configmaps/held",
                              {"metadata": {"finalizers": None}}).must()
    eventually(lambda: web.get() is None and db.get() is None, 60)


def test_one_that_is_not_watched_is_polled(state_namespace, tenant, namespace, start):
    start(tenant)
    web = Spec(state_namespace, tenant, "web").apply(
        [config_map("web", tenant)], **on(f"{namespace}/db"), retryInterval="1s")
    waits(web, "is not there, or ")
    db = Spec(state_namespace, namespace, "db").apply([], retryInterval="1s")
    waits(web, f"{namespace}/db (is not Ready (polled, as this operator does not watch it))")
    other = start(namespace)
    db.wait("True")
    web.wait("True", 20)
    db.delete()
    web.delete()
    assert other.stop() == 0


def test_other_namespaces_may_be_forbidden(state_namespace, tenant, start):
    start(tenant, "--no-cross-namespace-refs")
    web = Spec(state_namespace, tenant, "web").apply([], **on("default/db"))
    ready = web.wait("False")
    assert ready["reason"] == "InvalidSpec", ready
    assert 'dependsOn[0]: is in another namespace, "default"' in ready["message"], ready
    web.apply([], **on("db"))
    waits(web, "waits for db (is not there)")
    web.delete()
