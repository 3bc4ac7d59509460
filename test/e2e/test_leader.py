"""One leader at a time: the next takes over, and one that was frozen changes nothing."""

from kusion_e2e.controller import STATE, Controller
from kusion_e2e.history import History
from kusion_e2e.long import takes_long
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.wait import eventually


def test_a_frozen_leader_wakes_and_changes_nothing(state_namespace, tenant):
    cluster = state_namespace
    first = Controller(cluster).wait_leading()
    second = Controller(cluster)
    try:
        spec = Spec(cluster, tenant).apply([config_map("a", tenant)])
        spec.wait("True")
        first.freeze()
        second.wait_leading()
        spec.apply([config_map("a", tenant, {"a": "by the second"})])
        spec.wait("True")
        before = cluster.get_json("configmap", "a", "-n", tenant)
        first.thaw()
        assert first.process.wait(timeout=60) == 1
        assert cluster.get_json("configmap", "a", "-n", tenant) == before
        assert not second.process.poll()
        spec.delete()
    finally:
        second.stop()
        first.crash()


def objects(cluster, namespace):
    """By name, when each was made."""
    path = f"/api/v1/namespaces/{namespace}/configmaps?labelSelector=api.kusion.io/owner"
    return {one["metadata"]["name"]: one["metadata"]["uid"]
            for one in cluster.api.get(path).must().object["items"]}


COUNT = 600  # of which some are left to make when a slow test has seen the first


def begin_to_apply(cluster, tenant):
    """A Spec of many objects, of which some are made when this returns."""
    ids = [f"v1:ConfigMap:{tenant}:c{n}" for n in range(COUNT)]
    spec = Spec(cluster, tenant).apply(
        [config_map(f"c{n}", tenant, depends_on=ids[n - 5:n - 4] if n >= 5 else ())
         for n in range(COUNT)])
    eventually(lambda: objects(cluster, tenant), every=0.01)
    return spec


def histories(cluster, tenant):
    """Of all that a controller may write for a tenant."""
    core, ours = "/api/v1/namespaces", f"/apis/api.kusion.io/v1/namespaces/{tenant}"
    return [*(History(cluster, f"{core}/{STATE}/{plural}", of=tenant)
              for plural in ("configmaps", "secrets")),
            *(History(cluster, path)
              for path in (f"{core}/{tenant}/configmaps", f"{ours}/specs", f"{ours}/releases"))]


@takes_long
def test_one_that_was_frozen_in_an_apply_changes_nothing(state_namespace, tenant):
    cluster = state_namespace
    first = Controller(cluster).wait_leading()
    second = Controller(cluster)
    try:
        made = History(cluster, f"/api/v1/namespaces/{tenant}/configmaps")
        spec = begin_to_apply(cluster, tenant)
        first.freeze()
        assert 0 < len(objects(cluster, tenant)) < COUNT
        second.wait_leading()
        spec.wait("True", seconds=180)
        assert made.counts("ADDED") == {f"c{n}": 1 for n in range(COUNT)}
        since = histories(cluster, tenant)
        first.thaw()
        assert first.process.wait(timeout=60) == 1
        assert [history.events() for history in since] == [[]] * len(since)
        assert [one["status"]["phase"] for one in spec.releases()] == ["succeeded"]
        spec.delete()
        assert objects(cluster, tenant) == {}
    finally:
        second.stop()
        first.crash()


def test_the_next_leader_goes_on_with_an_apply(state_namespace, tenant):
    cluster = state_namespace
    first = Controller(cluster).wait_leading()
    second = Controller(cluster)
    try:
        history = History(cluster, f"/api/v1/namespaces/{tenant}/configmaps")
        spec = begin_to_apply(cluster, tenant)
        first.kill9()
        made = objects(cluster, tenant)
        assert 0 < len(made) < COUNT
        second.wait_leading()
        spec.wait("True", seconds=180)
        now = objects(cluster, tenant)
        assert len(now) == COUNT and made.items() <= now.items()
        assert history.counts("ADDED") == {f"c{n}": 1 for n in range(COUNT)}
        assert not history.counts("DELETED")
        assert [one["status"]["phase"] for one in spec.releases()] == ["succeeded"]
        spec.delete()
        assert objects(cluster, tenant) == {}
    finally:
        second.stop()
        first.crash()
