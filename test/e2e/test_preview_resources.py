"""Previews that carry resources: a plan of a change before it is made, and of a Spec before it is
created. Nothing of it is stored."""

import json

import pytest

from kusion_e2e.kinds import large
from kusion_e2e.rights import account
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.states import states
from kusion_e2e.wait import eventually

GROUP = "/apis/api.kusion.io/v1/namespaces"


class Preview:
    """A Release, made and waited for."""

    def __init__(self, cluster, namespace, resources=None, spec="spec", **fields):
        """resources=None: those of the Spec."""
        if resources is not None:
            fields["resources"] = resources
        self.cluster = cluster
        self.collection = f"{GROUP}/{namespace}/releases"
        body = {"apiVersion": "api.kusion.io/v1", "kind": "Release",
                "metadata": {"generateName": "preview-"},
                "spec": {"specRef": {"name": spec}, "operation": "Preview", **fields}}
        made = cluster.api.create(self.collection, body).must().object
        self.path = f"{self.collection}/{made['metadata']['name']}"
        self.status = eventually(self.ended)
        self.ready = next(one for one in self.status["conditions"] if one["type"] == "Ready")

    def ended(self):
        status = self.cluster.api.get(self.path).must().object["status"]
        assert status.get("phase") in ("succeeded", "failed"), status
        return status

    def actions(self):
        return {one["id"].rpartition(":")[2]: one["action"] for one in self.status["results"]}


@pytest.fixture
def spec(controlled, tenant):
    yield Spec(controlled, tenant)
    controlled.kubectl("delete", "spec", "spec", "-n", tenant, "--ignore-not-found")


def two(namespace, value="b"):
    """The second gets a value of the first."""
    first = config_map("first", namespace, {"a": value})
    return [first, config_map("second", namespace, {"a": f"$kusion_path.{first['id']}.data.a"})]


def applies(spec):
    return [one for one in spec.releases() if one["spec"]["operation"] == "Apply"]


def config_maps(cluster, namespace):
    path = f"/api/v1/namespaces/{namespace}/configmaps?labelSelector=api.kusion.io/owner"
    return cluster.api.get(path).must().object["items"]


def test_of_a_spec_that_does_not_exist(controlled, tenant, spec):
    preview = Preview(controlled, tenant, two(tenant))
    assert preview.ready["message"] == "2 to create" and preview.status["specGeneration"] == 0
    assert preview.actions() == {"first": "create", "second": "create"}
    assert config_maps(controlled, tenant) == [] and states(controlled, tenant) == []
    assert spec.get() is None
    # The plan is that of the Spec when it is stored, and the Spec begins with revision 1.
    spec.apply(two(tenant), suspend=True)
    assert Preview(controlled, tenant).status["plan"] == preview.status["plan"]
    spec.apply(two(tenant)).wait("True")
    assert [one["status"]["revision"] for one in applies(spec)] == [1]


def test_of_a_changed_spec(controlled, tenant, spec):
    spec.apply(two(tenant)).wait("True")
    before, objects = spec.get(), config_maps(controlled, tenant)
    third = config_map("third", tenant)
    preview = Preview(controlled, tenant, [two(tenant, "c")[0], third])
    assert preview.actions() == {"first": "update", "second": "delete", "third": "create"}
    [changed] = [one for one in preview.status["results"] if one["id"].endswith(":first")]
    assert changed["fields"] == [{"path": "data.a", "from": '"b"', "to": '"c"'}]
    assert (spec.get(), config_maps(controlled, tenant)) == (before, objects)
    spec.apply([two(tenant, "c")[0], third], suspend=True)
    assert Preview(controlled, tenant).status["plan"] == preview.status["plan"]
    spec.apply([two(tenant, "c")[0], third]).wait("True")
    assert [one["status"]["revision"] for one in applies(spec)] == [1, 2]


def test_the_other_fields_are_those_of_the_spec(controlled, tenant, spec):
    spec.apply(two(tenant), prune=False).wait("True")
    preview = Preview(controlled, tenant, two(tenant)[:1])
    assert "second" not in preview.actions() or preview.actions()["second"] != "delete"


def test_the_checks_are_those_of_a_spec(controlled, tenant):
    wrong = config_map("a", tenant, depends_on=["nope"])
    preview = Preview(controlled, tenant, [wrong])
    assert preview.ready["reason"] == "InvalidSpec"
    assert 'resources[0].dependsOn[0]): no resource has the id "nope"' in preview.ready["message"]
    misfit = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": tenant},
              "spec": {"ports": [{"port": 99999}]}}
    preview = Preview(controlled, tenant, [resource(misfit)])
    assert preview.status["phase"] == "failed" and "port" in preview.ready["message"]


def test_an_object_of_another_spec_is_no_ones_else(controlled, tenant, spec):
    spec.apply(two(tenant)).wait("True")
    preview = Preview(controlled, tenant, two(tenant), spec="other")
    assert preview.ready["reason"] == "ConflictDetected", preview.ready


def test_acts_as_an_account_of_the_namespace(controlled, tenant, spec):
    controlled.kubectl("create", "serviceaccount", "weak", "-n", tenant)
    preview = Preview(controlled, tenant, two(tenant), serviceAccountName="weak")
    assert preview.ready["reason"] == "AccessDenied", preview.ready
    assert account(tenant, "weak") in preview.ready["message"]
    preview = Preview(controlled, tenant, two(tenant), serviceAccountName="nope")
    assert preview.ready["reason"] == "ServiceAccountNotFound", preview.ready
    # That of the Spec, where the Release names none; its own comes before that of the Spec.
    spec.apply(two(tenant), serviceAccountName="weak", suspend=True)
    assert Preview(controlled, tenant, two(tenant)).ready["reason"] == "AccessDenied"
    preview = Preview(controlled, tenant, two(tenant), serviceAccountName="default")
    assert preview.ready["message"] == "2 to create"


def test_one_that_is_too_large(controlled, tenant):
    resources = large(100, (1 << 20) + 20_000)["spec"]["resources"]
    preview = Preview(controlled, tenant, resources)
    assert preview.ready["reason"] == "InvalidSpec"
    assert "the Release is too large: spec is 1.0" in preview.ready["message"]


def test_one_that_cannot_be_read(controlled, tenant):
    deep = '{"a":' * 400 + "1" + "}" * 400
    entry = json.dumps({"id": "v1:ConfigMap:a:b", "type": "Kubernetes", "attributes": {"x": 0}})
    body = json.dumps({"apiVersion": "api.kusion.io/v1", "kind": "Release",
                       "metadata": {"name": "deep"},
                       "spec": {"specRef": {"name": "spec"}, "operation": "Preview",
                                "resources": ["here"]}})
    body = body.replace('"here"', entry.replace('{"x": 0}', deep))
    collection = f"{GROUP}/{tenant}/releases"
    controlled.api.request("POST", collection, body).must()
    conditions = eventually(lambda: controlled.api.get(f"{collection}/deep").must()
                            .object["status"].get("conditions"))
    ready = next(one for one in conditions if one["type"] == "Ready")
    assert ready["reason"] == "InvalidSpec" and "cannot be read" in ready["message"]
    controlled.api.patch(f"{collection}/deep", {"metadata": {"labels": {"a": "b"}}}).must()
    controlled.api.delete(f"{collection}/deep").must()
