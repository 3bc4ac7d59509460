"""What people delete while the controller works on it."""

import threading
import time

from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.states import states
from kusion_e2e.wait import eventually


def config_maps(cluster, namespace):
    path = f"/api/v1/namespaces/{namespace}/configmaps?labelSelector=api.kusion.io/owner"
    return [one["metadata"]["name"] for one in cluster.api.get(path).must().object["items"]]


def test_a_spec_that_is_deleted_right_after_it_was_made_leaves_nothing(controlled, tenant):
    for number in range(60):
        spec = Spec(controlled, tenant, f"spec-{number}")
        spec.apply([config_map(f"{number}-{item}", tenant) for item in range(5)])
        time.sleep(number / 5000)  # 0 to 12 ms: before, while and after it is looked at
        controlled.api.delete(spec.path).must()
    last = Spec(controlled, tenant, "last").apply([config_map("last", tenant)])
    last.wait("True")
    collection = last.path.rpartition("/")[0]
    eventually(lambda: len(controlled.api.get(collection).must().object["items"]) == 1, seconds=180)
    eventually(lambda: config_maps(controlled, tenant) == ["last"])
    last.delete()
    assert config_maps(controlled, tenant) == [] and states(controlled, tenant) == []
    eventually(lambda: unfinished(controlled, tenant) == [])


def unfinished(cluster, namespace):
    found = cluster.api.get(f"/apis/api.kusion.io/v1/namespaces/{namespace}/releases").must().object
    ended = ("succeeded", "failed", "cancelled")
    return [(one["metadata"]["name"], one["status"].get("phase")) for one in found["items"]
            if one["status"].get("phase") not in ended]


def test_one_that_is_suspended_while_it_is_applied_says_so(controlled, tenant):
    waits = {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
             "metadata": {"name": "never", "namespace": tenant},
             "spec": {"storageClassName": "none", "accessModes": ["ReadWriteOnce"],
                      "resources": {"requests": {"storage": "1Gi"}}}}
    spec = Spec(controlled, tenant).apply([resource(waits)])
    eventually(lambda: spec.condition() and spec.condition()["reason"] == "Progressing")
    spec.apply([resource(waits)], suspend=True)
    ready = spec.wait("Unknown")
    assert ready["reason"] == "Suspended" and not spec.condition("Reconciling"), ready
    assert unfinished(controlled, tenant) == []
    spec.apply([resource(waits)], deletionPolicy="Orphan")
    controlled.api.delete(spec.path).must()
    eventually(lambda: spec.get() is None)
    eventually(lambda: unfinished(controlled, tenant) == [])


def delete_releases(cluster, namespace, enough):
    collection = f"/apis/api.kusion.io/v1/namespaces/{namespace}/releases"
    api = type(cluster.api)(cluster.kubeconfig)  # a connection of this thread's own
    while not enough.is_set():
        for one in api.get(collection).must().object["items"]:
            api.delete(f"{collection}/{one['metadata']['name']}")
    api.close()


def test_releases_that_are_deleted_stop_no_work(controlled, tenant):
    enough = threading.Event()
    thread = threading.Thread(target=delete_releases, args=(controlled, tenant, enough))
    thread.start()
    try:
        spec = Spec(controlled, tenant)
        for count in (300, 100):
            spec.apply([config_map(f"c{number}", tenant) for number in range(count)])
            spec.wait("True")
            assert len(config_maps(controlled, tenant)) == count
        spec.delete()
        assert config_maps(controlled, tenant) == [] and states(controlled, tenant) == []
    finally:
        enough.set()
        thread.join()


def test_one_of_two_that_adopt_the_same_object_gets_it(controlled, tenant):
    pairs = []
    for number in range(10):
        body = {"metadata": {"name": f"c{number}"}, "data": {"of": "nobody"}}
        controlled.api.create(f"/api/v1/namespaces/{tenant}/configmaps", body).must()
        pairs.append([Spec(controlled, tenant, f"{name}-{number}") for name in ("a", "b")])
    for number, pair in enumerate(pairs):
        for spec in pair:
            spec.apply([config_map(f"c{number}", tenant, {"of": spec.name})])
    for number, pair in enumerate(pairs):
        ready = {spec.name: eventually(lambda: settled(spec)) for spec in pair}
        winner, = [name for name, condition in ready.items() if condition["status"] == "True"]
        loser, = [condition for name, condition in ready.items() if name != winner]
        assert loser["reason"] == "ConflictDetected", loser
        now = controlled.get_json("configmap", f"c{number}", "-n", tenant)
        assert now["data"]["of"] == winner


def settled(spec):
    ready = spec.condition()
    return ready if ready and ready["reason"] != "Progressing" else None
