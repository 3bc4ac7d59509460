"""What the schemas and rules of the two kinds refuse, on a real API server, and what comes next
to it and is taken; and their limits."""

import copy
import json

import pytest

from kusion_e2e.api import JSON_PATCH
from kusion_e2e.kinds import ABSENT, create, every_field, large, new_release, new_spec, path_of

MIB = 1 << 20
LATER = "not supported by this version"

RESOURCE = {"id": "v1:ConfigMap:a:b", "type": "Kubernetes"}


def resource(**fields):
    return {"resources": [{**RESOURCE, **fields}]}


def with_resources(**fields):
    return {"resources": [], **fields}


CONFIG_MAP = {"kind": "ConfigMap", "name": "a", "key": "b"}
CHECK = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}

SPECS = [
    # fields of spec, None or part of the message that refuses them
    ({"resources": []}, None),
    ({"resourcesFrom": [CONFIG_MAP]}, None),
    ({"resourcesFrom": []}, "resources is required"),
    ({"resources": [], "resourcesFrom": []}, None),
    ({"prune": True}, "resources is required"),
    (resource(), None),
    (resource(id=""), "resources[0].id"),
    (resource(id="x" * 1024), None),
    (resource(id="x" * 1025), "resources[0].id"),
    ({"resources": [{"id": "a"}]}, "resources[0].type: Required"),
    ({"resources": [{"type": "Kubernetes"}]}, "resources[0].id: Required"),
    ({"resources": {}}, "resources"),
    (resource(type="Terraform"), None),
    (resource(type="Some.Future-Runtime2"), None),
    (resource(type="kubernetes"), "unknown type; is Kubernetes, Terraform or HTTP meant?"),
    (resource(type="TERRAFORM"), "is Kubernetes, Terraform or HTTP meant?"),
    (resource(type="HTTP"), None),
    (resource(type="http"), "is Kubernetes, Terraform or HTTP meant?"),
    (resource(type="no spaces"), "resources[0].type"),
    (resource(type="2nd"), "resources[0].type"),
    (resource(type="x" * 64), "resources[0].type"),
    (resource(attributes=[]), "resources[0].attributes"),
    (resource(attributes={}), None),
    (resource(extensions="a"), "resources[0].extensions"),
    (resource(dependsOn=["a", "a"]), None),  # ours to say, with the id
    (resource(dependsOn=[""]), "dependsOn[0]"),
    (resource(dependsOn=["x" * 1025]), "dependsOn[0]"),
    (resource(dependsOn=[1]), "dependsOn[0]"),
    (resource(dependsOn=["a"] * 10000), None),
    (resource(dependsOn=["a"] * 10001), "dependsOn: Too many"),
    ({"resources": [RESOURCE, RESOURCE]}, None),  # ours to say, with both places
    ({"resources": [RESOURCE] * 10000}, None),
    ({"resources": [RESOURCE] * 10001}, "resources: Too many"),
    ({"resourcesFrom": [CONFIG_MAP] * 65}, "resourcesFrom: Too many"),
    ({"resourcesFrom": [{**CONFIG_MAP, "kind": "Secret"}]}, None),
    ({"resourcesFrom": [{**CONFIG_MAP, "digest": "sha256:" + "0a" * 32}]}, None),
    ({"resourcesFrom": [{**CONFIG_MAP, "digest": "0a" * 32}]}, "resourcesFrom[0].digest"),
    ({"resourcesFrom": [{**CONFIG_MAP, "kind": "Pod"}]}, "resourcesFrom[0].kind"),
    ({"resourcesFrom": [{**CONFIG_MAP, "key": "../b"}]}, "resourcesFrom[0].key"),
    ({"resourcesFrom": [{"kind": "ConfigMap", "name": "a"}]}, "resourcesFrom[0].key: Required"),
    (with_resources(project="a-b.c_D9"), None),
    (with_resources(project="../../etc"), "spec.project"),
    (with_resources(stack=""), "spec.stack"),
    (with_resources(workspace="a/b"), "spec.workspace"),
    (with_resources(context="a"), "spec.context"),
    (with_resources(serviceAccountName="deployer.v1"), None),
    (with_resources(serviceAccountName="other:deployer"), "spec.serviceAccountName"),
    (with_resources(serviceAccountName=""), "spec.serviceAccountName"),
    (with_resources(kubeConfig={"secretRef": {"name": "a"}}), None),
    (with_resources(kubeConfig={}), "spec.kubeConfig.secretRef: Required"),
    (with_resources(kubeConfig={"secretRef": {}}), "spec.kubeConfig.secretRef.name: Required"),
    (with_resources(suspend="true"), "spec.suspend"),
    (with_resources(deletionPolicy="MirrorPrune"), None),
    (with_resources(deletionPolicy="Delete"), None),
    (with_resources(deletionPolicy="Orphan"), None),
    (with_resources(deletionPolicy="orphan"), "spec.deletionPolicy"),
    (with_resources(maxDeletions=0), None),
    (with_resources(maxDeletions=-1), "spec.maxDeletions"),
    (with_resources(maxDeletions=1.5), "spec.maxDeletions"),
    (with_resources(approval={"mode": "Manual"}), None),
    (with_resources(approval={"mode": "Manual", "approvedPlan": "sha256:1"}), None),
    (with_resources(approval={"mode": "manual"}), "spec.approval.mode"),
    (with_resources(approval={"approvedPlan": "sha256:1"}), "only with `mode: Manual`"),
    (
        with_resources(approval={"mode": "Automatic", "approvedPlan": "sha256:1"}),
        "only with `mode: Manual`",
    ),
    (with_resources(approval={"mode": "Manual", "approvedPlan": "a b"}), "approvedPlan"),
    (with_resources(driftDetection={"mode": "enabled"}), None),
    (with_resources(driftDetection={"mode": "warn"}), None),
    (with_resources(driftDetection={"mode": "disabled"}), None),
    (with_resources(driftDetection={"mode": "off"}), "spec.driftDetection.mode"),
    (with_resources(interval="1s"), None),
    (with_resources(interval="999ms"), "must be at least 1s"),
    (with_resources(interval="0s"), "must be at least 1s"),
    (with_resources(interval="-5m"), "spec.interval"),
    (with_resources(interval="10"), "spec.interval"),
    (with_resources(interval="1d"), "spec.interval"),
    (with_resources(interval=600), "spec.interval"),
    (with_resources(interval="99999999999999h"), "spec.interval"),
    (with_resources(retryInterval="1m30s"), None),
    (with_resources(retryInterval="0.5s"), "must be at least 1s"),
    (with_resources(timeout="1.5h"), None),
    (with_resources(timeout="5 m"), "spec.timeout"),
    (with_resources(timeout="1ms"), "must be at least 1s"),
    (with_resources(healthChecks=[]), None),
    (with_resources(healthChecks=[CHECK]), None),
    (with_resources(healthChecks=[CHECK] * 257), "spec.healthChecks"),
    (with_resources(healthChecks=[{"kind": "A", "name": "b"}]), "healthChecks[0].apiVersion"),
    (with_resources(healthChecks=[{**CHECK, "namespace": "A"}]), "healthChecks[0].namespace"),
    (with_resources(healthCheckExprs=[]), None),
    (with_resources(healthCheckExprs=[{"kind": "A", "current": "true"}]), "write the check in Lua"),
    (with_resources(ignore=[]), None),
    (with_resources(ignore=[{"paths": ["/a~1b/0/~0c", "/spec/containers[name=side]"]}]), None),
    (with_resources(ignore=[{"paths": ["/a"], "target": {"kind": "A", "labelSelector": "a=b"}}]), None),
    (with_resources(ignore=[{"paths": []}]), "ignore[0].paths"),
    (with_resources(ignore=[{"paths": [""]}]), "ignore[0].paths[0]"),
    (with_resources(ignore=[{"paths": ["spec.replicas"]}]), "ignore[0].paths[0]"),
    (with_resources(ignore=[{"paths": ["/a~2"]}]), "ignore[0].paths[0]"),
    (with_resources(ignore=[{"target": {"kind": "A"}}]), "ignore[0].paths: Required"),
    (with_resources(conflictPolicy="Force"), None),
    (with_resources(conflictPolicy="Fail"), None),
    (with_resources(conflictPolicy="Ignore"), "spec.conflictPolicy"),
    (with_resources(adoptionPolicy="AdoptIfUnowned"), None),
    (with_resources(adoptionPolicy="AdoptAll"), None),
    (with_resources(adoptionPolicy="MustMatch"), None),
    (with_resources(adoptionPolicy="All"), "spec.adoptionPolicy"),
    (with_resources(commonMetadata={"labels": {"a": "b"}, "annotations": {"a.io/b": "any text"}}), None),
    (with_resources(commonMetadata={"labels": {"a": "b c"}}), "commonMetadata.labels.a"),
    (with_resources(commonMetadata={"labels": {"a": "b" * 64}}), "commonMetadata.labels.a"),
    (with_resources(commonMetadata={"labels": {"a": 1}}), "commonMetadata.labels.a"),
    (with_resources(dependsOn=[]), None),
    (with_resources(dependsOn=[{"name": "b"}]), None),
    (with_resources(dependsOn=[{"name": "b"}] * 65), "spec.dependsOn: Too many"),
    (with_resources(dependsOn=["b"]), "spec.dependsOn[0]"),
    (with_resources(remediation={"retries": -1}), None),
    (with_resources(remediation={"retries": -2}), "spec.remediation.retries"),
    (with_resources(remediation={"strategy": "uninstall"}), "spec.remediation.strategy"),
    (with_resources(revisionHistoryLimit=1000), None),
    (with_resources(revisionHistoryLimit=0), None),
    (with_resources(revisionHistoryLimit=-1), "spec.revisionHistoryLimit"),
    (with_resources(revisionHistoryLimit=1001), "spec.revisionHistoryLimit"),
]

RELEASES = [
    ({}, None),
    ({"operation": "Preview"}, None),
    ({"operation": "Preview", **resource()}, None),
    ({"operation": "Preview", "resources": []}, None),
    ({"operation": "Preview", **with_resources(serviceAccountName="deployer")}, None),
    ({"operation": "Preview", **with_resources(serviceAccountName="other:deployer")},
     "spec.serviceAccountName"),
    ({"operation": "Preview", "serviceAccountName": "deployer"}, "only with resources"),
    ({"operation": "Preview", **resource(attributes=[])}, "resources[0].attributes"),
    ({"operation": "Preview", "resources": [RESOURCE] * 10001}, "resources: Too many"),
    ({"operation": "Apply", **resource()}, None),  # the operator's own
    ({"operation": "Destroy", **resource()}, "only with `operation: Preview`"),
    ({"operation": "Rollback", **resource()}, "only with `operation: Preview`"),
    ({"operation": "Destroy"}, None),
    ({"operation": "Rollback"}, None),
    ({"operation": "Rollback", "toRevision": 1}, None),
    ({"operation": "Rollback", "toRevision": 0}, "spec.toRevision"),
    ({"operation": "Apply", "toRevision": 1}, "only with `operation: Rollback`"),
    ({"operation": "Preview", "toRevision": 1}, None),
    ({"operation": "Preview", "toRevision": 1, **resource()}, "cannot be previewed at once"),
    ({"operation": "Preview", "resourcesFrom": [CONFIG_MAP], "policies": {}, "serviceAccountName": "a"}, None),
    ({"operation": "Preview", "resourcesFrom": [CONFIG_MAP], "toRevision": 1}, "cannot be previewed at once"),
    ({"operation": "Destroy", "resourcesFrom": [CONFIG_MAP]}, "only with `operation: Preview`"),
    ({"operation": "apply"}, "spec.operation"),
    ({"operation": ABSENT}, "spec.operation: Required"),
    ({"specRef": ABSENT}, "spec.specRef: Required"),
    ({"specRef": {}}, "spec.specRef.name: Required"),
    ({"specRef": {"name": ""}}, "spec.specRef.name"),
    ({"specRef": {"name": "a.b-1"}}, None),
    ({"specRef": {"name": "a\u202eb"}}, "spec.specRef.name"),  # a column shows it
    ({"approvedPlan": "sha256:1"}, None),
    ({"approvedPlan": ""}, "spec.approvedPlan"),
    ({"ttlSecondsAfterFinished": 0}, None),
    ({"ttlSecondsAfterFinished": -1}, "spec.ttlSecondsAfterFinished"),
]


def row_id(row):
    text = str(row[0])
    return (text if len(text) < 80 else f"{text[:77]}...") + ("" if row[1] is None else " refused")


def check(cluster, body, refusal):
    """By a dry run, which checks all that a real one does, and leaves nothing behind."""
    answer = create(cluster, "default", body, "&dryRun=All")
    if refusal is None:
        answer.must()
    else:
        assert answer.code == 422, answer
        assert refusal in answer.message


class TestValidation:
    @pytest.mark.parametrize("row", SPECS, ids=row_id)
    def test_of_spec(self, crds, row):
        check(crds, new_spec(**row[0]), row[1])

    @pytest.mark.parametrize("row", RELEASES, ids=row_id)
    def test_of_release(self, crds, row):
        check(crds, new_release(**row[0]), row[1])

    @pytest.mark.parametrize("body", [new_spec(), new_release()], ids=["Spec", "Release"])
    def test_spec_is_required(self, crds, body):
        body = copy.deepcopy(body)
        del body["spec"]
        check(crds, body, "spec: Required value")

    def test_rules_hold_on_update_too(self, crds, namespace):
        create(crds, namespace, new_spec(resources=[], approval={"mode": "Manual"})).must()
        path = path_of("Spec", namespace, "a")
        assert crds.api.patch(path, {"spec": {"resources": None}}).code == 422
        patch = {"spec": {"approval": {"mode": None, "approvedPlan": "sha256:1"}}}
        assert crds.api.patch(path, patch).code == 422
        crds.api.patch(path, {"spec": {"approval": {"approvedPlan": "sha256:1"}}}).must()


IMMUTABLE = [
    # patch of a Rollback to revision 3, whether it is taken
    ({"spec": {"approvedPlan": "sha256:1"}}, True),
    ({"spec": {"approvedPlan": "sha256:2"}}, False),
    ({"spec": {"ttlSecondsAfterFinished": 60}}, True),
    ({"metadata": {"labels": {"a": "b"}}}, True),
    ({"metadata": {"finalizers": ["example.com/hold-on"]}}, True),
    ({"spec": {"operation": "Destroy", "toRevision": None}}, False),
    ({"spec": {"operation": "Apply", "toRevision": None}}, False),
    ({"spec": {"toRevision": 4}}, False),
    ({"spec": {"toRevision": None}}, False),
    ({"spec": {"specRef": {"name": "other"}}}, False),
    ({"spec": {"specRef": None}}, False),
    ({"spec": None}, False),
    ({"spec": {}}, True),
]


class TestReleaseIsImmutable:
    @pytest.fixture
    def path(self, crds, namespace):
        create(crds, namespace, new_release(operation="Rollback", toRevision=3)).must()
        status = {"phase": "awaitingApproval", "plan": {"digest": "sha256:1"}}
        crds.api.patch(f"{path_of('Release', namespace, 'a')}/status", {"status": status}).must()
        yield path_of("Release", namespace, "a")
        crds.api.patch(path_of("Release", namespace, "a"), {"metadata": {"finalizers": None}})

    @pytest.mark.parametrize("patch, taken", IMMUTABLE, ids=str)
    def test_by_merge_patch(self, crds, path, patch, taken):
        before = crds.api.get(path).object["spec"]
        answer = crds.api.patch(path, patch)
        assert (answer.code == 200) == taken, answer
        if not taken:
            assert answer.code == 422
            assert crds.api.get(path).object["spec"] == before

    def test_approval_can_be_given_and_withdrawn(self, crds, path):
        for digest in ("sha256:1", None, "sha256:1"):
            answer = crds.api.patch(path, {"spec": {"approvedPlan": digest}}).must()
            assert answer.object["spec"].get("approvedPlan") == digest

    def test_approval_of_another_plan_is_refused(self, crds, path):
        answer = crds.api.patch(path, {"spec": {"approvedPlan": "sha256:2"}})
        assert answer.code == 422 and "not the digest of this Release's plan" in answer.message

    @pytest.mark.parametrize("phase, taken", [
        ("applying", True), ("failed", True), ("succeeded", False), ("cancelled", False)])
    def test_approval_of_a_release_that_ended_is_refused(self, crds, path, phase, taken):
        crds.api.patch(f"{path}/status", {"status": {"phase": phase}}).must()
        answer = crds.api.patch(path, {"spec": {"approvedPlan": "sha256:1"}})
        assert (answer.code == 200) == taken, answer
        assert taken or "has ended, so there is nothing to approve" in answer.message

    def test_an_approval_stays_whatever_the_status_says(self, crds, path):
        crds.api.patch(path, {"spec": {"approvedPlan": "sha256:1"}}).must()
        for status in {"phase": "succeeded"}, {"plan": {"digest": "sha256:2"}}, {"plan": None}:
            crds.api.patch(f"{path}/status", {"status": status}).must()
        crds.api.patch(path, {"metadata": {"labels": {"a": "b"}}}).must()

    def test_a_first_revision_cannot_be_added(self, crds, namespace):
        create(crds, namespace, new_release("b", operation="Rollback")).must()
        path = path_of("Release", namespace, "b")
        answer = crds.api.patch(path, {"spec": {"toRevision": 1}})
        assert answer.code == 422 and "make another Release" in answer.message

    def test_by_removing_spec(self, crds, path):
        answer = crds.api.request("PATCH", path, [{"op": "remove", "path": "/spec"}], JSON_PATCH)
        assert answer.code == 422, answer

    def test_by_replacing_it_whole(self, crds, path):
        body = crds.api.get(path).object
        del body["spec"]
        assert crds.api.request("PUT", path, body).code == 422
        body["spec"] = new_release(operation="Destroy")["spec"]
        answer = crds.api.request("PUT", path, body)
        assert answer.code == 422 and "make another Release" in answer.message

    def test_by_server_side_apply(self, crds, path):
        body = new_release(operation="Rollback", toRevision=9)
        answer = crds.api.apply(path, body)
        assert answer.code == 422 and "make another Release" in answer.message

    def test_by_giving_up_all_fields(self, crds, namespace):
        """A manager that applied it and no longer mentions spec would take it away."""
        path = path_of("Release", namespace, "applied")
        body = new_release("applied")
        crds.api.apply(path, body).must()
        del body["spec"]
        assert crds.api.apply(path, body).code == 422

    @pytest.mark.parametrize("operation", [
        {"op": "remove", "path": "/spec/resources"},
        {"op": "replace", "path": "/spec/resources", "value": []},
        {"op": "add", "path": "/spec/resources/0/dependsOn", "value": ["a"]},
        {"op": "replace", "path": "/spec/resources/0/attributes/data/a", "value": "c"},
        {"op": "add", "path": "/spec/resources/0/attributes/data/c", "value": "d"},
        {"op": "remove", "path": "/spec/serviceAccountName"},
        {"op": "replace", "path": "/spec/serviceAccountName", "value": "other"},
    ], ids=str)
    def test_of_a_preview_with_resources(self, crds, namespace, operation):
        body = new_release("p", operation="Preview", serviceAccountName="deployer",
                           **resource(attributes={"data": {"a": "b"}}))
        create(crds, namespace, body).must()
        path = path_of("Release", namespace, "p")
        answer = crds.api.request("PATCH", path, [operation], JSON_PATCH)
        assert answer.code == 422 and "make another Release" in answer.message
        crds.api.patch(path, {"metadata": {"labels": {"a": "b"}}}).must()

    def test_resources_cannot_be_added(self, crds, namespace):
        create(crds, namespace, new_release("p", operation="Preview")).must()
        answer = crds.api.patch(path_of("Release", namespace, "p"), {"spec": resource()})
        assert answer.code == 422 and "make another Release" in answer.message

    def test_a_large_one_can_be_labelled(self, crds, namespace):
        resources = large(5000, MIB)["spec"]["resources"]
        create(crds, namespace, new_release("p", operation="Preview", resources=resources)).must()
        path = path_of("Release", namespace, "p")
        crds.api.patch(path, {"metadata": {"labels": {"a": "b"}}}).must()
        assert crds.api.patch(path, {"spec": {"resources": resources[1:]}}).code == 422

    def test_status_can_be_written(self, crds, path):
        answer = crds.api.patch(f"{path}/status", {"status": {"phase": "rollingBack"}}).must()
        assert answer.object["spec"]["toRevision"] == 3


class TestLimits:
    """Large and deep."""

    def test_5000_resources_by_create(self, crds, namespace):
        body = large(5000, MIB)
        assert create(crds, namespace, body).must().object["spec"] == body["spec"]

    def test_5000_resources_by_server_side_apply(self, crds, namespace):
        body = large(5000, MIB)
        path = path_of("Spec", namespace, "large")
        crds.api.apply(path, body).must()
        body["spec"]["resources"].pop()
        again = crds.api.apply(path, body).must()
        assert len(again.object["spec"]["resources"]) == 4999
        status = {"status": every_field("Spec")["status"]}
        crds.api.patch(f"{path}/status", status).must()
        crds.api.patch(path, {"metadata": {"finalizers": ["api.kusion.io/test"]}}).must()
        crds.api.patch(path, {"metadata": {"finalizers": None}}).must()

    def test_5000_resources_by_kubectl(self, crds, namespace):
        crds.apply(json.dumps(large(5000, MIB)), namespace)

    def test_depth_of_9990(self, crds, namespace):
        """The API server takes it; so it must be deletable, and have its finalizer taken off."""
        depth = 9990
        attributes = '{"a":' * depth + "1" + "}" * depth
        text = json.dumps(new_spec("deep", resources=[{**RESOURCE, "attributes": {"here": 0}}]))
        text = text.replace('{"here": 0}', attributes)
        crds.api.request("POST", path_of("Spec", namespace), text).must()
        path = path_of("Spec", namespace, "deep")
        crds.api.patch(path, {"metadata": {"finalizers": ["api.kusion.io/test"]}}).must()
        crds.api.delete(path).must()
        crds.api.patch(path, {"metadata": {"finalizers": None}}).must()
        assert crds.api.get(path).code == 404

    def test_a_full_inventory_fits_beside_a_large_spec(self, crds, namespace):
        create(crds, namespace, large(5000, MIB)).must()
        path = path_of("Spec", namespace, "large", "status")
        entries = [{"id": f"v1:ConfigMap:demo:n{i}", "type": "Kubernetes"} for i in range(1000)]
        failed = [{"id": e["id"], "reason": "Invalid", "message": "m" * 512} for e in entries[:256]]
        status = {"inventory": {"entries": entries}, "resources": {"failed": failed}}
        crds.api.patch(path, {"status": status}).must()
        status["inventory"]["entries"].append({"id": "one-more"})
        assert crds.api.patch(path, {"status": status}).code == 422
