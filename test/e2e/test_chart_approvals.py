"""The chart's approvalPolicy: who approves takes the verb `approve`, and is told under their own name."""

import json

import pytest

from kusion_e2e.approved import Approved
from kusion_e2e.chart import OWN, RELEASE
from kusion_e2e.paths import CHART
from kusion_e2e.rights import wait_until_may
from kusion_e2e.specs import config_map
from kusion_e2e.state_backend import need_objects
from kusion_e2e.wait import eventually

APPROVER, EDITOR = "approver@example.com", "editor@example.com"
TAKES = 'takes the verb "approve"'
NAME = "must be your own name"
ROLES = {APPROVER: [("get,list,watch,approve", "specs"), ("get,list,watch,patch", "releases")],
         EDITOR: [("get,list,watch,create,update,patch,delete", "specs,releases")]}


class Tried:
    """What users try on a Spec, in one namespace."""

    def __init__(self, cluster, namespace):
        self.cluster = cluster
        self.spec = Approved(cluster, namespace, "web")

    def patch(self, user, kind, name, fields, *options):
        """What is wrong with it; empty: it was written."""
        return self.cluster.kubectl(f"--as={user}", "patch", kind, name, "-n", self.spec.namespace, "--type=merge",
                                    *options, "-p", json.dumps({"spec": fields}), check=False).stderr

    def wait_until_refused(self, kind, name, fields):
        """A policy works some time after it was made."""
        eventually(lambda: TAKES in self.patch(EDITOR, kind, name, fields, "--dry-run=server"))


@pytest.fixture
def tried(controlled, tenant):
    need_objects()
    made = controlled.helm("template", RELEASE, CHART, "-n", OWN, "--set=approvalPolicy.enabled=true",
                           f"--set=controller.watchNamespace={tenant},fullnameOverride=kusion",
                           "--show-only=templates/approvalpolicy.yaml").stdout
    controlled.kubectl("apply", "--server-side", "-f", "-", input=made)
    for user, rules in ROLES.items():
        for verbs, resources in rules:
            role = f"{user.partition('@')[0]}-{resources.replace(',', '-')}"
            of = [f"{one}.api.kusion.io" for one in resources.split(",")]
            controlled.kubectl("create", "role", role, f"--verb={verbs}", f"--resource={','.join(of)}", "-n", tenant)
            controlled.kubectl("create", "rolebinding", role, f"--role={role}", f"--user={user}", "-n", tenant)
        wait_until_may(controlled, user, "patch", "releases", tenant, "api.kusion.io")
    wait_until_may(controlled, APPROVER, "approve", "specs", tenant, "api.kusion.io")
    tried = Tried(controlled, tenant)
    tried.spec.apply([config_map("a", tenant)])
    tried.wait_until_refused("spec", "web", {"approval": {"mode": "Automatic"}})
    yield tried
    controlled.kubectl("delete", "-f", "-", input=made)


def test_a_plan_is_approved_by_who_may_under_their_name(tried):
    release = tried.spec.waiting()
    name, digest = release["metadata"]["name"], release["status"]["plan"]["digest"]
    approval = {"approvedPlan": digest, "approvedBy": EDITOR}
    tried.wait_until_refused("release", name, approval)
    for fields in (approval, {"rejected": True, "approvedBy": EDITOR}, {"approvedBy": EDITOR}, {"reason": "x"}):
        assert TAKES in tried.patch(EDITOR, "release", name, fields), fields
    for fields in ({"approvedPlan": digest}, approval, {"rejected": True}, {"rejected": True, "approvedBy": EDITOR}):
        assert NAME in tried.patch(APPROVER, "release", name, fields), fields
    assert not tried.patch(EDITOR, "release", name, {"ttlSecondsAfterFinished": 60})
    assert not tried.patch(APPROVER, "release", name, {**approval, "approvedBy": APPROVER})
    tried.spec.wait("True")
    [release] = tried.spec.releases()
    assert release["status"]["approval"]["approver"] == APPROVER
    tried.spec.wait_event("PlanApproved", f"by {APPROVER}")


def test_a_plan_is_rejected_by_who_may_under_their_name(tried):
    name = tried.spec.waiting()["metadata"]["name"]
    tried.wait_until_refused("release", name, {"reason": "x"})
    assert NAME in tried.patch(APPROVER, "release", name, {"rejected": True})
    assert not tried.patch(APPROVER, "release", name, {"rejected": True, "reason": "no", "approvedBy": APPROVER})
    assert f"rejected by {APPROVER}: no" in tried.spec.wait("False")["message"]


def test_so_it_is_in_the_spec(tried):
    digest = tried.spec.waiting()["status"]["plan"]["digest"]
    approval = {"approval": {"approvedPlan": digest, "approvedBy": EDITOR}}
    assert TAKES in tried.patch(EDITOR, "spec", "web", approval)
    assert TAKES in tried.patch(EDITOR, "spec", "web", {"approval": {"mode": "Automatic"}})
    assert TAKES in tried.patch(EDITOR, "spec", "web", {"approval": None})
    assert not tried.patch(EDITOR, "spec", "web", {"interval": "20m"})
    lead = {"approval": {"approvedPlan": digest, "approvedBy": "lead@example.com"}}
    admin = tried.cluster.kubectl("patch", "spec", "web", "-n", tried.spec.namespace, "--type=merge", "-p",
                                  json.dumps({"spec": lead}), check=False).stderr
    assert NAME in admin
