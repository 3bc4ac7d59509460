"""kill -9 while a plan waits for approval, and while it is carried out."""

import pytest

from kusion_e2e.approved import Approved
from kusion_e2e.controller import Controller
from kusion_e2e.long import takes_long
from kusion_e2e.specs import config_map
from kusion_e2e.states import states
from kusion_e2e.wait import eventually


def restart(cluster, controller):
    controller.crash()
    return Controller(cluster)


@pytest.fixture
def controllers(state_namespace):
    """`start()` begins the first, or ends the last with kill -9, and begins another one."""
    running = []

    def start():
        if running:
            running.append(restart(state_namespace, running[-1]))
        else:
            running.append(Controller(state_namespace))
        return running[-1].wait_leading()

    yield start
    running[-1].crash()


def chain(namespace, n):
    ids = [f"v1:ConfigMap:{namespace}:c{i}" for i in range(n)]
    return [config_map(f"c{i}", namespace, depends_on=ids[i - 1:i]) for i in range(n)]


def take_back(spec, release):
    spec.cluster.api.patch(spec.release_path(release), {"spec": {"approvedPlan": None}}).must()


def test_an_approval_that_is_taken_back_before_it_is_seen(state_namespace, tenant, controllers):
    spec = Approved(state_namespace, tenant)
    controller = controllers()
    spec.apply(chain(tenant, 1))
    release = spec.waiting(create=1)
    controller.kill9()
    spec.approve(release)
    take_back(spec, release)
    controllers()
    spec.look()
    assert spec.phases() == ["awaitingApproval"] and spec.data("c0") is None
    spec.approve(release)
    spec.wait("True")
    spec.delete()


def test_an_approval_that_is_taken_back_while_it_is_carried_out(state_namespace, tenant, controllers):
    """It is read again after a restart: what is left needs another approval."""
    spec = Approved(state_namespace, tenant)
    controller = controllers()
    spec.apply(chain(tenant, 60))
    release = spec.waiting(create=60)
    spec.approve(release)
    eventually(lambda: spec.data("c5"), every=0.02)
    controller.kill9()
    take_back(spec, release)
    controllers()
    eventually(lambda: spec.phases() == ["cancelled", "awaitingApproval"])
    rest = spec.waiting()
    assert 0 < rest["status"]["plan"]["create"] < 60 and spec.data("c59") is None
    spec.approve(rest)
    spec.wait("True")
    spec.delete()


@takes_long
def test_killed_while_it_waits_and_while_it_works(state_namespace, tenant):
    cluster = state_namespace
    spec = Approved(cluster, tenant)

    controller = Controller(cluster).wait_leading()
    try:
        spec.apply(chain(tenant, 60))
        release = spec.waiting(create=60)
        controller = restart(cluster, controller).wait_leading()
        spec.look()
        assert spec.phases() == ["awaitingApproval"]
        spec.approve(release)
        for i in 5, 20, 40:
            eventually(lambda i=i: spec.data(f"c{i}"))
            controller = restart(cluster, controller)
        spec.wait("True")
        assert spec.phases() == ["succeeded"]
        status = spec.releases()[0]["status"]
        assert status["plan"] == release["status"]["plan"]
        spec.delete()
        eventually(lambda: states(cluster, tenant) == [])
    finally:
        controller.crash()
