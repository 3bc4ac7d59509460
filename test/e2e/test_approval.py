"""`approval.mode: Manual`: nothing is changed but what a person approved."""

import json
import re
import shlex

import pytest

from kusion_e2e.approved import Approved
from kusion_e2e.controller import STATE
from kusion_e2e.rights import account, may, wait_until_may
from kusion_e2e.pages import snippets
from kusion_e2e.shell import type_in
from kusion_e2e.specs import config_map, resource
from kusion_e2e.state_backend import need_objects
from kusion_e2e.wait import eventually

@pytest.fixture
def spec(controlled, tenant):
    yield Approved(controlled, tenant)


def drift(spec, name, **fields):
    path = f"/api/v1/namespaces/{spec.namespace}/configmaps/{name}"
    spec.cluster.api.patch(path, {"data": fields}).must()


def secret(namespace):
    return resource({"apiVersion": "v1", "kind": "Secret",
                     "metadata": {"name": "s", "namespace": namespace}, "stringData": {"a": "b"}})


def test_waits_and_goes_on_when_the_release_is_approved(spec):
    need_objects()
    spec.apply([config_map("a", spec.namespace), config_map("b", spec.namespace)])
    release = spec.waiting(create=2)
    assert spec.data("a") is None
    ready, finished = spec.condition(), spec.condition("Finished")
    assert (ready["status"], finished["status"]) == ("Unknown", "False")
    assert spec.condition("Reconciling")["status"] == "True"
    assert f"kubectl patch release {release['metadata']['name']}" in ready["message"]
    assert [one["action"] for one in release["status"]["results"]] == ["create", "create"]
    spec.approve(release)
    spec.wait("True")
    status = spec.releases()[-1]["status"]
    assert (status["phase"], status["approval"]["manager"]) == ("succeeded", "alice")
    assert status["approval"]["plan"] == release["status"]["plan"]["digest"]
    assert status["approval"]["time"] and status["plan"] == release["status"]["plan"]
    assert len(spec.releases()) == 1


def test_the_commands_of_the_message_show_the_plan_and_approve_it(spec):
    need_objects()
    spec.apply([config_map("a", spec.namespace)])
    spec.waiting()
    look, approve = re.search("\nto see it: kubectl (.*)\nto approve: kubectl (.*)",
                              spec.condition()["message"]).groups()
    assert f"id: v1:ConfigMap:{spec.namespace}:a" in spec.cluster.kubectl(*shlex.split(look)).stdout
    spec.cluster.kubectl(*shlex.split(approve))
    spec.wait("True")


def test_the_commands_of_the_page_show_the_plan_and_approve_it(controlled, tenant):
    need_objects()
    spec = Approved(controlled, tenant, "web").apply([config_map("a", tenant)])
    show, approve, _ = snippets("approval.md", __file__)
    result = type_in(controlled, f"set -e\n{show}\n{approve}".replace("team-a", tenant))
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"create v1:ConfigMap:{tenant}:a" in result.stdout
    spec.wait("True")


def test_the_command_of_the_page_rejects(controlled, tenant):
    need_objects()
    spec = Approved(controlled, tenant, "web").apply([config_map("a", tenant)])
    name = spec.waiting()["metadata"]["name"]
    _, _, reject = snippets("approval.md", __file__)
    result = type_in(controlled, f"release=release/{name}\n{reject}".replace("team-a", tenant))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "rejected by kubectl-patch: not before Monday" in spec.wait("False")["message"]


def test_approved_in_the_spec(spec):
    spec.apply([config_map("a", spec.namespace)])
    release = spec.waiting()
    spec.approve_in_spec(release["status"]["plan"]["digest"])
    spec.wait("True")
    first, second = spec.releases()
    assert (first["status"]["phase"], second["status"]["phase"]) == ("cancelled", "succeeded")
    assert second["status"]["approval"]["manager"] == "bob"
    # It stays in the Spec, and approves nothing else.
    drift(spec, "a", a="other")
    spec.look()
    spec.waiting(update=1)


def test_another_account_is_another_plan(spec):
    """Whoever may change the account after the approval in the Spec was written gets no further."""
    spec.apply([config_map("a", spec.namespace)])
    release = spec.waiting()
    digest = release["status"]["plan"]["digest"]
    spec.cluster.kubectl("create", "serviceaccount", "other", "-n", spec.namespace)
    spec.cluster.kubectl("create", "rolebinding", "other", "--clusterrole=cluster-admin", "-n", spec.namespace,
                         f"--serviceaccount={spec.namespace}:other")
    body = {"spec": {"serviceAccountName": "other", "approval": {"approvedPlan": digest}}}
    spec.generation = spec.cluster.api.patch(spec.path, body).must().object["metadata"]["generation"]
    eventually(lambda: spec.phases() == ["cancelled", "awaitingApproval"])
    assert spec.waiting()["status"]["plan"]["digest"] != digest and spec.data("a") is None


@pytest.mark.parametrize("digest", ["0" * 64, "x"])
def test_another_digest_is_refused(spec, digest):
    spec.apply([config_map("a", spec.namespace)])
    release = spec.waiting()
    body = {"spec": {"approvedPlan": digest}}
    answer = spec.cluster.api.patch(spec.release_path(release), body)
    assert answer.code == 422 and "not the digest of this Release's plan" in answer.message, answer
    spec.approve(release)
    spec.wait("True")


def test_another_digest_in_the_spec_approves_nothing(spec):
    spec.apply([config_map("a", spec.namespace)])
    spec.waiting()
    spec.approve_in_spec("0" * 64)
    spec.look()
    assert spec.phases() == ["cancelled", "awaitingApproval"] and spec.data("a") is None


def test_a_release_that_ended_cannot_be_approved(spec):
    """Its plan may be that of a Release which waits."""
    spec.apply([config_map("a", spec.namespace)])
    first = spec.waiting()
    spec.apply([config_map("a", spec.namespace)], interval="1h")
    eventually(lambda: spec.phases() == ["cancelled", "awaitingApproval"])
    body = {"spec": {"approvedPlan": first["status"]["plan"]["digest"]}}
    answer = spec.cluster.api.patch(spec.release_path(first), body)
    assert answer.code == 422 and "has ended, so there is nothing to approve" in answer.message
    spec.cluster.api.patch(spec.release_path(first), {"spec": {"ttlSecondsAfterFinished": 60}}).must()


def test_what_changes_meanwhile_voids_it(spec):
    spec.apply([config_map("a", spec.namespace)])
    spec.approve(spec.waiting())
    spec.wait("True")
    drift(spec, "a", a="one")
    spec.look()
    release = spec.waiting(update=1)
    drift(spec, "a", a="two")
    spec.approve(release)
    eventually(lambda: spec.phases()[1:] == ["cancelled", "awaitingApproval"])
    stale = spec.releases()[1]["status"]
    assert [one["reason"] for one in stale["conditions"] if one["type"] == "Ready"] == ["PlanStale"]
    assert spec.data("a") == {"a": "two"}
    spec.approve(spec.waiting(update=1))
    spec.wait("True")
    assert spec.data("a") == {"a": "b"}


def test_a_plan_that_is_looked_at_again_stays_the_same(spec):
    spec.apply([config_map("a", spec.namespace)])
    release = spec.waiting()
    for _ in range(3):
        spec.look()
    assert len(spec.releases()) == 1
    assert spec.waiting()["status"]["plan"]["digest"] == release["status"]["plan"]["digest"]


def test_another_plan_is_shown_before_anybody_approved_the_first(spec):
    spec.apply([config_map("a", spec.namespace)])
    spec.approve(spec.waiting())
    spec.wait("True")
    for value in "one", "two":
        drift(spec, "a", a=value)
        spec.look()
    assert spec.phases() == ["succeeded", "cancelled", "awaitingApproval"]


def test_of_several_edits_one_release_waits(spec):
    for value in "abcd":
        spec.apply([config_map("a", spec.namespace, {"a": value})])
        spec.waiting()
    phases = spec.phases()
    assert phases == ["cancelled"] * (len(phases) - 1) + ["awaitingApproval"]
    spec.approve(spec.waiting())
    spec.wait("True")
    assert spec.data("a") == {"a": "d"}


def test_a_deletion_needs_no_approval(spec):
    spec.apply([config_map("a", spec.namespace)])
    spec.approve(spec.waiting())
    spec.wait("True")
    spec.delete()
    assert spec.data("a") is None
    eventually(lambda: not approvals(spec.cluster, spec.namespace))


def approvals(cluster, namespace):
    """Documents of plans that waited for approval in the namespace."""
    found = cluster.api.get(f"/api/v1/namespaces/{STATE}/configmaps").must().object["items"]
    return [one["metadata"]["name"] for one in found
            if one["metadata"]["name"].startswith("kusion-approval-")
            and namespace in json.dumps(one["metadata"].get("annotations", {}))]


def test_nothing_to_do_needs_no_approval(spec):
    spec.apply([config_map("a", spec.namespace)])
    spec.approve(spec.waiting())
    spec.wait("True")
    spec.apply([config_map("a", spec.namespace)], interval="20m")
    spec.wait("True")


def test_what_is_gone_already_needs_no_approval(spec):
    """It only leaves State."""
    spec.apply([config_map("a", spec.namespace), config_map("b", spec.namespace)])
    spec.approve(spec.waiting())
    spec.wait("True")
    for name in "ab":
        spec.cluster.api.delete(f"/api/v1/namespaces/{spec.namespace}/configmaps/{name}").must()
    spec.cluster.api.create(f"/api/v1/namespaces/{spec.namespace}/configmaps",
                            {"metadata": {"name": "b"}, "data": {"x": "y"}}).must()
    spec.apply([])
    spec.wait("True")
    assert spec.get()["status"].get("inventory", {}).get("total", 0) == 0
    assert spec.data("b") == {"x": "y"}


def test_a_plan_that_becomes_empty_ends_its_release(spec):
    """Somebody else has done all of it."""
    spec.apply([config_map("a", spec.namespace)])
    spec.approve(spec.waiting(create=1))
    spec.wait("True")
    spec.apply([config_map("a", spec.namespace, {"a": "new"})])
    release = spec.waiting(update=1)
    spec.cluster.kubectl("patch", "configmap", "a", "-n", spec.namespace, "--type=merge",
                         "-p", '{"data":{"a":"new"}}')
    spec.look()
    spec.wait("True")
    assert spec.phases() == ["succeeded", "succeeded"]
    assert spec.releases()[-1]["status"]["summary"] == "1 unchanged"
    body = {"spec": {"approvedPlan": release["status"]["plan"]["digest"]}}
    assert spec.cluster.api.patch(spec.release_path(release), body).code == 422


def test_what_the_operator_lets_go_of_is_approved_like_any_change(spec):
    both = [config_map("a", spec.namespace), config_map("b", spec.namespace)]
    spec.apply(both, prune=False)
    spec.approve(spec.waiting(create=2))
    spec.wait("True")
    spec.apply(both[:1], prune=False)
    release = spec.waiting(unchanged=1)
    assert release["status"]["summary"] == "1 to leave in place"
    assert set(spec.state()) == {one["id"] for one in both}
    spec.approve(release)
    spec.wait("True")
    assert set(spec.state()) == {both[0]["id"]} and spec.data("b")


def test_a_resource_that_leaves_is_approved_like_any_change(spec):
    spec.apply([config_map("a", spec.namespace), config_map("b", spec.namespace)])
    spec.approve(spec.waiting(create=2))
    spec.wait("True")
    spec.apply([config_map("a", spec.namespace)])
    release = spec.waiting(delete=1)
    assert spec.data("b")
    spec.approve(release)
    spec.wait("True")
    assert spec.data("b") is None


def test_what_cannot_be_planned_yet_is_a_second_round(spec):
    cluster, namespace = spec.cluster, spec.namespace

    def allow(kind):
        cluster.kubectl("create", "role", kind, "-n", namespace, "--verb=*", f"--resource={kind}")
        cluster.kubectl("create", "rolebinding", kind, "-n", namespace, f"--role={kind}",
                        f"--serviceaccount={namespace}:weak")

    cluster.kubectl("create", "serviceaccount", "weak", "-n", namespace)
    allow("configmaps")
    spec.apply([config_map("a", namespace), secret(namespace)], serviceAccountName="weak",
               retryInterval="1s")
    first = spec.waiting(create=1)
    assert "1 cannot be planned yet" in spec.condition()["message"]
    allow("secrets")
    spec.approve(first)
    second = spec.waiting(create=1, unchanged=1)
    assert spec.phases() == ["succeeded", "awaitingApproval"]
    spec.approve(second)
    spec.wait("True")


def test_values_that_are_known_only_later_need_no_second_approval(spec):
    def service(name):
        return resource({"apiVersion": "v1", "kind": "Service",
                         "metadata": {"name": name, "namespace": spec.namespace},
                         "spec": {"ports": [{"port": 80}]}})

    def address(name):
        return f"$kusion_path.v1:Service:{spec.namespace}:{name}.spec.clusterIP"

    spec.apply([service("one"), config_map("a", spec.namespace, {"one": address("one")})])
    spec.approve(spec.waiting(create=2))
    spec.wait("True")
    both = {"one": address("one"), "two": address("two")}
    spec.apply([service("one"), service("two"), config_map("a", spec.namespace, both)])
    spec.approve(spec.waiting(create=1, update=1))
    spec.wait("True")
    assert spec.phases() == ["succeeded", "succeeded"]
    assert all(value.startswith("10.") for value in spec.data("a").values())


def test_a_kind_that_the_same_spec_brings_is_in_the_plan(spec):
    group = f"{spec.namespace}.example.com"
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
           "metadata": {"name": f"things.{group}"},
           "spec": {"group": group, "scope": "Namespaced",
                    "names": {"plural": "things", "kind": "Thing"},
                    "versions": [{"name": "v1", "served": True, "storage": True, "schema": {
                        "openAPIV3Schema": {"type": "object",
                                            "x-kubernetes-preserve-unknown-fields": True}}}]}}
    thing = {"apiVersion": f"{group}/v1", "kind": "Thing",
             "metadata": {"name": "one", "namespace": spec.namespace}, "spec": {"size": 1}}
    spec.apply([resource(crd), resource(thing)])
    spec.approve(spec.waiting(create=2))
    spec.wait("True")
    spec.delete()


def test_a_retry_is_held_to_the_approved_plan(spec):
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"},
             "spec": {"hard": {"secrets": "0"}}}
    quotas = f"/api/v1/namespaces/{spec.namespace}/resourcequotas"
    spec.apply([config_map("a", spec.namespace), secret(spec.namespace)], retryInterval="1s")
    release = spec.waiting(create=2)
    spec.cluster.api.create(quotas, quota).must()
    eventually(lambda: "used" in spec.cluster.api.get(f"{quotas}/none").must().object.get("status", {}))
    spec.approve(release)
    eventually(lambda: spec.phases() == ["failed"])
    spec.cluster.api.delete(f"{quotas}/none").must()
    spec.wait("True")
    assert spec.phases() == ["failed", "succeeded"]
    assert spec.releases()[-1]["status"]["approval"]["manager"] == "alice"


def test_the_digest_of_a_preview_is_the_one_to_approve(spec):
    spec.apply([config_map("a", spec.namespace), config_map("b", spec.namespace)])
    release = spec.waiting(create=2)
    path = f"/apis/api.kusion.io/v1/namespaces/{spec.namespace}/releases"
    body = {"apiVersion": "api.kusion.io/v1", "kind": "Release",
            "metadata": {"generateName": "look-"},
            "spec": {"specRef": {"name": spec.name}, "operation": "Preview"}}
    name = spec.cluster.api.create(path, body).must().object["metadata"]["name"]

    def ended():
        status = spec.cluster.api.get(f"{path}/{name}").must().object.get("status", {})
        return status if status.get("phase") == "succeeded" else None

    preview = eventually(ended)
    assert preview["plan"]["digest"] == release["status"]["plan"]["digest"]


def test_the_right_to_approve_is_not_the_right_to_edit(spec):
    cluster, namespace = spec.cluster, spec.namespace
    spec.apply([config_map("a", namespace)])
    release = spec.waiting()
    for name in "approver", "author":
        cluster.kubectl("create", "serviceaccount", name, "-n", namespace)
    rights = {"approver": ("get,list,watch,patch", "releases.api.kusion.io"),
              "author": ("get,list,watch,create,update,patch", "specs.api.kusion.io")}
    for name, (verbs, kind) in rights.items():
        cluster.kubectl("create", "role", name, "-n", namespace, f"--verb={verbs}",
                        f"--resource={kind}")
        cluster.kubectl("create", "rolebinding", name, "-n", namespace, f"--role={name}",
                        f"--serviceaccount={namespace}:{name}")
    approver, author = account(namespace, "approver"), account(namespace, "author")
    wait_until_may(cluster, approver, "patch", "releases", namespace, "api.kusion.io")
    assert not may(cluster, approver, "patch", "api.kusion.io", "specs", namespace)
    assert not may(cluster, author, "patch", "api.kusion.io", "releases", namespace)
    body = json.dumps({"spec": {"approvedPlan": release["status"]["plan"]["digest"]}})
    path = spec.release_path(release)
    assert cluster.api.request("PATCH", path, body, "application/merge-patch+json",
                               impersonate=author).code == 403
    cluster.api.request("PATCH", path, body, "application/merge-patch+json",
                        impersonate=approver).must()
    spec.wait("True")
