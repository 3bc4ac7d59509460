"""kubectl-kusion against a real control plane, with the operator of this checkout at work.

KUSION_E2E_CLUSTER names a control plane that is up already (hack/controlplane up NAME) and is to
stay; without it the run has its own. KUSION_CLI and KUSION_OPERATOR are the programs."""

import pytest

from kusion_cli import Shell
from kusion_e2e.cluster import Cluster
from kusion_e2e.controller import STATE, Controller
from kusion_e2e.rights import account, bound, wait_until_may


@pytest.fixture(scope="session")
def cluster():
    with Cluster.given_or_own("cli") as cluster:
        cluster.install_crds()
        cluster.ensure_namespace(STATE)
        yield cluster


@pytest.fixture(scope="session")
def operator(cluster):
    controller = Controller(cluster).wait_leading()
    yield controller
    assert controller.stop() == 0


@pytest.fixture
def shell(cluster, operator):
    """A person's shell, in a namespace of its own whose default ServiceAccount may do everything."""
    name = cluster.new_namespace("cli")
    with bound(cluster, name, "cluster-admin", name):
        wait_until_may(cluster, account(name), "*", "*", group="*")
        with Shell(cluster, name) as shell:
            yield shell
        cluster.leave_namespace(name)


@pytest.fixture
def poor_shell(cluster, operator):
    """The same, and its ServiceAccount may do nothing."""
    name = cluster.new_namespace("cli")
    with Shell(cluster, name) as shell:
        yield shell
    cluster.leave_namespace(name)
