"""kill -9 while a plan waits for approval, and while it is carried out."""

from kusion_e2e.approved import Approved
from kusion_e2e.controller import STATE, Controller
from kusion_e2e.specs import config_map
from kusion_e2e.states import states
from kusion_e2e.wait import eventually


def restart(cluster, controller):
    """The next one need not wait until the dead one's Lease runs out."""
    controller.kill9()
    cluster.kubectl("delete", "lease", "kusion-operator", "-n", STATE, "--ignore-not-found")
    return Controller(cluster)


def test_killed_while_it_waits_and_while_it_works(state_namespace, tenant):
    cluster = state_namespace
    spec = Approved(cluster, tenant)

    ids = [f"v1:ConfigMap:{tenant}:c{i}" for i in range(60)]
    controller = Controller(cluster).wait_leading()
    try:
        spec.apply([config_map(f"c{i}", tenant, depends_on=ids[i - 1:i]) for i in range(60)])
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
        controller.kill9()
        cluster.kubectl("delete", "lease", "kusion-operator", "-n", STATE, "--ignore-not-found")
