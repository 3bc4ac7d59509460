"""What docs/gitops.md says about Argo CD, with its application controller and repo-server: hack/soak argocd builds them."""

import re

import pytest
import yaml

from kusion_e2e.approved import MANUAL, Approved
from kusion_e2e.argocd import PROGRAM, Application, Argo
from kusion_e2e.gitops import BROKEN, free, hold, object_of, release, spec_of, written
from kusion_e2e.paths import OBJECTS
from kusion_e2e.shell import type_in
from kusion_e2e.specs import Spec, config_map, held
from kusion_e2e.wait import eventually

pytestmark = pytest.mark.skipif(not PROGRAM, reason="takes minutes to build: hack/soak argocd")


@pytest.fixture(scope="module")
def argo(controlled):
    argo = Argo(controlled)
    yield argo
    argo.close()


@pytest.fixture
def application(argo, tenant):
    """Makes them; those that a test leaves are deleted, the last first, with all that they made."""
    made = []

    def make(name="apps", **fields):
        made.append(Application(argo, f"{tenant}-{name}", **fields))
        return made[-1]

    yield make
    for one in reversed(made):
        if one.cluster.api.get(one.path).ok:
            one.delete()


def wave(number):
    return {"argocd.argoproj.io/sync-wave": str(number)}


def reason(spec):
    """Of Ready, for the generation of now."""
    spec.generation = spec.get()["metadata"]["generation"]
    return (spec.condition() or {}).get("reason")


def is_deleted(spec):
    return spec.get()["metadata"].get("deletionTimestamp") is not None


def test_it_is_healthy_when_the_spec_is_and_not_before(cluster, tenant, application):
    apps = application().commit(written(tenant, held(tenant))).begin()
    spec = spec_of(cluster, tenant)
    eventually(lambda: reason(spec) == "Progressing")
    apps.wait("Progressing")
    apps.wait_operation("Succeeded")  # without waves a sync does not wait
    eventually(lambda: "waiting for" in spec.condition()["message"])

    def has_its_message():
        apps.refresh()  # until then the message is of when it began
        return apps.spec_health() == ("Progressing", spec.condition()["message"])

    eventually(has_its_message)
    release(cluster, tenant)
    apps.wait("Healthy")
    assert apps.spec_health() == ("Healthy", spec.condition()["message"])
    # A new commit: the Ready of the generation before does not count.
    apps.commit(written(tenant, held(tenant), held(tenant, "second")))
    apps.wait("Progressing")
    eventually(lambda: any(pod["metadata"]["name"].startswith("second") for pod in
                           cluster.api.get(f"/api/v1/namespaces/{tenant}/pods").must().object["items"]))
    assert apps.health() == "Progressing"
    release(cluster, tenant)
    apps.wait("Healthy")


def test_a_spec_that_fails_is_degraded_with_its_message(cluster, tenant, application):
    apps = application().commit(written(tenant, BROKEN)).begin()
    apps.wait("Degraded")
    status, message = apps.spec_health()
    assert status == "Degraded" and message == spec_of(cluster, tenant).condition()["message"] and "no:such" in message
    apps.commit(written(tenant, config_map("mended", tenant)))
    apps.wait("Healthy")


@pytest.mark.parametrize("where", ["Release", "Spec"])
def test_a_plan_that_waits_for_approval_is_suspended_and_an_approval_stays(cluster, tenant, application, where):
    apps = application().commit(written(tenant, config_map("one", tenant), **MANUAL)).begin()
    apps.wait("Suspended")
    waits = Approved(cluster, tenant)
    waits.generation = spec_of(cluster, tenant).generation
    approved, before = waits.waiting(), apps.syncs()
    assert "approve" in apps.spec_health()[1], apps.spec_health()
    if where == "Release":
        typed = type_in(cluster, f"kubectl kusion approve spec -n {tenant} --yes")
        assert typed.returncode == 0, typed.stdout + typed.stderr
    else:
        waits.approve_in_spec(approved["status"]["plan"]["digest"])
    apps.wait("Healthy")
    apps.refresh(hard=True)
    apps.wait("Healthy")
    assert apps.syncs() == before and object_of(cluster, tenant, "one").ok
    assert waits.phases()[-1] == "succeeded"
    assert ("approvedPlan" in waits.get()["spec"]["approval"]) == (where == "Spec")


def test_an_approval_is_a_commit(cluster, tenant, application):
    """In the last wave: no sync waits."""
    before = written(tenant, config_map("before", tenant), name="before")
    apps = application().commit(before, written(tenant, config_map("one", tenant), annotations=wave(1), **MANUAL)).begin()
    apps.wait("Suspended")
    apps.wait_operation("Succeeded")
    waits = Approved(cluster, tenant)
    waits.generation = spec_of(cluster, tenant).generation
    digest = waits.waiting()["status"]["plan"]["digest"]
    apps.commit(before, written(tenant, config_map("one", tenant), annotations=wave(1),
                                approval={"mode": "Manual", "approvedPlan": digest}))
    apps.wait("Healthy")
    assert object_of(cluster, tenant, "one").ok


def test_one_that_is_suspended_in_git(cluster, tenant, application):
    apps = application().commit(written(tenant, config_map("one", tenant), suspend=True)).begin()
    apps.wait("Suspended")
    assert object_of(cluster, tenant, "one").code == 404
    apps.commit(written(tenant, config_map("one", tenant)))
    apps.wait("Healthy")


def test_a_wave_waits_for_the_specs_of_the_one_before(cluster, tenant, application):
    apps = application().commit(written(tenant, held(tenant), name="first", annotations=wave(0)),
                                written(tenant, config_map("after", tenant), name="second", annotations=wave(1))).begin()
    first = spec_of(cluster, tenant, "first")
    eventually(lambda: reason(first) == "Progressing")
    apps.wait_operation("Running", "waiting for healthy state of api.kusion.io/Spec/first")
    apps.refresh()
    assert Spec(cluster, tenant, "second").get() is None
    release(cluster, tenant)
    apps.wait("Healthy")
    apps.wait_operation("Succeeded")
    assert object_of(cluster, tenant, "after").ok


def test_a_wave_does_not_take_the_ready_of_before(cluster, tenant, application):
    def at(version):
        return [written(tenant, held(tenant, f"held-{version}"), name="first", annotations=wave(0)),
                written(tenant, config_map("after", tenant, {"version": version}), name="second", annotations=wave(1))]

    apps = application().commit(*at("1")).begin()
    eventually(lambda: reason(spec_of(cluster, tenant, "first")) == "Progressing")
    release(cluster, tenant)
    apps.wait("Healthy")
    apps.commit(*at("2"))
    apps.wait_operation("Running", "waiting for healthy state of api.kusion.io/Spec/first")
    eventually(lambda: cluster.api.get(f"/apis/apps/v1/namespaces/{tenant}/deployments/held-2").ok)
    assert object_of(cluster, tenant, "after").object["data"] == {"version": "1"}
    eventually(lambda: any(pod["metadata"]["name"].startswith("held-2") for pod in
                           cluster.api.get(f"/api/v1/namespaces/{tenant}/pods").must().object["items"]))
    release(cluster, tenant)
    apps.wait("Healthy")
    assert object_of(cluster, tenant, "after").object["data"] == {"version": "2"}


def test_a_sync_ends_where_the_first_wave_fails(cluster, tenant, application):
    second = written(tenant, config_map("after", tenant), name="second", annotations=wave(1))
    apps = application().commit(written(tenant, BROKEN, name="first", annotations=wave(0)), second)
    apps.policy["retry"] = {"limit": 0}
    apps.begin()
    apps.wait_operation("Failed", "one or more synchronization tasks completed unsuccessfully")
    assert Spec(cluster, tenant, "second").get() is None
    apps.commit(written(tenant, config_map("mended", tenant), name="first", annotations=wave(0)), second)
    apps.wait("Healthy")


@pytest.mark.parametrize("way_out", ["approve", "terminate"])
def test_a_wave_that_waits_for_approval_holds_later_commits_back(cluster, tenant, application, way_out):
    def at(version, **approval):
        return [written(tenant, config_map("one", tenant), name="first", annotations=wave(0),
                        approval={"mode": "Manual", **approval}),
                written(tenant, config_map("after", tenant, {"version": version}), name="second", annotations=wave(1))]

    apps = application().commit(*at("1")).begin()
    apps.wait_operation("Running", "waiting for healthy state of api.kusion.io/Spec/first")
    waits = Approved(cluster, tenant, "first")
    waits.generation = spec_of(cluster, tenant, "first").generation
    digest = waits.waiting()["status"]["plan"]["digest"]
    before = apps.revision
    apps.commit(*at("2", approvedPlan=digest))
    for _ in range(3):
        apps.refresh()
    assert apps.status()["operationState"]["operation"]["sync"]["revision"] == before
    assert "approvedPlan" not in waits.get()["spec"]["approval"] and waits.waiting()
    if way_out == "approve":
        typed = type_in(cluster, f"kubectl kusion approve first -n {tenant} --yes")
        assert typed.returncode == 0, typed.stdout + typed.stderr
    else:
        apps.terminate()
    apps.wait("Healthy")
    assert object_of(cluster, tenant, "after").object["data"] == {"version": "2"}


def test_what_leaves_git_goes_with_all_that_it_made(cluster, tenant, application):
    stays = written(tenant, config_map("stays", tenant), name="stays")
    apps = application().commit(stays, written(tenant, config_map("leaves", tenant), name="leaves")).begin()
    apps.wait("Healthy")
    hold(cluster, tenant, "leaves")
    apps.commit(stays)
    spec = Spec(cluster, tenant, "leaves")
    eventually(lambda: is_deleted(spec))
    apps.wait_operation("Succeeded")  # it does not wait for what leaves
    apps.wait("Progressing", sync="OutOfSync")
    assert apps.spec_health("leaves") == ("Progressing", "Pending deletion")
    assert object_of(cluster, tenant, "leaves").ok
    free(cluster, tenant, "leaves")
    apps.wait("Healthy")
    assert spec.get() is None and spec.state() is None
    assert object_of(cluster, tenant, "leaves").code == 404 and object_of(cluster, tenant, "stays").ok


def test_waves_are_pruned_the_last_first_and_each_waits(cluster, tenant, application):
    stays = written(tenant, config_map("stays", tenant), name="stays", annotations=wave(0))
    apps = application().commit(stays, *(written(tenant, config_map(f"of-{number}", tenant), name=f"wave-{number}",
                                                 annotations=wave(number)) for number in (1, 2))).begin()
    apps.wait("Healthy")
    hold(cluster, tenant, "of-2")
    apps.commit(stays)
    first, second = (Spec(cluster, tenant, f"wave-{number}") for number in (1, 2))
    eventually(lambda: is_deleted(second))
    apps.wait_operation("Running", "waiting for deletion of api.kusion.io/Spec/wave-2")
    apps.refresh()
    assert not is_deleted(first) and object_of(cluster, tenant, "of-1").ok
    free(cluster, tenant, "of-2")
    apps.wait("Healthy")
    assert first.get() is None and second.get() is None and object_of(cluster, tenant, "of-1").code == 404


def test_an_application_that_is_deleted_waits_for_its_specs(cluster, tenant, application):
    apps = application().commit(written(tenant, config_map("one", tenant))).begin()
    apps.wait("Healthy")
    hold(cluster, tenant, "one")
    cluster.api.delete(apps.path).must()
    spec = Spec(cluster, tenant)
    eventually(lambda: is_deleted(spec))
    apps.refresh()
    assert apps.get() and spec.get()
    free(cluster, tenant, "one")
    eventually(lambda: cluster.api.get(apps.path).code == 404)
    assert spec.get() is None and object_of(cluster, tenant, "one").code == 404


def test_a_spec_that_is_not_to_be_pruned_stays(cluster, tenant, application):
    stays = written(tenant, config_map("stays", tenant), name="stays")
    kept = written(tenant, config_map("kept", tenant), name="kept",
                   annotations={"argocd.argoproj.io/sync-options": "Prune=false"})
    apps = application().commit(stays, kept).begin()
    apps.wait("Healthy")
    apps.commit(stays)
    apps.wait("Healthy", sync="OutOfSync")
    assert not is_deleted(Spec(cluster, tenant, "kept")) and object_of(cluster, tenant, "kept").ok


def test_it_manages_the_spec_alone_and_heals_nothing_that_the_operator_does(cluster, tenant, application):
    labels = {"app.kubernetes.io/instance": "of-the-spec"}
    spec = written(tenant, config_map("one", tenant), held(tenant), annotations={"example.com/note": "of the Spec"})
    spec["metadata"]["labels"] = labels
    apps = application().commit(spec).begin()
    release(cluster, tenant)
    apps.wait("Healthy")
    assert [(one["kind"], one["name"]) for one in apps.status()["resources"]] == [("Spec", "spec")]
    live = spec_of(cluster, tenant)
    assert apps.name in live.get()["metadata"]["annotations"]["argocd.argoproj.io/tracking-id"]
    # Nothing that the operator makes has Argo CD's marks, or others of the Spec.
    objects = [cluster.get_json(kind, "-n", tenant, name) for kind, name in (("configmap", "one"), ("deployment", "held"))]
    for one in [*live.releases(), *objects]:
        text = str([one["metadata"].get("labels"), one["metadata"].get("annotations")])
        assert "argocd" not in text and "of-the-spec" not in text and "of the Spec" not in text, text
    assert not any("ownerReferences" in one["metadata"] for one in objects)  # else it would show them below the Spec
    # What the operator and its users write to the Spec: finalizers, a requested reconcile, the status of drift.
    before, generation = apps.syncs(), live.get()["metadata"]["generation"]
    cluster.api.patch(f"/api/v1/namespaces/{tenant}/configmaps/one?fieldManager=somebody", {"data": {"a": "drifted"}}).must()
    typed = type_in(cluster, f"kubectl kusion reconcile spec -n {tenant}")
    assert typed.returncode == 0, typed.stdout + typed.stderr
    eventually(lambda: object_of(cluster, tenant, "one").object["data"] == {"a": "b"})
    requested = "api.kusion.io/reconcile-requested-at"
    asked = live.get()["metadata"]["annotations"][requested]
    apps.refresh(hard=True)
    apps.wait("Healthy")
    now = live.get()
    assert now["metadata"]["annotations"][requested] == asked and now["metadata"]["finalizers"]
    assert now["metadata"]["generation"] == generation and apps.syncs() == before


@pytest.mark.parametrize("how", ["structured", "server", "client"])
def test_each_field_of_a_spec_is_synced_as_it_is_in_git(cluster, tenant, application, how):
    """Also where it compares by a dry-run of the API server, and where it applies by the client."""
    spec = yaml.safe_load((OBJECTS / "spec-every-field.yaml").read_text())
    spec.pop("status")
    spec["metadata"].update(name="spec", namespace=tenant)
    spec["spec"]["suspend"] = True  # it is about the fields alone
    options = {"server": "ServerSideDiff=true"}
    apps = application(annotations={"argocd.argoproj.io/compare-options": options[how]} if how in options else {})
    if how == "client":
        apps.policy["syncOptions"] = []
    apps.commit(spec).begin()
    apps.wait("Suspended")
    apps.refresh()
    apps.wait("Suspended")
    before = apps.syncs()
    apps.refresh(hard=True)
    apps.wait("Suspended")
    assert apps.syncs() == before


def test_what_people_suspend(cluster, tenant, application):
    """Argo CD leaves a field alone that Git does not have, and heals one that it has."""
    apps = application().commit(written(tenant, config_map("one", tenant))).begin()
    apps.wait("Healthy")
    spec = spec_of(cluster, tenant)
    suspend = f"kubectl kusion suspend spec -n {tenant}"
    typed = type_in(cluster, suspend)
    assert typed.returncode == 0, typed.stdout + typed.stderr
    apps.wait("Suspended")
    apps.refresh(hard=True)
    apps.wait("Suspended")
    assert spec.get()["spec"]["suspend"] is True
    # A commit.
    apps.commit(written(tenant, config_map("one", tenant, {"a": "changed"})))
    apps.wait("Suspended")
    assert spec.get()["spec"]["suspend"] is True
    # One that says so.
    apps.commit(written(tenant, config_map("one", tenant), suspend=False))
    apps.wait("Healthy")
    before = apps.syncs()
    type_in(cluster, suspend)
    eventually(lambda: apps.syncs() > before and spec.get()["spec"]["suspend"] is False)
    apps.wait("Healthy")


def test_a_spec_that_was_rolled_back_is_degraded_until_the_commit_is_reverted(cluster, tenant, application):
    apps = application().commit(written(tenant, config_map("one", tenant, {"version": "1"}))).begin()
    apps.wait("Healthy")
    apps.commit(written(tenant, config_map("one", tenant, {"version": "2"})))
    apps.wait("Healthy")
    before = apps.syncs()
    typed = type_in(cluster, f"kubectl kusion rollback spec -n {tenant} --to-revision 1 --yes")
    assert typed.returncode == 0, typed.stdout + typed.stderr
    assert "Argo CD" in typed.stderr, typed.stderr
    apps.wait("Degraded")
    apps.refresh(hard=True)
    apps.wait("Degraded")
    assert apps.syncs() == before and object_of(cluster, tenant, "one").object["data"] == {"version": "1"}
    apps.commit(written(tenant, config_map("one", tenant, {"version": "1"})))
    apps.wait("Healthy")


@pytest.mark.parametrize("policy", ["AdoptIfUnowned", "AdoptAll"])
def test_an_object_moves_from_an_application_into_a_spec(cluster, tenant, application, policy):
    alone = config_map("moved", tenant)["attributes"]
    stays = written(tenant, config_map("stays", tenant), name="stays")
    keep = {"argocd.argoproj.io/sync-options": "Prune=false"}
    apps = application().commit(stays, {**alone, "metadata": {**alone["metadata"], "annotations": keep}}).begin()
    apps.wait("Healthy")
    uid = object_of(cluster, tenant, "moved").object["metadata"]["uid"]
    apps.commit(stays, written(tenant, config_map("moved", tenant), adoptionPolicy=policy))
    if policy == "AdoptIfUnowned":
        apps.wait("Degraded", sync="OutOfSync")
        spec = spec_of(cluster, tenant)
        [command] = re.findall("hand it over: (kubectl annotate .*-)$", spec.condition()["message"], re.MULTILINE)
        typed = type_in(cluster, f"{command} && kubectl kusion reconcile spec -n {tenant}")
        assert typed.returncode == 0, typed.stdout + typed.stderr
    apps.wait("Healthy")
    moved = object_of(cluster, tenant, "moved").object["metadata"]
    assert moved["uid"] == uid and "argocd" not in str(moved), moved
    # It goes with the Spec's resource then.
    apps.commit(stays, written(tenant, config_map("other", tenant), adoptionPolicy=policy))
    apps.wait("Healthy")
    assert object_of(cluster, tenant, "moved").code == 404


def test_a_large_spec_needs_server_side_apply(cluster, tenant, application):
    large = written(tenant, *(config_map(f"large-{one}", tenant, {"text": "x" * 100_000}) for one in range(4)))
    application().commit(large).begin().wait("Healthy")
    client = application("client")
    client.policy.update(syncOptions=[], retry={"limit": 0})
    client.commit({**large, "metadata": {"name": "client", "namespace": tenant}}).begin()
    client.wait_operation("Failed", "metadata.annotations: Too long: may not be more than 262144 bytes")
