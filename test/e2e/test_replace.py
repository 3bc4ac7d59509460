"""An object that cannot be changed as the Spec wants it is deleted and created again, where that is
allowed."""

import json
import re

import pytest

from kusion_e2e.approved import Approved
from kusion_e2e.history import History
from kusion_e2e.releases import preview
from kusion_e2e.shell import type_in
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.wait import eventually

FINALIZER = "example.com/hold"
FORCE = {"api.kusion.io/force": "enabled"}
POD = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}


def thing(api, kind, namespace, annotations=None, **fields):
    metadata = {"name": "x", "namespace": namespace, "annotations": annotations or {}}
    return resource({"apiVersion": api, "kind": kind, "metadata": metadata, **fields})


def secret(namespace, type, **more):
    return thing("v1", "Secret", namespace, type=f"example.com/{type}", **more)


def job(namespace, value, **more):
    env = [{"name": "PASSWORD", "value": f"s3cret-{value}"}]
    container = {"name": "c", "image": "i", "env": env}
    return thing("batch/v1", "Job", namespace, **more, spec={
        "suspend": True, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}})


def claim(namespace, storage_class, **more):
    return thing("v1", "PersistentVolumeClaim", namespace, **more, spec={
        "accessModes": ["ReadWriteOnce"], "storageClassName": storage_class,
        "resources": {"requests": {"storage": "1Gi"}}})


def path_of(one):
    api, plurals = one["attributes"]["apiVersion"], {"Secret": "secrets", "Job": "jobs",
                                                     "PersistentVolumeClaim": "persistentvolumeclaims"}
    metadata, kind = one["attributes"]["metadata"], one["attributes"]["kind"]
    root = "/api/v1" if api == "v1" else f"/apis/{api}"
    return f"{root}/namespaces/{metadata['namespace']}/{plurals[kind]}/{metadata['name']}"


def get(cluster, one):
    found = cluster.api.get(path_of(one))
    return found.object if found.ok else None


def uid(cluster, one):
    return (get(cluster, one) or {}).get("metadata", {}).get("uid")


def hold(cluster, one, finalizers):
    cluster.api.patch(path_of(one), {"metadata": {"finalizers": finalizers}}).must()


def message(spec):
    return (spec.condition() or {}).get("message", "")


def result_of(release, one):
    return next(found for found in release["status"]["results"] if found["id"] == one["id"])


def test_what_is_allowed_waits_until_the_old_one_is_gone(controlled, tenant):
    """And what depends on it follows."""
    cluster, spec = controlled, Spec(controlled, tenant)
    before, after = secret(tenant, "one"), secret(tenant, "two")
    uses = config_map("uses", tenant, {"uid": f"$kusion_path.{before['id']}.metadata.uid"})
    follows = config_map("follows", tenant, depends_on=[before["id"]])
    spec.apply([before, uses, follows], retryInterval="1s").wait("True")
    old = uid(cluster, before)

    spec.apply([after, uses, follows], retryInterval="1s")
    ready = spec.wait("False")
    assert ready["reason"] == "ImmutableField", ready
    assert ": type: Invalid value: (redacted): field is immutable" in ready["message"], ready
    assert "or the Spec force: true" in ready["message"], ready
    assert f"\nto allow it: kubectl annotate secrets x --namespace={tenant} " in ready["message"]
    assert uid(cluster, before) == old

    hold(cluster, before, [FINALIZER])
    spec.apply([after, uses, follows], force=True)
    eventually(lambda: f"it has the finalizer {FINALIZER}" in message(spec))
    assert get(cluster, before)["metadata"]["deletionTimestamp"] and uid(cluster, before) == old
    hold(cluster, before, None)
    spec.wait("True")
    new = get(cluster, after)
    assert new["type"] == "example.com/two" and new["metadata"]["uid"] != old
    used = cluster.api.get(f"/api/v1/namespaces/{tenant}/configmaps/uses").must().object
    assert used["data"]["uid"] == new["metadata"]["uid"]

    release = spec.releases()[-1]
    result = result_of(release, after)
    assert result["action"] == "replace" and result["message"] == "type cannot be changed in place"
    assert {"path": "type", "from": '"example.com/one"', "to": '"example.com/two"'} in result["fields"]
    assert "1 replaced" in json.dumps(release["status"]["conditions"]), release["status"]
    assert spec.state() == {after["id"]: new["metadata"]["uid"], **{
        key: value for key, value in spec.state().items() if key != after["id"]}}
    spec.delete()


def test_a_job_that_has_ended_is_replaced_without_a_mark(controlled, tenant):
    cluster, spec = controlled, Spec(controlled, tenant)
    before, after = job(tenant, "one"), job(tenant, "two")
    follows = config_map("follows", tenant, depends_on=[before["id"]])
    spec.apply([before], wait=False).wait("True")
    old = uid(cluster, before)
    spec.apply([after, follows], retryInterval="1s")
    eventually(lambda: "the Job has not ended: when it has, it is replaced" in message(spec))
    shown = preview(cluster, tenant, "spec", "seen")
    assert result_of(shown, before)["action"] == "deferred"
    assert uid(cluster, before) == old

    cluster.api.patch(f"{path_of(before)}/status", {"status": {
        "startTime": "2026-01-01T00:00:00Z", "conditions": [
            {"type": "FailureTarget", "status": "True"}, {"type": "Failed", "status": "True"}]}}).must()
    eventually(lambda: uid(cluster, before) not in (None, old), seconds=45)
    env = get(cluster, after)["spec"]["template"]["spec"]["containers"][0]["env"]
    assert env[0]["value"] == "s3cret-two"
    said = json.dumps([spec.get()["status"], [one["status"] for one in spec.releases()], spec.events()])
    assert "Invalid value" not in said
    spec.apply([], suspend=False).wait("True")
    spec.delete()


def test_what_holds_data_needs_its_own_annotation(controlled, tenant):
    cluster, spec = controlled, Spec(controlled, tenant)
    spec.apply([claim(tenant, "one")], wait=False).wait("True")
    old = uid(cluster, claim(tenant, "one"))
    spec.apply([claim(tenant, "two")], wait=False, force=True, retryInterval="10m")
    ready = spec.wait("False")
    assert ready["reason"] == "ImmutableField" and "delete it with all that it holds" in ready["message"]
    assert ready["message"].endswith("\nnext try within 10m")
    command = re.search(r"\nto allow it: (kubectl annotate .*)", ready["message"]).group(1)
    type_in(cluster, command)  # F5: and it is replaced at once
    spec.wait("True")
    assert uid(cluster, claim(tenant, "two")) not in (None, old)
    assert "annotations" not in get(cluster, claim(tenant, "two"))["metadata"] or \
        "api.kusion.io/force" not in get(cluster, claim(tenant, "two"))["metadata"]["annotations"]
    spec.apply([claim(tenant, "three", annotations=FORCE)], wait=False).wait("True")
    assert get(cluster, claim(tenant, "three"))["spec"]["storageClassName"] == "three"
    spec.apply([claim(tenant, "four", annotations={"api.kusion.io/force": "disabled"})], wait=False, force=True)
    assert "forbids to replace it" in spec.wait("False")["message"]
    spec.delete()


@pytest.mark.parametrize("word", ["force=enabled", "reconcile=disabled"])
def test_what_a_person_says_on_the_object_is_heard_at_once(controlled, tenant, word):
    """F5: with no other command, where the Spec failed and is not tried again for long."""
    cluster, spec = controlled, Spec(controlled, tenant)
    spec.apply([claim(tenant, "one")], wait=False).wait("True")
    old = uid(cluster, claim(tenant, "one"))
    spec.apply([claim(tenant, "two")], wait=False, retryInterval="10m")
    assert spec.wait("False")["reason"] == "ImmutableField"
    cluster.kubectl("annotate", "persistentvolumeclaim", "x", "-n", tenant, f"api.kusion.io/{word}")
    spec.wait("True")
    assert (uid(cluster, claim(tenant, "two")) == old) == (word == "reconcile=disabled")
    cluster.kubectl("delete", "persistentvolumeclaim", "x", "-n", tenant)
    spec.delete()


def test_an_approved_plan_replaces_and_an_update_does_not_cover_it(controlled, tenant):
    cluster, spec = controlled, Approved(controlled, tenant)
    before, after = job(tenant, "one"), job(tenant, "two")
    spec.apply([before, config_map("c", tenant, {"a": "1"})], force=True, wait=False)
    spec.approve(spec.waiting(create=2))
    spec.wait("True")
    old = uid(cluster, before)

    spec.apply([after, config_map("c", tenant, {"a": "1"})], force=True, wait=False)
    release = spec.waiting(replace=1, unchanged=1)
    for _ in range(3):
        spec.look()
    assert spec.phases() == ["succeeded", "awaitingApproval"] and uid(cluster, before) == old
    spec.approve(release)
    spec.wait("True")
    assert uid(cluster, after) not in (None, old) and spec.phases() == ["succeeded"] * 2
    assert "1 replaced" in json.dumps(spec.releases()[-1]["status"]["conditions"])

    spec.apply([after, config_map("c", tenant, {"a": "2"})], force=True, wait=False)
    release = spec.waiting(update=1, replace=0)
    cluster.kubectl("patch", "configmap", "c", "-n", tenant, "--type=merge", "-p", '{"immutable":true}')
    spec.approve(release)
    release = spec.waiting(update=0, replace=1)
    assert spec.data("c") == {"a": "1"}
    spec.approve(release)
    spec.wait("True")
    assert spec.data("c") == {"a": "2"}
    spec.delete()


# ---- Definitions ----

def definition(group, scope):
    return resource({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}", "annotations": FORCE},
        "spec": {"group": group, "scope": scope,
                 "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "schema": {
                     "openAPIV3Schema": {"type": "object"}}}]}})


def test_a_definition_with_objects_of_others_is_not_replaced(controlled, tenant):
    cluster, spec = controlled, Spec(controlled, tenant)
    group = f"{tenant}.example.com"
    api, ours = f"{group}/v1", {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "ours"}}
    crd = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{group}"
    things = f"/apis/{api}/namespaces/{tenant}/things"
    spec.apply([definition(group, "Namespaced"), resource(ours)]).wait("True")
    old = cluster.api.get(crd).must().object["metadata"]["uid"]
    eventually(lambda: cluster.api.create(things, {**ours, "metadata": {"name": "theirs"}}).ok)

    spec.apply([definition(group, "Cluster"), resource(ours)], retryInterval="1s")
    ready = spec.wait("False")
    assert ready["reason"] == "DeletionGuardTripped" and "theirs" in ready["message"], ready
    assert cluster.api.get(crd).object["metadata"]["uid"] == old
    cluster.api.delete(f"{things}/theirs").must()
    spec.wait("True")
    made = cluster.api.get(crd).must().object
    assert made["metadata"]["uid"] != old and made["spec"]["scope"] == "Cluster"
    assert cluster.api.get(f"/apis/{api}/things/ours").ok
    # The garbage collector does not learn soon that the scope is another: it would not let ours go.
    spec.apply([], suspend=True).delete()
    cluster.api.delete(crd).must()


def test_what_has_to_be_replaced_by_a_value_that_is_known_only_later(controlled, tenant):
    """The next plan replaces it, at once."""

    def service(name):
        return resource({"apiVersion": "v1", "kind": "Service",
                         "metadata": {"name": name, "namespace": tenant},
                         "spec": {"ports": [{"port": 80}]}})

    def address_of(name):
        return thing("v1", "ConfigMap", tenant, FORCE, immutable=True, data={
            "address": f"$kusion_path.v1:Service:{tenant}:{name}.spec.clusterIP"})

    spec = Spec(controlled, tenant).apply([service("one"), address_of("one")])
    spec.wait("True")
    spec.apply([service("one"), service("two"), address_of("two")], retryInterval="10m")
    eventually(lambda: (spec.condition() or {}).get("status") == "True")
    releases = [one["status"] for one in spec.releases()]
    assert [one["summary"] for one in releases[::2]] == ["2 created", "1 replaced, 2 unchanged"]
    assert [one["reason"] for one in releases[1]["conditions"] if one["type"] == "Ready"] == ["PlanNeeded"]
