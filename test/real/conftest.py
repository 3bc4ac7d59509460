"""The operator beside real programs of others, which take minutes to build: hack/soak flux.

KUSION_E2E_CLUSTER names a control plane that is up already (hack/controlplane up NAME) and is to stay."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
from kusion_e2e.cluster import Cluster  # noqa: E402
from kusion_e2e.controller import STATE  # noqa: E402
from kusion_e2e.rights import account, bound, wait_until_may  # noqa: E402


@pytest.fixture(scope="session")
def cluster():
    with Cluster.given_or_own("real") as cluster:
        cluster.install_crds()
        cluster.ensure_namespace(STATE)
        yield cluster


@pytest.fixture
def tenant(cluster):
    """A namespace whose default ServiceAccount may do everything."""
    name = cluster.new_namespace("tenant")
    with bound(cluster, name, "cluster-admin", name):
        wait_until_may(cluster, account(name), "*", "*", group="*")
        yield name
        cluster.leave_namespace(name)
