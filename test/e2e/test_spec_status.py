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
    assert (status["resources"]["total"], status["resources"]["ready"]) == (1, 0)
    assert (status["plan"]["create"], status["plan"]["delete"]) in ((0, 2), (0, 1))
    assert status["lastAttemptedRevision"] == spec.releases()[-1]["status"]["revision"] == 2
    controlled.api.patch(kept, {"metadata": {"finalizers": None}}).must()
    eventually(lambda: spec.get() is None)
    assert [one["status"]["phase"] for one in spec.releases()] == ["succeeded"] * 2


def test_one_that_waits_names_what_it_waits_for(controlled, tenant):
    claim = resource({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                      "metadata": {"name": "never", "namespace": tenant},
                      "spec": {"storageClassName": "none", "accessModes": ["ReadWriteOnce"],
                               "resources": {"requests": {"storage": "1Gi"}}}})
    spec = Spec(controlled, tenant).apply([claim])
    expected = f"applying: waiting for {claim['id']}: not Bound yet"
    eventually(lambda: spec.condition() and spec.condition()["message"] == expected)
    spec.delete()
