"""One leader at a time: the next takes over, and one that was frozen changes nothing."""

import time

from kusion_e2e.controller import STATE, Controller
from kusion_e2e.specs import Spec, config_map


def test_a_frozen_leader_wakes_and_changes_nothing(state_namespace, tenant):
    cluster = state_namespace
    first = Controller(cluster).wait_leading()
    second = Controller(cluster)
    try:
        spec = Spec(cluster, tenant).apply([config_map("a", tenant)])
        spec.wait("True")
        first.freeze()
        second.wait_leading(seconds=40)
        spec.apply([config_map("a", tenant, {"a": "by the second"})])
        spec.wait("True")
        before = cluster.get_json("configmap", "a", "-n", tenant)
        first.thaw()
        assert first.process.wait(timeout=20) == 1
        assert cluster.get_json("configmap", "a", "-n", tenant) == before
        assert not second.process.poll()
        spec.delete()
    finally:
        first.kill9()
        second.stop()
        cluster.kubectl("delete", "lease", "kusion-operator", "-n", STATE, "--ignore-not-found")


def objects(cluster, namespace):
    """By name, when each was made."""
    path = f"/api/v1/namespaces/{namespace}/configmaps?labelSelector=api.kusion.io/owner"
    return {one["metadata"]["name"]: one["metadata"]["uid"]
            for one in cluster.api.get(path).must().object["items"]}


def test_the_next_leader_goes_on_with_an_apply(state_namespace, tenant):
    cluster, count = state_namespace, 200
    first = Controller(cluster).wait_leading()
    second = Controller(cluster)
    try:
        ids = [f"v1:ConfigMap:{tenant}:c{n}" for n in range(count)]
        spec = Spec(cluster, tenant).apply(
            [config_map(f"c{n}", tenant, depends_on=ids[n - 5:n - 4] if n >= 5 else ())
             for n in range(count)])
        while not objects(cluster, tenant):
            time.sleep(0.01)
        first.kill9()
        made = objects(cluster, tenant)
        assert 0 < len(made) < count
        second.wait_leading(seconds=40)
        spec.wait("True", seconds=60)
        now = objects(cluster, tenant)
        assert len(now) == count and made.items() <= now.items()
        assert [one["status"]["phase"] for one in spec.releases()] == ["succeeded"]
        spec.delete()
        assert objects(cluster, tenant) == {}
    finally:
        first.kill9()
        second.stop()
        cluster.kubectl("delete", "lease", "kusion-operator", "-n", STATE, "--ignore-not-found")
