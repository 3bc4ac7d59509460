"""What docs/gitops.md says about Flux, with Flux's kustomize-controller: hack/soak flux builds it."""

import re
import time

import pytest
import yaml

from kusion_e2e.approved import MANUAL
from kusion_e2e.flux import PROGRAM, Flux, Kustomization
from kusion_e2e.gitops import BROKEN, free, hold, object_of, release, spec_of, written
from kusion_e2e.paths import ROOT
from kusion_e2e.specs import Spec, config_map, held
from kusion_e2e.wait import eventually

PAGE = ROOT / "docs/gitops.md"


pytestmark = pytest.mark.skipif(not PROGRAM, reason="takes minutes to build: hack/soak flux")


@pytest.fixture(scope="module")
def flux(controlled):
    flux = Flux(controlled)
    yield flux
    flux.close()


@pytest.fixture
def kustomization(flux, tenant):
    """Makes them; those that a test leaves are deleted, the last first."""
    made = []

    def make(name="apps", **fields):
        made.append(Kustomization(flux, f"{tenant}-{name}", **fields))
        return made[-1]

    yield make
    for one in reversed(made):
        if one.cluster.api.get(one.path).ok:
            one.delete()


def test_it_is_ready_when_the_spec_is_and_not_before(cluster, tenant, kustomization):
    apps = kustomization().commit(written(tenant, held(tenant))).begin()
    spec = spec_of(cluster, tenant)
    eventually(lambda: (spec.condition() or {}).get("reason") == "Progressing")
    eventually(lambda: apps.get()["status"].get("inventory"))
    assert apps.ready()["status"] == "Unknown"
    release(cluster, tenant)
    spec.wait("True")
    apps.wait("True")
    # A new commit: the Ready of the generation before does not count.
    apps.commit(written(tenant, held(tenant), held(tenant, "second")))
    eventually(lambda: cluster.api.get(f"/apis/apps/v1/namespaces/{tenant}/deployments/second").ok)
    assert apps.ready()["status"] == "Unknown" or apps.get()["status"]["lastAppliedRevision"] != apps.revision
    eventually(lambda: any(pod["metadata"]["name"].startswith("second") for pod in
                           cluster.api.get(f"/api/v1/namespaces/{tenant}/pods").must().object["items"]))
    release(cluster, tenant)
    apps.wait("True")
    assert spec.get()["status"]["observedGeneration"] == spec.get()["metadata"]["generation"]


def test_a_spec_that_fails_makes_it_fail_at_once(cluster, tenant, kustomization):
    apps = kustomization(timeout="10m").commit(written(tenant, BROKEN)).begin()
    ready = apps.wait("False", seconds=60)
    assert ready["reason"] == "HealthCheckFailed"
    said = f"failed early due to stalled resources: [Spec/{tenant}/spec status: 'Failed']"  # as the page quotes it
    assert said in ready["message"], ready
    apps.commit(written(tenant, config_map("mended", tenant)))
    apps.wait("True")


def test_one_that_depends_on_another_waits_for_its_specs(cluster, tenant, kustomization):
    first = kustomization("first").commit(written(tenant, held(tenant), name="first"))
    second = kustomization("second", dependsOn=[{"name": first.name}])
    second.commit(written(tenant, config_map("after", tenant), name="second"))
    first.revision = second.revision  # one repository
    second.begin()
    first.begin()
    eventually(lambda: (spec_of(cluster, tenant, "first").condition() or {}).get("reason") == "Progressing")
    eventually(lambda: (second.ready() or {}).get("reason") == "DependencyNotReady")
    assert Spec(cluster, tenant, "second").get() is None
    release(cluster, tenant)
    second.wait("True")
    assert object_of(cluster, tenant, "after").ok


def test_what_leaves_git_goes_with_all_that_it_made(cluster, tenant, kustomization):
    stays = written(tenant, config_map("stays", tenant), name="stays")
    leaves = written(tenant, config_map("leaves", tenant), name="leaves")
    apps = kustomization().commit(stays, leaves).begin()
    apps.wait("True")
    hold(cluster, tenant, "leaves")
    apps.commit(stays)
    spec = Spec(cluster, tenant, "leaves")
    eventually(lambda: spec.get()["metadata"].get("deletionTimestamp"))
    apps.wait("True")  # it does not wait for what leaves
    assert spec.get() and object_of(cluster, tenant, "leaves").ok
    free(cluster, tenant, "leaves")
    eventually(lambda: spec.get() is None)
    assert object_of(cluster, tenant, "leaves").code == 404 and object_of(cluster, tenant, "stays").ok


def test_a_kustomization_that_is_deleted_waits_where_it_is_told_to(cluster, tenant, kustomization):
    apps = kustomization(deletionPolicy="WaitForTermination").commit(written(tenant, config_map("one", tenant))).begin()
    apps.wait("True")
    hold(cluster, tenant, "one")
    cluster.api.delete(apps.path).must()
    spec = Spec(cluster, tenant)
    eventually(lambda: spec.get()["metadata"].get("deletionTimestamp"))
    time.sleep(3)  # longer than one look of Flux's
    assert apps.get() and spec.get()
    free(cluster, tenant, "one")
    eventually(lambda: cluster.api.get(apps.path).code == 404)
    assert spec.get() is None


def test_what_kubectl_suspends_goes_on_at_its_next_interval(cluster, tenant, kustomization):
    apps = kustomization().commit(written(tenant, config_map("one", tenant))).begin()
    apps.wait("True")
    spec = spec_of(cluster, tenant)
    suspend = ("patch", "spec", "spec", "-n", tenant, "--type=merge", "-p", '{"spec":{"suspend":true}}')
    cluster.kubectl(*suspend)
    apps.reconcile()
    eventually(lambda: not spec.get()["spec"].get("suspend"))
    # The Kustomization first: then it stays.
    apps.patch(suspend=True)
    cluster.kubectl(*suspend)
    apps.cluster.api.patch(apps.path, {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "now"}}}).must()
    eventually(lambda: (spec.get()["status"]["conditions"] and
                        next(one for one in spec.get()["status"]["conditions"] if one["type"] == "Ready")["reason"]
                        == "Suspended"))
    assert spec.get()["spec"]["suspend"] is True
    apps.patch(suspend=False)
    eventually(lambda: not spec.get()["spec"].get("suspend"))


def test_a_spec_that_is_suspended_in_git(cluster, tenant, kustomization):
    apps = kustomization(timeout="30s").commit(written(tenant, config_map("one", tenant), suspend=True)).begin()
    ready = apps.wait("False")
    assert "timeout waiting for" in ready["message"] and "'InProgress'" in ready["message"], ready
    apps.commit(written(tenant, config_map("one", tenant)))
    apps.wait("True")
    apps.commit(written(tenant, config_map("one", tenant, {"a": "changed"}), suspend=True))
    apps.wait("True")
    assert object_of(cluster, tenant, "one").object["data"] == {"a": "b"}


def test_a_plan_that_waits_for_approval_is_in_progress(cluster, tenant, kustomization):
    apps = kustomization(timeout="30s").commit(written(tenant, config_map("one", tenant), **MANUAL)).begin()
    ready = apps.wait("False")
    assert ready["reason"] == "HealthCheckFailed" and "InProgress" in ready["message"], ready


def test_the_expressions_of_the_page(cluster, tenant, kustomization):
    """A plan that waits for an approval holds nobody up."""
    [block] = [yaml.safe_load(one) for one in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
               if "healthCheckExprs" in one]
    expressions = block["spec"]["healthCheckExprs"]
    waits = kustomization("waits", healthCheckExprs=expressions).commit(
        written(tenant, config_map("one", tenant), name="waits", **MANUAL)).begin()
    waits.wait("True")
    assert spec_of(cluster, tenant, "waits").condition()["reason"] == "AwaitingApproval"
    assert object_of(cluster, tenant, "one").code == 404
    fails = kustomization("fails", timeout="10m", healthCheckExprs=expressions).commit(
        written(tenant, BROKEN, name="fails")).begin()
    assert fails.wait("False")["reason"] == "HealthCheckFailed"
    works = kustomization("works", healthCheckExprs=expressions).commit(
        written(tenant, held(tenant), name="works")).begin()
    eventually(lambda: (spec_of(cluster, tenant, "works").condition() or {}).get("reason") == "Progressing")
    assert works.ready()["status"] == "Unknown"
    release(cluster, tenant)
    works.wait("True")


def test_a_spec_that_was_rolled_back_is_failed_until_the_commit_is_reverted(cluster, tenant, kustomization):
    apps = kustomization().commit(written(tenant, config_map("one", tenant, {"version": "1"}))).begin()
    apps.wait("True")
    apps.commit(written(tenant, config_map("one", tenant, {"version": "2"})))
    apps.wait("True")
    cluster.api.create(f"/apis/api.kusion.io/v1/namespaces/{tenant}/releases", {
        "apiVersion": "api.kusion.io/v1", "kind": "Release", "metadata": {"name": "back", "namespace": tenant},
        "spec": {"operation": "Rollback", "specRef": {"name": "spec"}, "toRevision": 1}}).must()
    spec = spec_of(cluster, tenant)
    eventually(lambda: spec.condition()["reason"] == "RolledBack")
    apps.reconcile()
    ready = apps.wait("False")
    assert ready["reason"] == "HealthCheckFailed" and "'Failed'" in ready["message"], ready
    assert object_of(cluster, tenant, "one").object["data"] == {"version": "1"}
    apps.commit(written(tenant, config_map("one", tenant, {"version": "1"})))
    apps.wait("True")


def test_an_object_moves_from_a_kustomization_into_a_spec(cluster, tenant, kustomization):
    alone = config_map("moved", tenant)["attributes"]
    keep = {"kustomize.toolkit.fluxcd.io/prune": "disabled"}
    apps = kustomization().commit({**alone, "metadata": {**alone["metadata"], "annotations": keep}}).begin()
    apps.wait("True")
    uid = object_of(cluster, tenant, "moved").object["metadata"]["uid"]
    apps.commit(written(tenant, config_map("moved", tenant), adoptionPolicy="AdoptAll"))
    apps.wait("True")
    moved = object_of(cluster, tenant, "moved").object["metadata"]
    assert moved["uid"] == uid and "fluxcd" not in str(moved), moved
    # It goes with the Spec's resource then.
    apps.commit(written(tenant, config_map("other", tenant)))
    apps.wait("True")
    assert object_of(cluster, tenant, "moved").code == 404
