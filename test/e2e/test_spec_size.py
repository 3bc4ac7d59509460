"""Specs about as large as the API server takes them."""

import json

from kusion_e2e.specs import Spec, config_map

MIB = 1 << 20
COUNT = 100


def resources(namespace, size):
    """ConfigMaps which, as the resources of a Spec, have about so many bytes of JSON."""
    bare = len(json.dumps([config_map(f"item-{n:03}", namespace, {"a": ""}) for n in range(COUNT)]))
    filling = "x" * ((size - bare) // COUNT)
    return [config_map(f"item-{n:03}", namespace, {"a": filling}) for n in range(COUNT)]


def items(cluster, namespace):
    path = f"/api/v1/namespaces/{namespace}/configmaps?labelSelector=api.kusion.io/owner"
    return cluster.api.get(path).must().object["items"]


def test_one_mib_is_applied(controlled, tenant):
    spec = Spec(controlled, tenant).apply(resources(tenant, MIB - 20_000))
    spec.wait("True", seconds=180)
    assert len(items(controlled, tenant)) == COUNT
    spec.delete()
    assert items(controlled, tenant) == []


def test_more_is_refused_and_what_was_applied_stays(controlled, tenant):
    spec = Spec(controlled, tenant).apply(resources(tenant, 100_000))
    spec.wait("True", seconds=180)
    spec.apply(resources(tenant, MIB + 20_000))
    ready = spec.wait("False")
    assert ready["reason"] == "InvalidSpec" and "the limit is 1 MiB" in ready["message"]
    assert spec.condition("Stalled")["status"] == "True"
    assert len(spec.releases()) == 1
    assert all(len(one["data"]["a"]) < 1000 for one in items(controlled, tenant))
    spec.delete()
    assert items(controlled, tenant) == []


def test_one_without_room_for_a_status_is_told_by_an_event(controlled, tenant):
    low, high = MIB, 2 * MIB  # what the API server stores, and what not
    spec = Spec(controlled, tenant)
    collection = spec.path.rpartition("/")[0]
    body = {"apiVersion": "api.kusion.io/v1", "kind": "Spec", "metadata": {"name": spec.name}}
    while high - low > 2 * COUNT:
        middle = (low + high) // 2
        body["spec"] = {"suspend": True, "resources": resources(tenant, middle)}
        if controlled.api.create(collection, body).ok:
            low = middle
            spec.delete()
        else:
            high = middle
    body["spec"] = {"resources": resources(tenant, low)}
    controlled.api.create(collection, body).must()
    spec.wait_event("InvalidSpec", "the limit is 1 MiB")
    assert items(controlled, tenant) == [] and spec.releases() == []
    spec.delete()
