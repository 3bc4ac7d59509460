"""Fixtures of the model's tests.

KUSION_E2E_CLUSTER names a control plane that is up already (hack/controlplane up NAME) and is to stay;
without it the run has its own."""

import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from kusion_model.party import JOBS, Party  # noqa: E402
from kusion_e2e.cluster import Cluster  # noqa: E402

signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started is ended


@pytest.fixture(scope="session")
def party():
    with Cluster.given_or_own("model") as cluster:
        made = Party(cluster, JOBS)
        yield made
        made.close()
