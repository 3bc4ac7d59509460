"""kill -9 at random moments: after each restart it ends in the right state.

KUSION_TEST_SEED chooses the moments (hack/soak kill)."""

import os
import random
import time

from kusion_e2e.controller import Controller
from kusion_e2e.history import History
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.states import states
from kusion_e2e.wait import eventually

COUNT, KILLS = 200, 10


def restart(cluster, controller):
    controller.crash()
    return Controller(cluster)


def test_ends_in_the_right_state(state_namespace, tenant):
    cluster = state_namespace
    history = History(cluster, f"/api/v1/namespaces/{tenant}/configmaps")
    once = {f"c{i}": 1 for i in range(COUNT)}
    randomly = random.Random(int(os.environ.get("KUSION_TEST_SEED", "4")))
    controller = Controller(cluster).wait_leading()
    try:
        ids = [f"v1:ConfigMap:{tenant}:c{i}" for i in range(COUNT)]
        spec = Spec(cluster, tenant).apply(
            [config_map(f"c{i}", tenant, depends_on=ids[i - 10:i - 9] if i >= 10 else ())
             for i in range(COUNT)])
        for _ in range(KILLS):
            time.sleep(randomly.uniform(0.02, 0.3))
            controller = restart(cluster, controller)
        spec.wait("True", seconds=180)
        assert len(mine(cluster, tenant)) == COUNT
        assert history.counts("ADDED") == once and not history.counts("DELETED")
        revisions = [one["status"]["revision"] for one in spec.releases()]
        assert revisions == list(range(1, len(revisions) + 1))

        cluster.api.delete(spec.path).must()
        for _ in range(KILLS):
            time.sleep(randomly.uniform(0.02, 0.2))
            controller = restart(cluster, controller)
        eventually(lambda: spec.get() is None, seconds=180)
        assert mine(cluster, tenant) == []
        assert history.counts("ADDED") == once and history.counts("DELETED") == once
        eventually(lambda: spec.releases() == [])
        assert states(cluster, tenant) == []
    finally:
        controller.crash()


def mine(cluster, namespace):
    path = f"/api/v1/namespaces/{namespace}/configmaps?labelSelector=api.kusion.io/owner"
    return cluster.api.get(path).must().object["items"]
