"""Tenants who mean harm, and `approval.mode: Manual`. The operator has exactly what the chart gives
to it."""

import json
import time

import pytest

from kusion_e2e.approved import Approved
from kusion_e2e.audit import WRITTEN
from kusion_e2e.chart import NAME, OWN
from kusion_e2e.kinds import new_release, path_of
from kusion_e2e.rights import account, wait_until_may
from kusion_e2e.specs import config_map
from kusion_e2e.state_backend import need_objects
from kusion_e2e.tenancy import DEPLOYER, RBAC, ApiAs, forge_record
from kusion_e2e.wait import eventually


class Author:
    """May write Specs, and make Releases, to preview: stands in for a Cluster."""

    RULES = [{"apiGroups": ["api.kusion.io"], "resources": ["specs"], "verbs": ["*"]},
             {"apiGroups": ["api.kusion.io"], "resources": ["releases"],
              "verbs": ["get", "list", "watch", "create"]}]

    def __init__(self, cluster, tenant):
        self.cluster, self.namespace = cluster, tenant.namespace
        self.user = f"author-of-{tenant.namespace}@example.com"
        self.api = ApiAs(cluster.kubeconfig, self.user)
        metadata = {"name": "author-who-previews", "namespace": self.namespace}
        cluster.apply("---\n".join(json.dumps(one) + "\n" for one in (
            {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": self.RULES},
            {"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding", "metadata": metadata,
             "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": metadata["name"]},
             "subjects": [{"kind": "User", "name": self.user, "apiGroup": RBAC}]})))
        wait_until_may(cluster, self.user, "create", "releases", self.namespace, "api.kusion.io")

    def make(self, name, metadata=None, **fields):
        body = new_release(name, **fields)
        body["metadata"].update(metadata or {})
        if metadata:
            return forge_record(self.api, self.cluster, self.namespace, body)
        return self.api.create(path_of("Release", self.namespace), body).must().object

    def read(self, name):
        return self.api.get(path_of("Release", self.namespace, name)).must().object

    def digest_of(self, name, spec, **fields):
        """Of a Preview."""
        self.make(name, operation="Preview", specRef={"name": spec}, **fields)
        return eventually(lambda: self.read(name)["status"]["plan"]["digest"]
                          if self.read(name)["status"].get("phase") == "succeeded" else None)


@pytest.fixture(scope="module")
def tenant(tenancy):
    made = tenancy.tenant("approved").allow("", "configmaps", "secrets")
    tenancy.run("--log-level=debug")
    return made


@pytest.fixture(scope="module")
def author(tenancy, tenant):
    return Author(tenancy.cluster, tenant)


def record(revision, generation, owner=None):
    """What the operator's own Releases have, which everybody can read from one."""
    made = {"labels": {"api.kusion.io/generated": "true"},
            "annotations": {"api.kusion.io/revision": str(revision),
                            "api.kusion.io/spec-generation": str(generation),
                            "api.kusion.io/operation": "Apply"}}
    if owner:
        made["ownerReferences"] = [{"apiVersion": "api.kusion.io/v1", "kind": "Spec",
                                    "name": owner["metadata"]["name"],
                                    "uid": owner["metadata"]["uid"], "controller": True}]
    return made


class TestWithTheRightToMakeReleases:
    """To approve takes the right to change them."""

    def test_a_first_release_that_is_made_as_approved_approves_nothing(self, author, tenant):
        things = [config_map("first", author.namespace)]
        digest = author.digest_of("look", "first", resources=things, serviceAccountName=DEPLOYER)
        author.make("first-1", record(1, 1), specRef={"name": "first"}, approvedPlan=digest)
        spec = Approved(author, author.namespace, "first")
        spec.apply(things, serviceAccountName=DEPLOYER)
        spec.waiting(create=1)
        spec.look()
        time.sleep(2)
        assert spec.data("first") is None

    def test_nor_does_a_later_one(self, tenancy, author, tenant):
        things = [config_map("later", author.namespace)]
        spec = Approved(author, author.namespace, "later")
        spec.apply(things, serviceAccountName=DEPLOYER)
        digest = spec.waiting(create=1)["status"]["plan"]["digest"]
        owner = spec.get()
        author.make("later-2", record(2, 2, owner), specRef={"name": "later"}, approvedPlan=digest)
        spec.apply(things, serviceAccountName=DEPLOYER, timeout="9m")
        spec.waiting(create=1)
        spec.look()
        time.sleep(2)
        found = tenancy.cluster.api.get(f"/api/v1/namespaces/{author.namespace}/configmaps/later")
        assert found.code == 404

    def test_many_of_them_do_not_hide_the_one_that_waits(self, tenancy, author, tenant):
        """They look newer. Each reconcile reads a few of them, and not all."""
        need_objects()
        spec = Approved(tenancy.cluster, author.namespace, "hidden")
        spec.apply([config_map("hidden", author.namespace)], serviceAccountName=DEPLOYER)
        release, owner = spec.waiting(create=1), spec.get()
        for revision in range(2, 202):
            author.make(f"hidden-{revision}", record(revision, 1, owner), approvedPlan="x",
                        specRef={"name": "hidden"})
        since = tenancy.audit.now()
        spec.look()
        time.sleep(WRITTEN)
        read = {one.name for one in tenancy.audit.entries(since, account(OWN, NAME))
                if one.verb == "get" and one.name.startswith("hidden-")}
        assert "hidden-1" in read and len(read) < 80, len(read)
        spec.approve(release)
        spec.wait("True")
        assert spec.data("hidden") == {"a": "b"}


class TestPlansThatDifferEachTime:
    def test_their_releases_are_bounded(self, tenancy, tenant):
        """Another manager gives an object another value again and again."""
        spec = Approved(tenancy.cluster, tenant.namespace, "differs")
        spec.apply([config_map("differs", tenant.namespace)], serviceAccountName=DEPLOYER,
                   revisionHistoryLimit=3)
        spec.approve(spec.waiting())
        spec.wait("True")
        path = f"/api/v1/namespaces/{tenant.namespace}/configmaps/differs"
        for number in range(12):
            tenancy.cluster.api.patch(path, {"data": {"a": str(number)}}).must()
            spec.look()
        assert len(spec.releases()) <= 4, [one["metadata"]["name"] for one in spec.releases()]
