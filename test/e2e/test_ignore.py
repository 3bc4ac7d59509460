"""The Spec's `ignore`: an object is created with the value, and then the field is others'. It holds in the
plan, the apply, the checks and the approval."""

import json

import pytest

from kusion_e2e.kinds import create, new_release, path_of
from kusion_e2e.long import sampled
from kusion_e2e.specs import Spec, resource
from kusion_e2e.wait import eventually

REPLICAS = [{"paths": ["/spec/replicas"], "target": {"kind": "Deployment"}}]


def deployment(namespace, image="a", containers=None, **fields):
    """Of Pods that are ready at once (kwok)."""
    return {"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": namespace, "labels": {"app": "web"}},
            "spec": {"selector": {"matchLabels": {"app": "web"}},
                     "template": {"metadata": {"labels": {"app": "web"}},
                                  "spec": {"containers": containers or [{"name": "c", "image": image}]}},
                     **fields}}


class Web:
    """A Deployment, and the Spec that has it."""

    def __init__(self, cluster, namespace):
        self.cluster, self.namespace = cluster, namespace
        self.path = f"/apis/apps/v1/namespaces/{namespace}/deployments/web"
        self.spec = Spec(cluster, namespace)
        self.asked = 0

    def apply(self, attributes, **fields):
        self.spec.apply([resource(attributes)], **{"wait": False, "interval": "1s", **fields})
        return self

    def ready(self):
        return self.spec.wait("True")["message"]

    def get(self):
        return self.cluster.api.get(self.path).must().object

    def replicas(self):
        return self.get()["spec"]["replicas"]

    def scale(self, replicas):
        """As an autoscaler does."""
        self.cluster.api.patch(f"{self.path}/scale?fieldManager=hpa", {"spec": {"replicas": replicas}}).must()

    def own(self):
        """The fields of our manager, as fieldsV1."""
        return next((one["fieldsV1"] for one in self.get()["metadata"]["managedFields"]
                     if one["manager"].startswith("kusion-operator-")), {})

    def check(self):
        """One more check, and its end."""
        self.asked += 1
        stamp = str(self.asked)
        self.cluster.api.patch(self.spec.path, {"metadata": {"annotations": {
            "api.kusion.io/reconcile-requested-at": stamp}}}).must()
        eventually(lambda: self.spec.get()["status"].get("lastHandledReconcileAt") == stamp)

    def preview(self, name="look", **fields):
        made = create(self.cluster, self.namespace, new_release(
            name, operation="Preview", specRef={"name": "spec"}, **fields)).must().object
        path = path_of("Release", self.namespace, made["metadata"]["name"])

        def ended():
            status = self.cluster.api.get(path).must().object.get("status", {})
            assert status.get("phase") in ("succeeded", "failed"), status
            return status

        return eventually(ended)


@pytest.fixture
def web(controlled, tenant):
    made = Web(controlled, tenant)
    yield made
    made.spec.delete()


def corrections(spec):
    return (spec.get()["status"].get("driftCorrections") or {}).get("count", 0)


def test_an_object_is_created_with_the_value_and_the_autoscaler_has_it_then(web):
    web.apply(deployment(web.namespace, replicas=3), ignore=REPLICAS).ready()
    assert web.replicas() == 3
    assert "f:replicas" not in web.own()["f:spec"], web.own()
    web.scale(6)
    web.check()
    assert (web.replicas(), corrections(web.spec)) == (6, 0)
    # a change of another field leaves it, and is all that the plan shows
    web.apply(deployment(web.namespace, image="b", replicas=4), ignore=REPLICAS).ready()
    assert web.replicas() == 6
    assert web.get()["spec"]["template"]["spec"]["containers"][0]["image"] == "b"


def test_nothing_is_written_once_it_has_converged(web):
    web.apply(deployment(web.namespace, replicas=3), ignore=REPLICAS).ready()
    web.scale(5)
    web.check()
    generation = web.get()["metadata"]["generation"]
    managed = web.get()["metadata"]["managedFields"]
    for _ in range(5):
        web.check()
    now = web.get()["metadata"]
    assert now["generation"] == generation
    assert [one for one in now["managedFields"] if one.get("subresource") != "status"] == [
        one for one in managed if one.get("subresource") != "status"]
    assert corrections(web.spec) == 0


def test_a_preview_shows_nothing_of_it(web):
    web.apply(deployment(web.namespace, replicas=3), ignore=REPLICAS, interval="1h").ready()
    web.scale(6)
    assert web.preview()["results"][0]["action"] == "unchanged"
    web.cluster.api.patch(web.path, {"spec": {"minReadySeconds": 9}}).must()
    assert web.preview("again")["results"][0]["action"] == "unchanged"


def test_who_stops_to_name_a_field_keeps_its_value_by_ignoring_it(web):
    """The recipe of docs/ignore.md: the operator is the only manager of `replicas`."""
    web.apply(deployment(web.namespace, replicas=5)).ready()
    assert "f:replicas" in web.own()["f:spec"]
    web.apply(deployment(web.namespace), ignore=REPLICAS, interval="1h")
    web.ready()
    assert web.replicas() == 5
    assert "f:replicas" not in web.own()["f:spec"]
    web.apply(deployment(web.namespace)).ready()  # ignored no more, and not named: nobody's
    assert web.replicas() == 5


def test_without_it_the_value_is_reset_and_the_preview_says_so(web):
    web.apply(deployment(web.namespace, replicas=5), interval="1h").ready()
    shown = web.preview(resources=[resource(deployment(web.namespace))])["results"][0]
    assert [(one["path"], one["from"], one["to"]) for one in shown["fields"]] == [("spec.replicas", "5", "1")]
    web.apply(deployment(web.namespace)).ready()
    assert web.replicas() == 1


def test_what_is_ignored_no_more_is_shown_and_taken(web):
    web.apply(deployment(web.namespace, replicas=3), ignore=REPLICAS, interval="1h").ready()
    web.scale(6)
    web.apply(deployment(web.namespace, replicas=3), suspend=True)
    shown = web.preview()["results"][0]
    assert shown["action"] == "update"
    assert [(one["path"], one["from"], one["to"]) for one in shown["fields"]] == [("spec.replicas", "6", "3")]
    web.apply(deployment(web.namespace, replicas=3)).ready()
    assert web.replicas() == 3


def test_giving_it_up_is_shown(web):
    web.apply(deployment(web.namespace, replicas=3), interval="1h").ready()
    web.apply(deployment(web.namespace, replicas=3), ignore=REPLICAS, suspend=True)
    shown = web.preview()["results"][0]
    assert shown["action"] == "update" and "/spec/replicas" in shown["message"], shown
    assert not shown.get("fields"), shown


def test_a_plan_that_is_approved_stays_so(web):
    """What others do with the field does not change the plan."""
    manual = {"ignore": REPLICAS, "approval": {"mode": "Manual"}, "interval": "1h"}
    web.apply(deployment(web.namespace, replicas=3), ignore=REPLICAS).ready()
    web.apply(deployment(web.namespace, image="b", replicas=3), **manual)

    def asked():
        status = web.spec.get()["status"]  # of one look: the plan before had a digest, too
        ready = next(one for one in status["conditions"] if one["type"] == "Ready")
        assert ready["reason"] == "AwaitingApproval" and ready["observedGeneration"] == web.spec.generation, ready
        return status["plan"]["digest"]

    digest = eventually(asked)
    web.scale(7)
    web.apply(deployment(web.namespace, image="b", replicas=3), **{
        **manual, "approval": {"mode": "Manual", "approvedPlan": digest}})
    web.ready()
    assert web.replicas() == 7
    assert web.get()["spec"]["template"]["spec"]["containers"][0]["image"] == "b"


# Flux's hard cases (kustomize-controller, ssa.Apply with DriftIgnoreRules).

def test_a_required_field_while_another_one_drifts(web):
    ignore = [{"paths": ["/spec/template/spec/containers[name=c]/image"]}]
    web.apply(deployment(web.namespace, image="a", minReadySeconds=1), ignore=ignore).ready()
    patch = {"spec": {"minReadySeconds": 9, "template": {"spec": {"containers": [{"name": "c", "image": "theirs"}]}}}}
    web.cluster.kubectl("-n", web.namespace, "patch", "deployment", "web", "-p", json.dumps(patch))
    eventually(lambda: web.get()["spec"]["minReadySeconds"] == 1)
    assert web.get()["spec"]["template"]["spec"]["containers"][0]["image"] == "theirs"


def test_a_field_with_a_default(web):
    ignore = [{"paths": ["/spec/progressDeadlineSeconds"]}]
    web.apply(deployment(web.namespace, progressDeadlineSeconds=77), ignore=ignore).ready()
    web.check()
    assert web.get()["spec"]["progressDeadlineSeconds"] == 77
    web.cluster.api.patch(web.path, {"spec": {"progressDeadlineSeconds": 88}}).must()
    web.apply(deployment(web.namespace, image="b", progressDeadlineSeconds=77), ignore=ignore).ready()
    assert web.get()["spec"]["progressDeadlineSeconds"] == 88


def test_a_drift_under_our_own_name(web):
    """Nobody else owns the field then."""
    web.apply(deployment(web.namespace, replicas=3), ignore=REPLICAS).ready()
    ours = next(one["manager"] for one in web.get()["metadata"]["managedFields"]
                if one["manager"].startswith("kusion-operator-"))
    live = web.cluster.api.patch(f"{web.path}?fieldManager={ours}", {"spec": {"replicas": 8}}).must().object
    assert live["spec"]["replicas"] == 8
    for image in ("b", "d"):
        web.apply(deployment(web.namespace, image=image, replicas=3), ignore=REPLICAS).ready()
        assert web.replicas() == 8


def test_a_person_changes_it_by_kubectl(web):
    web.apply(deployment(web.namespace, replicas=3), ignore=REPLICAS).ready()
    web.cluster.kubectl("-n", web.namespace, "patch", "deployment", "web", "-p", '{"spec": {"replicas": 9}}')
    web.check()
    assert (web.replicas(), corrections(web.spec)) == (9, 0)
    web.apply(deployment(web.namespace, image="b", replicas=3), ignore=REPLICAS).ready()
    assert web.replicas() == 9


def test_a_container_of_the_spec_that_others_change(web):
    """The whole item is theirs: what they do with it, and that they remove it."""
    two = [{"name": "c", "image": "a"}, {"name": "side", "image": "proxy:1"}]
    ignore = [{"paths": ["/spec/template/spec/containers[name=side]"], "target": {"labelSelector": "app=web"}}]
    web.apply(deployment(web.namespace, containers=two), ignore=ignore).ready()

    def images():
        return {one["name"]: one["image"] for one in web.get()["spec"]["template"]["spec"]["containers"]}

    assert images() == {"c": "a", "side": "proxy:1"}
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "proxy:2"}]}}}}
    web.cluster.kubectl("-n", web.namespace, "patch", "deployment", "web", "--field-manager=injector",
                        "-p", json.dumps(patch))
    web.check()
    assert images() == {"c": "a", "side": "proxy:2"}
    two[0]["image"] = "b"
    web.apply(deployment(web.namespace, containers=two), ignore=ignore).ready()
    assert images() == {"c": "b", "side": "proxy:2"}


def test_a_bundle_that_an_injector_writes(web):
    name = f"hook-{web.namespace}"
    path = f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{name}"
    hook = {"name": "a.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": "https://127.0.0.1:1/", "caBundle": "Cg=="}, "failurePolicy": "Ignore",
            "rules": [{"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "resources": ["nones"],
                       "operations": ["CREATE"]}]}
    attributes = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
                  "metadata": {"name": name}, "webhooks": [hook]}
    ignore = [{"paths": ["/webhooks[name=a.example.com]/clientConfig/caBundle"],
               "target": {"group": "admissionregistration.k8s.io", "name": "hook-*"}}]
    web.apply(attributes, ignore=ignore).ready()
    live = web.cluster.api.get(path).must().object
    assert live["webhooks"][0]["clientConfig"]["caBundle"] == "Cg=="
    injected = [{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": "Cgo="}]
    web.cluster.kubectl("patch", "validatingwebhookconfiguration", name, "--type=json",
                        "--field-manager=injector", "-p", json.dumps(injected))
    hook["failurePolicy"] = "Fail"
    web.apply(attributes, ignore=ignore).ready()
    live = web.cluster.api.get(path).must().object["webhooks"][0]
    assert (live["clientConfig"]["caBundle"], live["failurePolicy"]) == ("Cgo=", "Fail")


def test_an_annotation_by_its_name(web):
    ignore = [{"paths": ["/metadata/annotations/example.com~1note"]}]
    attributes = deployment(web.namespace)
    attributes["metadata"]["annotations"] = {"example.com/note": "first", "mine": "1"}
    web.apply(attributes, ignore=ignore).ready()
    assert web.get()["metadata"]["annotations"]["example.com/note"] == "first"
    web.cluster.kubectl("-n", web.namespace, "annotate", "--overwrite", "deployment/web", "example.com/note=theirs",
                        "mine=theirs")
    eventually(lambda: web.get()["metadata"]["annotations"]["mine"] == "1")
    assert web.get()["metadata"]["annotations"]["example.com/note"] == "theirs"


TARGETS = {
    "of another kind": ({"kind": "StatefulSet"}, False),
    "by its name": ({"kind": "Deployment", "name": "web"}, True),
    "by a pattern": ({"name": "w*"}, True),
    "by its namespace": ({"namespace": "*"}, True),
    "in another one": ({"namespace": "nowhere"}, False),
    "by labels": ({"labelSelector": "app in (web, db)"}, True),
    "by other labels": ({"labelSelector": "app!=web"}, False),
    "by common labels": ({"labelSelector": "team=a"}, True),
}


@pytest.mark.parametrize("row", TARGETS)
@sampled
def test_targets(web, row):
    target, is_meant = TARGETS[row]
    web.apply(deployment(web.namespace, replicas=3), ignore=[{"paths": ["/spec/replicas"], "target": target}],
              commonMetadata={"labels": {"team": "a"}}).ready()
    assert ("f:replicas" not in web.own()["f:spec"]) == is_meant


WRONG = {
    "an index": (["/spec/template/spec/containers/0/image"], "names an item by its index"),
    "the name": (["/metadata/name"], "names the object"),
    "all labels": (["/metadata/labels"], "the operator's own marks"),
    "no keys": (["/spec/template/spec/containers[side]x=["], "brackets that are no keys"),
    "our label": (["/metadata/labels/api.kusion.io~1owner"], "is a mark"),
}


@pytest.mark.parametrize("row", WRONG)
def test_wrong_paths_are_refused(web, row):
    paths, why = WRONG[row]
    web.apply(deployment(web.namespace), ignore=[{"paths": paths}])
    ready = web.spec.wait("False")
    assert ready["reason"] == "InvalidSpec" and why in ready["message"] and "ignore[0].paths[0]" in ready["message"]


@pytest.mark.parametrize("target, why", [({"name": "web-.*"}, "no regular expressions"),
                                         ({"labelSelector": "a in b"}, "is no selector")])
def test_wrong_targets_are_refused(web, target, why):
    web.apply(deployment(web.namespace), ignore=[{"paths": ["/spec/replicas"], "target": target}])
    ready = web.spec.wait("False")
    assert ready["reason"] == "InvalidSpec" and why in ready["message"]


def test_a_part_of_one_field_is_refused(web):
    """The API server knows an atomic list as a whole."""
    web.apply(deployment(web.namespace), ignore=[{"paths": ["/spec/selector/matchLabels/app"]}])
    ready = web.spec.wait("False")
    assert ready["reason"] == "InvalidSpec" and "one field" in ready["message"], ready


def test_an_object_that_was_applied_by_another_client_first(web):
    """An adoption gives the field up at once, too."""
    web.cluster.api.apply(web.path, json.dumps(deployment(web.namespace, replicas=4)), "first").must()
    web.apply(deployment(web.namespace, replicas=3), ignore=REPLICAS).ready()
    assert web.replicas() == 4 and "f:replicas" not in web.own()["f:spec"]
