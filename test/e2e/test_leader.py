"""One leader at a time: the next takes over, and one that was frozen changes nothing."""

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
