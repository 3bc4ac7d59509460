"""kill -9 while a Spec waits for objects that it does not own."""

from kusion_e2e.controller import Controller
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.wait import eventually


def waits(spec):
    def says():
        ready = spec.condition()
        assert ready and ready["status"] == "Unknown" and "it is not there" in ready["message"], ready
        return ready

    return eventually(says)


def test_killed_while_it_waits(state_namespace, tenant):
    """The next process waits on, and changes nothing."""
    cluster = state_namespace
    later = {"apiVersion": "v1", "kind": "ConfigMap", "name": "later", "namespace": tenant}
    first = Controller(cluster).wait_leading()
    spec = Spec(cluster, tenant).apply([config_map("a", tenant)], healthChecks=[later])
    waits(spec)
    before = cluster.api.get(f"/api/v1/namespaces/{tenant}/configmaps/a").must().object
    first.crash()
    second = Controller(cluster).wait_leading()
    try:
        waits(spec)
        cluster.api.create(f"/api/v1/namespaces/{tenant}/configmaps", {"metadata": {"name": "later"}}).must()
        spec.wait("True")
        after = cluster.api.get(f"/api/v1/namespaces/{tenant}/configmaps/a").must().object
        assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
        spec.delete()
    finally:
        second.crash()
