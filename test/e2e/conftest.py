"""Fixtures of the end-to-end tests.

KUSION_E2E_CLUSTER names a control plane that is up already (hack/controlplane up NAME) and is
to stay; without it each run has its own, which goes with it. The chart always gets its own.

With KUSION_TURNS it shares the files with the other runs of that directory (turns.py).

With KUSION_E2E_POD the controller is no process of this machine, but in its Pod, with the image of
hack/image, installed by the chart on a real node (hack/node). Tests that cannot have it so are skipped,
with the reason."""

import os

import pytest

from kusion_e2e.chart import OTHER, OWN, TEAM, Chart
from kusion_e2e.cluster import Cluster
from kusion_e2e.controller import STATE, Controller
from kusion_e2e.long import leave_out
from kusion_e2e.pod_controller import IS_ASKED_FOR, PodController, reason_to_skip
from kusion_e2e.rights import account, bound, wait_until_may
from kusion_e2e.tenancy import Tenancy
from kusion_e2e.turns import Turns

# Runs that share the files begin with these, which take longest.
LONGEST = ("state_stores", "unhealthy", "state_lost", "other_clusters", "other_clusters_exchanged", "health",
           "second_runtime_calls", "terraform_canaries", "leader", "terraform", "webhook_down", "http",
           "other_clusters_hostile", "drift", "deletion_guard", "store_identity", "terraform_mistakes",
           "spec_lifecycle", "accidents", "secret_store_clouds", "tenants_limits", "chart", "state_copy", "check",
           "chart_values", "tenants")


def pytest_configure(config):
    Turns.register(config, first=[f"test_{name}.py" for name in LONGEST])


def pytest_collection_modifyitems(config, items):
    leave_out(config, items)
    for item in items:
        why = reason_to_skip(item.path.stem, item.fixturenames) if IS_ASKED_FOR else None
        if why:
            item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture(scope="session")
def cluster():
    """The control plane that most tests share."""
    with Cluster.given_or_own("e2e") as cluster:
        yield cluster


@pytest.fixture(scope="session")
def crds(cluster):
    """The shared control plane, with our kinds."""
    cluster.install_crds()
    return cluster


@pytest.fixture
def namespace(cluster):
    """A namespace for one test."""
    name = cluster.new_namespace()
    yield name
    cluster.leave_namespace(name)


@pytest.fixture(scope="session")
def state_namespace(crds):
    """The shared control plane, with the namespace that the controller keeps State in."""
    crds.ensure_namespace(STATE)
    return crds


@pytest.fixture(scope="module")
def at_work(state_namespace):
    """A controller at work on the shared control plane."""
    make = PodController if IS_ASKED_FOR else Controller
    controller = make(state_namespace).wait_leading()
    yield controller
    assert controller.stop() == 0


@pytest.fixture(scope="module")
def controlled(state_namespace, at_work):
    """The shared control plane, with a controller at work."""
    return state_namespace


@pytest.fixture
def tenant(state_namespace):
    """A namespace whose default ServiceAccount may do everything."""
    name = state_namespace.new_namespace("tenant")
    with bound(state_namespace, name, "cluster-admin", name):
        wait_until_may(state_namespace, account(name), "*", "*", group="*")
        yield name
        state_namespace.leave_namespace(name)


@pytest.fixture(scope="module")
def plane():
    """A control plane for the chart: what Helm installs must not be there before. It goes with
    the file that uses it: several planes at once are slow."""
    own = Cluster.up(f"e2e-chart-{os.getpid()}")
    try:
        for namespace in (OWN, TEAM, OTHER):
            own.kubectl("create", "namespace", namespace)
        own.kubectl("label", "namespace", OWN, "pod-security.kubernetes.io/enforce=restricted")
        yield own
    finally:
        own.down()


@pytest.fixture
def chart(plane):
    """The chart, to be installed; what a test leaves of it is taken away."""
    chart = Chart(plane)
    yield chart
    chart.remove_all()


@pytest.fixture(scope="class")
def installed(plane):
    """The control plane with the chart installed as it is, without any values."""
    chart = Chart(plane)
    chart.install()
    plane.wait_for_crds()
    yield plane
    chart.remove_all()


@pytest.fixture(scope="module")
def tenancy(tmp_path_factory):
    """A control plane with an audit log and the chart, and no operator yet. It goes with the file
    that uses it."""
    made = Tenancy(f"e2e-tenants-{os.getpid()}", tmp_path_factory.mktemp("tenancy"))
    yield made
    made.down()
