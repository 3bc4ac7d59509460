"""Annotations that say how one object is to be treated: ours, and those of tools that it came from."""

import json

import pytest

from kusion_e2e.kinds import create, new_release
from kusion_e2e.long import sampled
from kusion_e2e.specs import config_map
from kusion_e2e.wait import eventually
from test_policies import Team


@pytest.fixture
def team(controlled, tenant):
    made = Team(controlled, tenant)
    yield made
    made.spec.delete()


def annotated(team, name, annotations, **data):
    made = team.config(name, **data)
    made["attributes"]["metadata"]["annotations"] = annotations
    return made


OURS = "api.kusion.io/"
FLUX = "kustomize.toolkit.fluxcd.io/"
KEEPERS = {
    "ours": {OURS + "prune": "disabled"},
    "ours, not reconciled": {OURS + "reconcile": "disabled"},
    "Helm": {"helm.sh/resource-policy": "keep"},
    "Flux": {FLUX + "prune": "disabled"},
    "Flux, not reconciled": {FLUX + "reconcile": "disabled"},
    "Argo CD": {"argocd.argoproj.io/sync-options": "ServerSideApply=true,Prune=false"},
    "Argo CD, of a deletion": {"argocd.argoproj.io/sync-options": "Delete=false"},
    "cli-utils": {"client.lifecycle.config.k8s.io/deletion": "detach"},
    "kapp": {"kapp.k14s.io/delete-strategy": "orphan"},
}


@pytest.mark.parametrize("tool", KEEPERS)
@sampled
def test_what_is_kept_stays_when_it_leaves_the_spec(team, tool):
    keeper = KEEPERS[tool]
    # of an object that is not reconciled, the annotation is set after it was made
    made = annotated(team, "kept", {} if "reconciled" in tool else keeper)
    team.apply(made, team.config("goes")).ready()
    team.cluster.api.patch(team.path("kept"), {"metadata": {"annotations": keeper}}).must()
    shown = team.preview(resources=[])
    stays = next(one for one in shown["results"] if one["id"].endswith(":kept"))
    assert stays["action"] == "forget" and "it stays" in stays["message"], stays
    assert next(iter(keeper)) in stays["message"], stays
    team.apply().ready()
    assert team.data("goes") is None and team.data("kept")
    assert team.spec.state() == {}


@pytest.mark.parametrize("how", ["the Spec is deleted", "a Destroy"])
def test_what_is_kept_survives(controlled, tenant, how):
    team = Team(controlled, tenant)
    team.apply(annotated(team, "kept", {OURS + "prune": "disabled"}), team.config("goes")).ready()
    if how == "a Destroy":
        create(team.cluster, team.namespace,
               new_release("destroy", operation="Destroy", specRef={"name": "spec"})).must()
        eventually(lambda: team.data("goes") is None)
    team.spec.delete()
    assert team.data("goes") is None and team.data("kept")


def test_a_person_may_keep_a_live_object(team):
    """By kubectl: it is no drift."""
    team.apply(team.config("a"), team.config("b"), interval="1s").ready()
    team.cluster.kubectl("-n", team.namespace, "annotate", "configmap", "a", "helm.sh/resource-policy=keep", "other=1")
    eventually(lambda: "other" not in team.get("a")["metadata"]["annotations"])
    assert team.get("a")["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
    team.apply().ready()
    assert team.data("a") and team.data("b") is None


def test_an_object_that_was_handed_over_is_not_kept_for_ever(team):
    """The annotation by which its tool let go of it goes with the adoption."""
    team.make("a", manager="kustomize-controller", annotations={FLUX + "prune": "disabled"}, a="ours")
    team.apply(team.config("a")).ready()
    assert FLUX + "prune" not in team.get("a")["metadata"]["annotations"]
    team.apply().ready()
    assert team.data("a") is None


def test_a_namespace_with_something_that_is_kept_stays(team):
    """Its deletion would take it along."""
    name = f"{team.namespace}-inner"
    namespace = {"id": f"v1:Namespace:{name}", "type": "Kubernetes",
                 "attributes": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}}
    kept = config_map("kept", name)
    kept["attributes"]["metadata"]["annotations"] = {"helm.sh/resource-policy": "keep"}
    try:
        team.apply(namespace, kept).ready()
        team.apply()
        ready = team.failure()
        assert ready["reason"] == "DeletionGuardTripped", ready
        assert "which an annotation keeps from deletion" in ready["message"], ready
        assert team.cluster.api.get(f"/api/v1/namespaces/{name}/configmaps/kept").ok
    finally:
        team.cluster.kubectl("annotate", "namespace", name, "api.kusion.io/deletion-guard=disabled")


def test_it_may_be_replaced_by_its_own_annotation_alone(team):
    """What is immutable in it cannot be changed by the Spec's `force`."""
    made = annotated(team, "a", {"helm.sh/resource-policy": "keep"})
    made["attributes"]["immutable"] = True
    team.apply(made).ready()
    uid = team.get("a")["metadata"]["uid"]
    made["attributes"]["data"] = {"a": "changed"}
    team.apply(made, force=True)
    assert team.failure()["reason"] == "ImmutableField"
    assert team.get("a")["metadata"]["uid"] == uid
    made["attributes"]["metadata"]["annotations"][OURS + "force"] = "enabled"
    team.cluster.api.patch(team.path("a"), {"metadata": {"annotations": {OURS + "force": "enabled"}}}).must()
    team.apply(made, force=True).ready()
    assert team.data("a") == {"a": "changed"} and team.get("a")["metadata"]["uid"] != uid


# ---- ssa


@pytest.mark.parametrize("prefix", [OURS, FLUX], ids=["ours", "Flux"])
def test_if_not_present_makes_it_and_leaves_it_then(team, prefix):
    how = {prefix + "ssa": "IfNotPresent"}
    team.apply(annotated(team, "a", how, a="1")).ready()
    assert team.data("a") == {"a": "1"}
    team.apply(annotated(team, "a", how, a="2"), interval="1s").ready()
    assert team.data("a") == {"a": "1"}
    team.cluster.api.delete(team.path("a")).must()
    eventually(lambda: team.data("a") == {"a": "2"})
    team.apply().ready()
    assert team.data("a") is None  # it was ours


def test_if_not_present_leaves_what_others_made(team):
    before = team.make("a", a="theirs")
    team.apply(annotated(team, "a", {OURS + "ssa": "IfNotPresent"})).ready()
    assert team.get("a") == before
    team.apply().ready()
    assert team.get("a") == before  # and it is not deleted


@pytest.mark.parametrize("how", [{OURS + "ssa": "Ignore"}, {OURS + "reconcile": "disabled"}], ids=["ssa", "reconcile"])
def test_what_is_ignored_is_not_made(team, how):
    team.apply(annotated(team, "a", how), team.config("b")).ready()
    assert team.data("a") is None and team.data("b")


def test_a_person_stops_the_corrections_of_one_object(team):
    team.apply(team.config("a"), team.config("b"), interval="1s").ready()
    team.cluster.kubectl("-n", team.namespace, "annotate", "configmap", "a", OURS + "reconcile=disabled")
    for name in ("a", "b"):
        team.cluster.kubectl("-n", team.namespace, "patch", "configmap", name, "-p", '{"data": {"a": "theirs"}}')
    eventually(lambda: team.data("b") == {"a": "ours"})
    assert team.data("a") == {"a": "theirs"}
    team.cluster.kubectl("-n", team.namespace, "annotate", "configmap", "a", OURS + "reconcile-")
    eventually(lambda: team.data("a") == {"a": "ours"})


def test_merge_keeps_what_people_add(team):
    merged = annotated(team, "a", {OURS + "ssa": "Merge"})
    team.apply(merged, team.config("b"), interval="1s").ready()
    for name in ("a", "b"):
        team.cluster.kubectl("-n", team.namespace, "patch", "configmap", name, "-p",
                             '{"data": {"a": "theirs", "added": "1"}}')
    eventually(lambda: team.data("b") == {"a": "ours"})
    eventually(lambda: team.data("a") == {"a": "ours", "added": "1"})


WRONG = [(OURS + "ssa", "Merged", "none of Override, Merge, IfNotPresent and Ignore"),
         (OURS + "prune", "false", "none of enabled and disabled"),
         (OURS + "reconcile", "off", "none of enabled and disabled")]


@pytest.mark.parametrize("key, value, why", WRONG)
def test_wrong_values_are_refused(team, key, value, why):
    team.apply(annotated(team, "a", {key: value}))
    ready = team.failure()
    assert ready["reason"] == "InvalidSpec" and why in ready["message"] and key in ready["message"], ready
    assert json.dumps(value) in ready["message"]
