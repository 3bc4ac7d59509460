"""Fixtures of the fault tests.

KUSION_E2E_CLUSTER names a control plane that is up already (hack/controlplane up NAME) and is to
stay; without it the run has its own. With KUSION_TURNS it shares the tests with the other runs of
that directory (kusion_e2e/turns.py). KUSION_TEST_LONG: the long scenarios, too."""

import os
import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from kusion_faults import paths  # noqa: E402, F401
from kusion_faults.stage import Stage  # noqa: E402
from kusion_faults.sweep import Sweep  # noqa: E402
from kusion_e2e.cluster import Cluster  # noqa: E402
from kusion_e2e.turns import Turns  # noqa: E402

signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started is ended
JOBS = 2 * (os.cpu_count() or 1)


def pytest_configure(config):
    longest = ["test_in_flight.py", "test_odd_answers.py"]
    Turns.register(config, first=["test_terraform_state.py", *longest, "test_lives.py"], split=longest)


def pytest_collection_modifyitems(items):
    if "KUSION_TEST_LONG" not in os.environ:
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip(reason="takes long: KUSION_TEST_LONG"))


@pytest.fixture(scope="session")
def cluster():
    with Cluster.given_or_own("faults") as cluster:
        yield cluster


@pytest.fixture(scope="session")
def sweep(cluster):
    made = Sweep(cluster, JOBS)
    yield made
    made.close()


@pytest.fixture
def room(sweep, request):
    with sweep.room() as room:
        yield room


@pytest.fixture
def bare(sweep, room):
    """A stage without a lane and an operator."""
    stage = Stage(sweep.proxy, room)
    yield stage
    assert stage.close() == []


@pytest.fixture
def stage(bare):
    """A stage with an operator that leads, behind `stage.main`."""
    bare.main = bare.lane()
    bare.process = bare.operator(bare.main)
    return bare
