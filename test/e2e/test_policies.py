"""Fields that are about objects in which others have a part: conflictPolicy, adoptionPolicy, maxDeletions and
commonMetadata."""

import json

import pytest

from kusion_e2e.kinds import create, new_release, path_of
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.wait import eventually


class Team:
    """A namespace with a Spec, and what is in it."""

    def __init__(self, cluster, namespace):
        self.cluster, self.namespace = cluster, namespace
        self.spec = Spec(cluster, namespace)

    def path(self, name):
        return f"/api/v1/namespaces/{self.namespace}/configmaps/{name}"

    def config(self, name, **data):
        return config_map(name, self.namespace, data=data or {"a": "ours"})

    def apply(self, *resources, **fields):
        self.spec.apply(list(resources), **{"interval": "1h", "retryInterval": "1s", **fields})
        return self

    def ready(self):
        return self.spec.wait("True")["message"]

    def failure(self):
        return self.spec.wait("False")

    def get(self, name):
        answer = self.cluster.api.get(self.path(name))
        return answer.object if answer.ok else None

    def data(self, name):
        return (self.get(name) or {}).get("data")

    def make(self, name, manager="other", labels=None, annotations=None, **data):
        """By server-side apply of another manager."""
        body = {"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": name, "namespace": self.namespace, "labels": labels or {},
                             "annotations": annotations or {}}, "data": data}
        return self.cluster.api.apply(self.path(name), json.dumps(body), manager).must().object

    def preview(self, name="look", phase="succeeded", **fields):
        made = create(self.cluster, self.namespace, new_release(
            name, operation="Preview", specRef={"name": "spec"}, **fields)).must().object
        path = path_of("Release", self.namespace, made["metadata"]["name"])

        def ended():
            status = self.cluster.api.get(path).must().object.get("status", {})
            assert status.get("phase") in ("succeeded", "failed"), status
            return status

        status = eventually(ended)
        assert status["phase"] == phase, status
        return status


@pytest.fixture
def team(controlled, tenant):
    made = Team(controlled, tenant)
    yield made
    made.spec.delete()


# ---- conflictPolicy


def take(team, name, key, manager="rival", value="theirs"):
    team.cluster.api.patch(f"{team.path(name)}?fieldManager={manager}", {"data": {key: value}}).must()


def test_a_conflict_names_the_field_and_its_manager_and_changes_nothing(team):
    team.apply(team.config("a", a="1", b="1"), conflictPolicy="Fail").ready()
    take(team, "a", "a")
    before = team.get("a")
    team.apply(team.config("a", a="2", b="2"), team.config("free"), conflictPolicy="Fail")
    ready = team.failure()
    assert ready["reason"] == "ConflictDetected", ready
    assert 'data.a is managed by "rival"' in ready["message"], ready
    assert "data.b" not in ready["message"], ready
    assert team.get("a") == before
    assert team.data("free") == {"a": "ours"}  # one resource does not hold back the others


def test_a_preview_shows_the_conflict(team):
    team.apply(team.config("a", a="1"), conflictPolicy="Fail").ready()
    take(team, "a", "a")
    team.apply(team.config("a", a="2"), conflictPolicy="Fail", suspend=True)
    status = team.preview(phase="failed")
    ready = next(one for one in status["conditions"] if one["type"] == "Ready")
    assert ready["reason"] == "ConflictDetected" and 'managed by "rival"' in ready["message"], ready


def test_what_people_change_by_kubectl_is_a_conflict_too(team):
    team.apply(team.config("a", a="1"), conflictPolicy="Fail").ready()
    team.cluster.kubectl("-n", team.namespace, "patch", "configmap", "a", "-p", '{"data": {"a": "x"}}')
    team.apply(team.config("a", a="2"), conflictPolicy="Fail")
    assert 'data.a is managed by "kubectl-patch"' in team.failure()["message"]
    assert team.data("a") == {"a": "x"}


def test_it_heals_when_the_other_gives_the_field_up(team):
    team.apply(team.config("a", a="1"), conflictPolicy="Fail").ready()
    take(team, "a", "a")
    team.apply(team.config("a", a="2"), conflictPolicy="Fail").failure()
    take(team, "a", "a", value=None)
    team.ready()
    assert team.data("a") == {"a": "2"}


def test_the_same_value_is_no_conflict(team):
    team.apply(team.config("a", a="1"), conflictPolicy="Fail").ready()
    take(team, "a", "a", value="2")
    team.apply(team.config("a", a="2"), conflictPolicy="Fail").ready()


@pytest.mark.parametrize("more", [{"conflictPolicy": "Force"}, {},
                                  {"conflictPolicy": "Fail", "ignore": [{"paths": ["/data/a"]}]}],
                         ids=["Force", "default", "ignored"])
def test_ways_out(team, more):
    team.apply(team.config("a", a="1", b="1"), conflictPolicy="Fail").ready()
    take(team, "a", "a")
    team.apply(team.config("a", a="2", b="2"), conflictPolicy="Fail").failure()
    team.apply(team.config("a", a="2", b="2"), **more).ready()
    assert team.data("a") == {"a": "theirs" if "ignore" in more else "2", "b": "2"}


def test_an_adoption_conflicts_with_a_controller_and_not_with_what_made_the_object(team):
    """What kubectl had is taken over as with every adoption: adoptionPolicy decides that."""
    body = json.dumps({"apiVersion": "v1", "kind": "ConfigMap",
                       "metadata": {"name": "a", "namespace": team.namespace}, "data": {"a": "kubectl"}})
    team.cluster.kubectl("apply", "-f", "-", input=body)
    team.make("b", manager="some-controller", a="theirs")
    team.apply(team.config("a"), team.config("b"), conflictPolicy="Fail")
    ready = team.failure()
    assert 'data.a is managed by "some-controller"' in ready["message"], ready
    assert eventually(lambda: team.data("a") == {"a": "ours"})
    assert team.data("b") == {"a": "theirs"}


# ---- adoptionPolicy


def test_must_match_adopts_what_is_as_wanted(team):
    team.make("a", a="ours")
    assert team.apply(team.config("a"), adoptionPolicy="MustMatch").ready() == "revision 1: 1 adopted"
    team.apply(team.config("a", a="changed"), adoptionPolicy="MustMatch").ready()  # it is ours by then


def test_must_match_refuses_what_differs_and_names_the_fields(team):
    before = team.make("a", a="theirs", c="1")
    team.apply(team.config("a", a="ours", b="new"), adoptionPolicy="MustMatch")
    ready = team.failure()
    assert ready["reason"] == "ConflictDetected" and "data.a, data.b" in ready["message"], ready
    assert "MustMatch" in ready["message"] and "theirs" not in ready["message"]
    assert team.get("a")["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    team.apply(team.config("a", a="ours", b="new"), adoptionPolicy="AdoptIfUnowned").ready()


def test_must_match_does_not_take_fields_away(team):
    body = {"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "namespace": team.namespace}, "data": {"a": "ours", "gone": "1"}}
    team.cluster.kubectl("apply", "-f", "-", input=json.dumps(body))
    team.apply(team.config("a"), adoptionPolicy="MustMatch")
    assert "data.gone" in team.failure()["message"]
    assert team.data("a") == body["data"]


OWNED = {
    "Helm": ({"app.kubernetes.io/managed-by": "Helm"}, {"meta.helm.sh/release-name": "r"}),
    "Flux": ({"kustomize.toolkit.fluxcd.io/name": "k"}, {}),
    "Argo CD": ({}, {"argocd.argoproj.io/tracking-id": "t"}),
    "an applyset": ({"applyset.kubernetes.io/part-of": "applyset-x-v1"}, {}),
}


@pytest.mark.parametrize("owner", OWNED)
def test_adopt_all_takes_what_others_own(team, owner):
    labels, annotations = OWNED[owner]
    team.make("a", manager="helm", labels=labels, annotations=annotations, a="theirs", gone="1")
    team.apply(team.config("a"))
    assert owner in team.failure()["message"]
    team.apply(team.config("a"), adoptionPolicy="AdoptAll", suspend=True)
    assert "from another tool" in team.preview()["results"][0]["message"]
    team.apply(team.config("a"), adoptionPolicy="AdoptAll").ready()
    live = team.get("a")
    assert live["data"] == {"a": "ours"}
    # what the other tool had is gone, its marks as well: it does not think that it owns the object
    assert not set(labels) & set(live["metadata"].get("labels", {}))
    assert not set(annotations) & set(live["metadata"]["annotations"])


def test_adopt_all_takes_from_another_spec_which_does_not_take_it_back(team):
    first = Spec(team.cluster, team.namespace, name="first")
    first.apply([team.config("a", a="first")], adoptionPolicy="AdoptAll", interval="1s").wait("True")
    team.apply(team.config("a", a="second"), adoptionPolicy="AdoptAll", interval="1s").ready()
    first.apply([team.config("a", a="first")], adoptionPolicy="AdoptAll", interval="1s", retryInterval="1s")
    assert first.wait("False")["reason"] == "ConflictDetected"
    assert team.data("a") == {"a": "second"}
    first.delete()  # what it does not own any more stays
    assert team.data("a") == {"a": "second"}


# ---- what an adoption takes over


TOOLS = ["helm", "kusion", "argocd-controller", "kustomize-controller"]


@pytest.mark.parametrize("tool", TOOLS)
def test_a_field_that_leaves_the_spec_goes_after_an_adoption_from(team, tool):
    """It stayed before, and the preview said "No changes": the other manager had it, too."""
    team.make("a", manager=tool, a="ours", b="ours")
    team.apply(team.config("a", a="ours", b="ours")).ready()
    assert not [one for one in team.get("a")["metadata"]["managedFields"] if one["manager"] == tool]
    shown = team.preview(resources=[team.config("a", a="ours")])["results"][0]
    assert [one["path"] for one in shown["fields"]] == ["data.b"], shown
    team.apply(team.config("a", a="ours")).ready()
    assert team.data("a") == {"a": "ours"}


def test_a_controller_keeps_what_it_has_after_an_adoption(team):
    team.make("a", manager="some-controller", a="ours", b="theirs")
    team.apply(team.config("a", a="ours")).ready()
    assert team.data("a") == {"a": "ours", "b": "theirs"}


# ---- maxDeletions


def test_more_deletions_than_allowed_do_nothing_at_all(team):
    team.apply(*[team.config(f"c{i}") for i in range(5)], maxDeletions=2).ready()
    team.apply(team.config("c0", a="changed"), team.config("new"), maxDeletions=2)
    ready = team.failure()
    assert ready["reason"] == "DeletionGuardTripped", ready
    for name in ("c1", "c2", "c3", "c4"):
        assert f"v1:ConfigMap:{team.namespace}:{name}" in ready["message"], ready
    assert "would delete 4, and maxDeletions is 2" in ready["message"]
    assert "set maxDeletions to 4" in ready["message"]  # the way out
    assert team.data("new") is None and team.data("c0") == {"a": "ours"}
    assert all(team.data(f"c{i}") for i in range(5))
    assert any(one["type"] == "Stalled" for one in team.spec.get()["status"]["conditions"])
    team.apply(team.config("c0", a="changed"), team.config("new"), maxDeletions=4).ready()
    assert team.data("c4") is None and team.data("new")


def test_as_many_as_allowed_go(team):
    team.apply(*[team.config(f"c{i}") for i in range(3)], maxDeletions=2).ready()
    team.apply(team.config("c0"), maxDeletions=2).ready()
    assert team.data("c1") is None and team.data("c2") is None


def test_none_may_go(team):
    team.apply(team.config("a"), team.config("b"), maxDeletions=0).ready()
    team.apply(team.config("a"), maxDeletions=0)
    assert team.failure()["reason"] == "DeletionGuardTripped"
    team.apply(team.config("a"), team.config("b"), maxDeletions=0).ready()  # put back


def test_a_preview_shows_what_would_go(team):
    team.apply(team.config("a"), team.config("b"), maxDeletions=0).ready()
    status = team.preview(phase="failed", resources=[team.config("a")])
    ready = next(one for one in status["conditions"] if one["type"] == "Ready")
    assert ready["reason"] == "DeletionGuardTripped", ready
    assert [one["action"] for one in status["results"]] == ["unchanged", "delete"], status


def test_a_preview_of_a_file_has_its_policies(team):
    """`prune: false` is taken out together with a resource: the preview said "it stays", and the apply
    deleted it."""
    team.apply(team.config("a"), team.config("b"), prune=False, maxDeletions=0).ready()
    kept = team.preview(resources=[team.config("a")])["results"][1]
    assert kept["action"] == "forget" and "`prune` is false" in kept["message"], kept
    status = team.preview("file", resources=[team.config("a")], policies={})
    assert status["results"][1]["action"] == "delete", status
    status = team.preview("bound", phase="failed", resources=[team.config("a")], policies={"maxDeletions": 0})
    assert status["results"][1]["action"] == "delete", status
    shown = team.preview("labels", resources=[team.config("a"), team.config("b")],
                         policies={"commonMetadata": {"labels": {"team": "x"}}})
    assert {one["action"] for one in shown["results"]} == {"update"}, shown
    team.apply(team.config("a")).ready()
    assert team.data("b") is None


def test_policies_of_a_preview_need_resources_and_stay(team):
    team.apply(team.config("a")).ready()
    alone = create(team.cluster, team.namespace, new_release(
        "alone", operation="Preview", specRef={"name": "spec"}, policies={"prune": True}))
    assert alone.code == 422 and "only with resources" in alone.message
    made = create(team.cluster, team.namespace, new_release(
        "made", operation="Preview", specRef={"name": "spec"}, resources=[], policies={"prune": True})).must().object
    path = path_of("Release", team.namespace, made["metadata"]["name"])
    changed = team.cluster.api.patch(path, {"spec": {"policies": {"prune": False}}})
    assert changed.code == 422 and "cannot be changed" in changed.message


def test_it_holds_for_a_rollback(team):
    team.apply(team.config("a")).ready()
    team.apply(team.config("a"), team.config("b"), team.config("c"), maxDeletions=1).ready()
    create(team.cluster, team.namespace,
           new_release("back", operation="Rollback", specRef={"name": "spec"}, toRevision=1)).must()

    def refused():
        ready = team.spec.condition()
        assert ready["reason"] == "DeletionGuardTripped", ready
        return True

    eventually(refused)
    assert team.data("b") and team.data("c")
    team.apply(team.config("a"), team.config("b"), team.config("c"), maxDeletions=2, wait=False).ready()


def test_deleting_the_spec_is_not_bound_by_it(controlled, tenant):
    team = Team(controlled, tenant)
    team.apply(team.config("a"), team.config("b"), maxDeletions=0).ready()
    team.spec.delete()
    assert team.data("a") is None and team.data("b") is None


def test_a_destroy_is_not_bound_by_it(team):
    team.apply(team.config("a"), team.config("b"), maxDeletions=0).ready()
    create(team.cluster, team.namespace,
           new_release("destroy", operation="Destroy", specRef={"name": "spec"})).must()
    eventually(lambda: team.data("a") is None and team.data("b") is None)


def test_what_is_kept_does_not_count(team):
    team.apply(team.config("a"), team.config("b"), maxDeletions=0).ready()
    team.apply(team.config("a"), maxDeletions=0, prune=False).ready()
    assert team.data("b")


# ---- commonMetadata


def test_all_objects_get_common_metadata(team):
    common = {"labels": {"team": "a", "own": "common"}, "annotations": {"example.com/by": "us"}}
    own = team.config("a")
    own["attributes"]["metadata"]["labels"] = {"own": "mine", "more": "1"}
    team.apply(own, team.config("b"), commonMetadata=common).ready()
    for name, more in (("a", {"more": "1"}), ("b", {})):
        metadata = team.get(name)["metadata"]
        labels = {key: value for key, value in metadata["labels"].items() if key != "api.kusion.io/owner"}
        assert labels == {"team": "a", "own": "common", **more}
        assert metadata["annotations"]["example.com/by"] == "us"
        assert metadata["annotations"]["api.kusion.io/spec"] == f"{team.namespace}/spec"
    shown = team.preview(resources=[own, team.config("b")])
    assert {one["action"] for one in shown["results"]} == {"unchanged"}
    team.apply(own, team.config("b")).ready()  # and lose them
    assert "team" not in team.get("b")["metadata"]["labels"]
    assert team.get("a")["metadata"]["labels"]["own"] == "mine"


def test_selectors_and_templates_do_not_get_them(team):
    labels = {"app": "web"}
    web = {"apiVersion": "apps/v1", "kind": "Deployment",
           "metadata": {"name": "web", "namespace": team.namespace},
           "spec": {"selector": {"matchLabels": labels}, "replicas": 0,
                    "template": {"metadata": {"labels": labels},
                                 "spec": {"containers": [{"name": "c", "image": "i"}]}}}}
    team.apply(resource(web)).ready()
    team.apply(resource(web), commonMetadata={"labels": {"team": "a"}}).ready()
    live = team.cluster.api.get(f"/apis/apps/v1/namespaces/{team.namespace}/deployments/web").must().object
    assert live["metadata"]["labels"]["team"] == "a"
    assert live["spec"]["selector"] == {"matchLabels": labels}
    assert live["spec"]["template"]["metadata"]["labels"] == labels


@pytest.mark.parametrize("part, key", [("labels", "api.kusion.io/owner"), ("annotations", "api.kusion.io/spec")])
def test_our_own_marks_cannot_be_common(team, part, key):
    team.apply(team.config("a"), commonMetadata={part: {key: "x"}})
    ready = team.failure()
    assert ready["reason"] == "InvalidSpec" and key in ready["message"], ready


# ---- an annotation that a controller writes


def test_an_exported_deployment_is_no_fight(team):
    """`deployment.kubernetes.io/revision` is the controller's, and in every object that was exported."""
    labels = {"app": "web"}
    web = {"apiVersion": "apps/v1", "kind": "Deployment",
           "metadata": {"name": "web", "namespace": team.namespace,
                        "annotations": {"deployment.kubernetes.io/revision": "7", "mine": "1"}},
           "spec": {"selector": {"matchLabels": labels}, "replicas": 0,
                    "template": {"metadata": {"labels": labels},
                                 "spec": {"containers": [{"name": "c", "image": "i"}]}}}}
    path = f"/apis/apps/v1/namespaces/{team.namespace}/deployments/web"
    team.apply(resource(web), interval="1s").ready()
    eventually(lambda: team.cluster.api.get(path).must().object["metadata"]["annotations"].get(
        "deployment.kubernetes.io/revision") == "1")
    generation = team.spec.get()["metadata"]["generation"]

    def checked():
        return team.spec.get()["status"].get("lastCheckedAt", "x") and True

    checked()
    own = next(one for one in team.cluster.api.get(path).must().object["metadata"]["managedFields"]
               if one["manager"].startswith("kusion-operator-"))
    assert "f:mine" in own["fieldsV1"]["f:metadata"]["f:annotations"]
    assert "f:deployment.kubernetes.io/revision" not in own["fieldsV1"]["f:metadata"]["f:annotations"]
    assert team.spec.get()["metadata"]["generation"] == generation
    assert not team.spec.get()["status"].get("driftCorrections")
