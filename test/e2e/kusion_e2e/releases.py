"""Releases: previews that are requested, and what there is of all."""

import json
import time

from kusion_e2e.controller import STATE
from kusion_e2e.kinds import create, new_release, path_of
from kusion_e2e.states import states, stored_releases
from kusion_e2e.wait import eventually

TRIGGER = "api.kusion.io/reconcile-requested-at"
GC = 90  # seconds that the garbage collector may take: it learns of new kinds now and then


def releases_path(namespace, query=""):
    return f"/apis/api.kusion.io/v1/namespaces/{namespace}/releases{query}"


def releases_of(cluster, namespace):
    found = cluster.api.get(releases_path(namespace)).must().object["items"]
    for spec in cluster.api.get(f"/apis/api.kusion.io/v1/namespaces/{namespace}/specs").must().object["items"]:
        found += stored_releases(cluster, namespace, spec["metadata"]["name"])
    return {one["metadata"]["name"]: one for one in found}


def by_name(status):
    """The results in the status of a Release, by the names of the objects."""
    return {one["id"].rpartition(":")[2]: one for one in status["results"]}


def preview(cluster, namespace, spec, name, **fields):
    """Makes one, and waits for its end. Gives the Release, or None where it is gone already."""
    body = {"apiVersion": "api.kusion.io/v1", "kind": "Release",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"specRef": {"name": spec}, "operation": "Preview", **fields}}
    cluster.kubectl("create", "-f", "-", input=json.dumps(body))

    def ended():
        found = releases_of(cluster, namespace).get(name)
        assert not found or found["status"].get("phase") in ("succeeded", "failed"), found
        return found or True

    return eventually(ended)


def plan_of(cluster, namespace, spec):
    """What an apply of the Spec would do, by a Preview: the results, by id."""
    made = create(cluster, namespace, new_release("look", operation="Preview",
                                                  specRef={"name": spec})).must().object
    path = path_of("Release", namespace, made["metadata"]["name"])

    def ended():
        status = cluster.api.get(path).must().object.get("status", {})
        assert status.get("phase") in ("succeeded", "failed"), status
        return status

    status = eventually(ended)
    cluster.api.delete(path).must()
    assert status["phase"] == "succeeded", status
    return {one["id"]: one for one in status["results"]}


def ask(spec):
    """Requests a check, and waits for its end."""
    wanted = str(time.time_ns())
    spec.cluster.kubectl("annotate", "--overwrite", "spec.api.kusion.io", spec.name,
                         "-n", spec.namespace, f"{TRIGGER}={wanted}")

    def handled():
        assert spec.get()["status"].get("lastHandledReconcileAt") == wanted
        return True

    eventually(handled)


def left_of(cluster, namespace):
    """All objects that the operator keeps for Specs of a namespace."""
    kept = [f"State {one['metadata']['name']}" for one in states(cluster, namespace)]
    kept += [f"Release {name}" for name in releases_of(cluster, namespace)]
    for kind in ("configmaps", "secrets"):
        for one in cluster.api.get(f"/api/v1/namespaces/{STATE}/{kind}").must().object["items"]:
            annotations = one["metadata"].get("annotations", {})
            if namespace in annotations.values():
                kept.append(f"{kind} {one['metadata']['name']}")
    return kept
