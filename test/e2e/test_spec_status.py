"""What a Spec's status says when nothing is done, and while something is in the way."""

import pytest

from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.wait import eventually


@pytest.mark.parametrize("applied_before", [False, True])
def test_one_that_is_suspended_says_so(controlled, tenant, applied_before):
    spec = Spec(controlled, tenant)
    if applied_before:
        spec.apply([config_map("a", tenant)])
        spec.wait("True")
    spec.apply([config_map("a", tenant, {"a": "new"})], suspend=True)
    eventually(lambda: spec.condition("Finished"))
    status = spec.get()["status"]
    ready = next(one for one in status["conditions"] if one["type"] == "Ready")
    kept = ("True", 1) if applied_before else ("Unknown", 1)
    assert (ready["status"], ready["observedGeneration"]) == kept
    assert ready["reason"] == "Suspended" and "suspended" in ready["message"], ready
    assert status["policy"]["suspend"] is True
    assert bool(controlled.get_json("configmap", "a", "-n", tenant)) is applied_before
    spec.apply([config_map("a", tenant, {"a": "new"})])
    spec.wait("True")
    assert controlled.get_json("configmap", "a", "-n", tenant)["data"] == {"a": "new"}
    spec.delete()


def test_one_that_does_not_go_names_what_is_in_the_way(controlled, tenant):
    spec = Spec(controlled, tenant).apply(
        [config_map("free", tenant), config_map("kept", tenant)], timeout="10s", retryInterval="1s")
    spec.wait("True")
    finalizers = {"metadata": {"finalizers": ["example.com/keep"]}}
    kept = f"/api/v1/namespaces/{tenant}/configmaps/kept"
    controlled.api.patch(kept, finalizers).must()
    controlled.api.delete(spec.path).must()
    eventually(lambda: spec.get()["status"]["conditions"][0]["reason"] == "PruneFailed")
    status = spec.get()["status"]
    assert [one["id"] for one in status["resources"]["failed"]] == [f"v1:ConfigMap:{tenant}:kept"]
    [failed] = status["resources"]["failed"]
    assert "being deleted: it has the finalizer example.com/keep" in failed["message"], failed
    assert (status["resources"]["total"], status["resources"]["ready"]) == (1, 0)
    assert (status["plan"]["create"], status["plan"]["delete"]) in ((0, 2), (0, 1))
    assert status["lastAttemptedRevision"] == spec.releases()[-1]["status"]["revision"] == 2
    controlled.api.patch(kept, {"metadata": {"finalizers": None}}).must()
    eventually(lambda: spec.get() is None)


def test_one_that_waits_names_what_it_waits_for(controlled, tenant):
    claim = resource({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                      "metadata": {"name": "never", "namespace": tenant},
                      "spec": {"storageClassName": "none", "accessModes": ["ReadWriteOnce"],
                               "resources": {"requests": {"storage": "1Gi"}}}})
    spec = Spec(controlled, tenant).apply([claim])
    expected = f"applying: 0 of 1 done, waiting for {claim['id']}: not Bound yet"
    eventually(lambda: spec.condition() and spec.condition()["message"] == expected)
    line = columns(controlled, "release", "spec-1", tenant)
    assert (line["PHASE"], line["SUMMARY"]) == ("applying", "0 of 1 done, waiting for never: not Bound yet")
    spec.delete()


def columns(cluster, kind, name, namespace):
    """What `kubectl get` shows of one object, by column."""
    lines = cluster.kubectl("get", kind, name, "-n", namespace).stdout.splitlines()
    starts = [lines[0].index(word) for word in lines[0].split()]
    ends = [*starts[1:], None]
    return {lines[0][start:end].strip(): lines[1][start:end].strip()
            for start, end in zip(starts, ends)}


def test_kubectl_get_shows_it_in_a_line(controlled, tenant):
    spec = Spec(controlled, tenant).apply([config_map("a", tenant)])
    spec.wait("True")
    line = columns(controlled, "spec", "spec", tenant)
    assert line.pop("AGE")
    assert line == {"NAME": "spec", "READY": "True", "REASON": "ReconciliationSucceeded",
                    "STATUS": "revision 1: 1 created"}
    line = columns(controlled, "release", "spec-1", tenant)
    assert line.pop("AGE")
    assert line == {"NAME": "spec-1", "OPERATION": "Apply", "PHASE": "succeeded",
                    "SUMMARY": "1 created", "APPROVER": ""}
    spec.apply([config_map("a", tenant)] + [config_map(f"m{i}", f"{tenant}-not") for i in range(9)])
    spec.wait("False")
    line = columns(controlled, "spec", "spec", tenant)
    assert (line["READY"], line["REASON"]) == ("False", "NamespaceNotFound")
    assert line["STATUS"].startswith(f'9 of 10 failed: namespaces "{tenant}-not" not found: create ')
    assert line["STATUS"].endswith("… (9x)")
    spec.apply([config_map("a", tenant, depends_on=["x" * 200])])
    spec.wait("False")
    line = columns(controlled, "spec", "spec", tenant)
    assert line["REASON"] == "InvalidSpec" and line["STATUS"].endswith("x…")
    assert len(line["STATUS"]) <= 100
    spec.delete()


def test_it_tells_what_the_spec_owns(controlled, tenant):
    maps = [config_map(f"m{i:03}", tenant) for i in range(103)]
    spec = Spec(controlled, tenant).apply(maps[:2])
    spec.wait("True")
    status = spec.get()["status"]
    entries = [{"id": one["id"], "type": "Kubernetes"} for one in maps]
    assert status["inventory"] == {"total": 2, "entries": entries[:2], "omitted": 0}
    found = controlled.kubectl("get", "configmaps", "-n", tenant, "-o", "name", "-l",
                               f"api.kusion.io/owner={status['owner']}").stdout.split()
    assert found == ["configmap/m000", "configmap/m001"]
    spec.apply([*maps, config_map("bad", f"{tenant}-not")])
    spec.wait("False")
    inventory = spec.get()["status"]["inventory"]
    assert inventory == {"total": 103, "entries": entries[:100], "omitted": 3}
    spec.apply([])
    spec.wait("True")
    assert spec.get()["status"]["inventory"] == {"total": 0, "entries": [], "omitted": 0}
    spec.delete()


def test_a_preview_says_what_would_change(controlled, tenant):
    spec = Spec(controlled, tenant).apply([config_map("a", tenant), config_map("b", tenant)])
    spec.wait("True")
    spec.apply([config_map("a", tenant, {"a": "new"}), config_map("c", tenant)], suspend=True)
    controlled.api.create(f"/apis/api.kusion.io/v1/namespaces/{tenant}/releases", {
        "apiVersion": "api.kusion.io/v1", "kind": "Release", "metadata": {"name": "look"},
        "spec": {"specRef": {"name": "spec"}, "operation": "Preview"}}).must()
    controlled.kubectl("wait", "--for=condition=Finished", "release/look", "-n", tenant,
                       "--timeout=60s")
    line = columns(controlled, "release", "look", tenant)
    assert line["SUMMARY"] == "1 to create, 1 to update, 1 to delete"
    spec.delete()
