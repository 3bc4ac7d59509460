"""The way of a Spec: applied, changed, pruned, looked at, deleted."""

import base64
import gzip
import json
import time

import pytest

from kusion_e2e.controller import STATE
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.state_backend import need_objects
from kusion_e2e.states import states
from kusion_e2e.wait import eventually


def config_maps(cluster, namespace):
    items = cluster.api.get(f"/api/v1/namespaces/{namespace}/configmaps").must().object["items"]
    return {item["metadata"]["name"]: item for item in items if item["metadata"].get("labels")}


def test_goes_from_apply_to_delete(controlled, tenant):
    spec = Spec(controlled, tenant).apply([config_map("a", tenant), config_map("b", tenant)])
    spec.wait("True")
    assert set(config_maps(controlled, tenant)) == {"a", "b"}
    assert [one["status"]["phase"] for one in spec.releases()] == ["succeeded"]
    assert spec.get()["status"]["lastAppliedRevision"] == 1
    assert len(states(controlled, tenant)) == 1

    spec.apply([config_map("a", tenant, {"a": "changed"})])
    spec.wait("True")
    now = config_maps(controlled, tenant)
    assert set(now) == {"a"} and now["a"]["data"] == {"a": "changed"}

    spec.delete()
    assert config_maps(controlled, tenant) == {}
    assert states(controlled, tenant) == []
    eventually(lambda: spec.releases() == [])  # the garbage collector's work


def test_a_definition_and_its_resource_in_one_spec(controlled, tenant):
    group = f"{tenant}.example.com"
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {"group": group, "scope": "Namespaced",
                 "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "schema": {
                     "openAPIV3Schema": {"type": "object",
                                         "x-kubernetes-preserve-unknown-fields": True}}}]}}
    thing = {"apiVersion": f"{group}/v1", "kind": "Thing",
             "metadata": {"name": "one", "namespace": tenant}}
    spec = Spec(controlled, tenant).apply([resource(thing), resource(definition)])
    spec.wait("True")
    assert [one["status"]["phase"] for one in spec.releases()] == ["succeeded"]  # the first
    assert not any(event["reason"] == "KindNotFound" for event in spec.events())
    spec.delete()
    assert controlled.get_json("crd", f"things.{group}") is None


def test_nothing_to_do_writes_nothing(controlled, tenant):
    spec = Spec(controlled, tenant).apply([config_map("a", tenant)], interval="1s")
    spec.wait("True")
    version = spec.get()["metadata"]["resourceVersion"]
    before = config_maps(controlled, tenant)
    with pytest.raises(AssertionError):
        eventually(lambda: spec.get()["metadata"]["resourceVersion"] != version, seconds=3)
    assert config_maps(controlled, tenant) == before
    assert len(spec.releases()) == 1
    spec.delete()


def test_a_preview_shows_and_changes_nothing(controlled, tenant):
    spec = Spec(controlled, tenant).apply([config_map("a", tenant)])
    spec.wait("True")
    spec.apply([config_map("a", tenant, {"a": "new"}), config_map("b", tenant)], suspend=True)
    path = f"/apis/api.kusion.io/v1/namespaces/{tenant}/releases"
    release = {"apiVersion": "api.kusion.io/v1", "kind": "Release", "metadata": {"name": "look"},
               "spec": {"specRef": {"name": "spec"}, "operation": "Preview"}}
    controlled.api.create(path, release).must()

    def shown():
        status = controlled.api.get(f"{path}/look").must().object.get("status", {})
        assert status.get("phase") == "succeeded", status
        return status

    status = eventually(shown)
    assert status["plan"]["create"] == 1 and status["plan"]["update"] == 1
    fields = {one["id"]: one.get("fields", []) for one in status["results"]}
    assert {"path": "data.a", "from": '"b"', "to": '"new"'} in fields[f"v1:ConfigMap:{tenant}:a"]
    assert set(config_maps(controlled, tenant)) == {"a"}
    spec.apply([config_map("a", tenant)], suspend=False)
    spec.wait("True")
    spec.delete()


def test_an_orphaned_spec_leaves_its_objects(controlled, tenant):
    spec = Spec(controlled, tenant).apply([config_map("a", tenant)], deletionPolicy="Orphan")
    spec.wait("True")
    spec.delete()
    assert set(config_maps(controlled, tenant)) == {"a"}


def test_two_specs_that_claim_one_object(controlled, tenant):
    first = Spec(controlled, tenant, "first").apply([config_map("a", tenant)])
    first.wait("True")
    second = Spec(controlled, tenant, "second").apply([config_map("a", tenant, {"a": "mine"})])
    assert second.wait("False")["reason"] == "ConflictDetected"
    second.delete()
    assert config_maps(controlled, tenant)["a"]["data"] == {"a": "b"}
    first.delete()


def test_a_plan_too_long_for_a_status_is_kept_beside_it(controlled, tenant):
    need_objects()
    count = 2100  # a status takes 2,000
    spec = Spec(controlled, tenant)
    spec.apply([config_map(f"item-{number}", tenant) for number in range(count)], suspend=True)
    path = f"/apis/api.kusion.io/v1/namespaces/{tenant}/releases/look"
    body = {"apiVersion": "api.kusion.io/v1", "kind": "Release", "metadata": {"name": "look"},
            "spec": {"specRef": {"name": spec.name}, "operation": "Preview"}}
    controlled.api.create(path.rpartition("/")[0], body).must()

    def ended():
        status = controlled.api.get(path).must().object.get("status", {})
        assert status.get("phase") == "succeeded", status.get("phase")
        return status

    status = eventually(ended, seconds=180)
    assert len(status["results"]) + status["omitted"] == count and status["omitted"] > 0
    kind, _, place = status["planRef"]["name"].partition(" ")
    assert kind == "ConfigMap" and place.startswith(f"{STATE}/"), status["planRef"]
    kept = f"/api/v1/namespaces/{STATE}/configmaps/{place.partition('/')[2]}"
    data = controlled.api.get(kept).must().object["binaryData"]["plan"]
    results = json.loads(gzip.decompress(base64.b64decode(data)))
    assert [one["action"] for one in results] == ["create"] * count
    ids = [one["id"] for one in results]
    assert ids[:len(status["results"])] == [one["id"] for one in status["results"]]
    assert all(one["fields"] for one in results), "which the status leaves out before it leaves out ids"

    controlled.api.delete(path).must()
    eventually(lambda: controlled.api.get(kept).code == 404)
    spec.delete()


def test_a_claim_that_is_not_bound_does_not_hold_back_its_consumer(controlled, tenant):
    """Which it may wait for (WaitForFirstConsumer); but the Spec is not ready before it is bound."""
    claim = resource({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                      "metadata": {"name": "late", "namespace": tenant},
                      "spec": {"storageClassName": "none", "accessModes": ["ReadWriteOnce"],
                               "resources": {"requests": {"storage": "1Gi"}}}})
    pod = resource({"apiVersion": "v1", "kind": "Pod",
                    "metadata": {"name": "consumer", "namespace": tenant},
                    "spec": {"containers": [{"name": "a", "image": "registry.k8s.io/pause"}],
                             "volumes": [{"name": "late", "persistentVolumeClaim": {
                                 "claimName": f"$kusion_path.{claim['id']}.metadata.name"}}]}})
    spec = Spec(controlled, tenant).apply([claim, pod])
    eventually(lambda: controlled.get_json("pod", "consumer", "-n", tenant))
    eventually(lambda: (spec.condition() or {}).get("status") == "Unknown")
    spec.delete()


def test_unhealthy_specs_do_not_hold_up_others(controlled, tenant):
    """More than the controller has workers: while they wait, and when they are tried again."""
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
             "spec": {"storageClassName": "none", "accessModes": ["ReadWriteOnce"],
                      "resources": {"requests": {"storage": "1Gi"}}}}
    unhealthy = [
        Spec(controlled, tenant, f"unhealthy-{n}").apply(
            [resource({**claim, "metadata": {"name": f"never-{n}", "namespace": tenant}})],
            timeout="20s", retryInterval="1s")
        for n in range(6)]
    for spec in unhealthy:
        eventually(lambda: spec.condition() and "applying" in spec.condition()["message"])
    healthy = Spec(controlled, tenant).apply([config_map("a", tenant)])
    healthy.wait("True", seconds=15)
    healthy.delete(seconds=15)
    for spec in unhealthy:
        assert spec.wait("False")["reason"] == "HealthCheckFailed"
    time.sleep(3)  # all are tried again
    healthy = Spec(controlled, tenant).apply([config_map("a", tenant)])
    healthy.wait("True", seconds=15)
    healthy.delete(seconds=15)
    for spec in unhealthy:
        controlled.api.patch(spec.path, {"spec": {"deletionPolicy": "Orphan"}}).must()
        spec.delete()
