"""kill -9 while an object is replaced: in the end there is one new object, and State knows it."""

import pytest

from kusion_e2e.controller import Controller
from kusion_e2e.history import History
from kusion_e2e.specs import Spec, resource
from kusion_e2e.wait import eventually

FINALIZER = "example.com/hold"
POLICY = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDING = f"{POLICY.rpartition('/')[0]}/validatingadmissionpolicybindings"


class Subject:
    """A Secret whose type changes, and its Spec."""

    def __init__(self, cluster, tenant):
        self.cluster, self.tenant, self.spec = cluster, tenant, Spec(cluster, tenant)
        self.collection = f"/api/v1/namespaces/{tenant}/secrets"
        self.path = f"{self.collection}/x"
        self.controller = Controller(cluster).wait_leading()

    def apply(self, type):
        self.secret = resource({"apiVersion": "v1", "kind": "Secret", "type": f"example.com/{type}",
                                "metadata": {"name": "x", "namespace": self.tenant}})
        self.spec.apply([self.secret], force=True, retryInterval="1s")

    def metadata(self):
        found = self.cluster.api.get(self.path)
        return found.object["metadata"] if found.ok else {}

    def hold(self, finalizers):
        self.cluster.api.patch(self.path, {"metadata": {"finalizers": finalizers}}).must()

    def restart(self):
        self.controller.crash()
        self.controller = Controller(self.cluster)

    def expect_one_new(self, history, old):
        self.spec.wait("True")
        new = self.metadata()["uid"]
        assert new != old and self.spec.state() == {self.secret["id"]: new}
        assert [history.counts(type)["x"] for type in ("DELETED", "ADDED")] == [1, 1]

    def end(self):
        self.controller.crash()


@pytest.fixture
def subject(state_namespace, tenant):
    made = Subject(state_namespace, tenant)
    made.apply("one")
    made.spec.wait("True")
    yield made
    made.end()


@pytest.fixture
def no_creates(state_namespace, tenant):
    """A policy that refuses to create the tenant's Secrets, but not to try it. Gives its end."""
    group = "admissionregistration.k8s.io/v1"
    state_namespace.api.create(POLICY, {
        "apiVersion": group, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": tenant},
        "spec": {"matchConstraints": {"resourceRules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
             "resources": ["secrets"]}]},
            "validations": [{"expression": "request.dryRun", "message": "not now"}]}}).must()
    state_namespace.api.create(BINDING, {
        "apiVersion": group, "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": tenant},
        "spec": {"policyName": tenant, "validationActions": ["Deny"],
                 "matchResources": {"namespaceSelector": {
                     "matchLabels": {"kubernetes.io/metadata.name": tenant}}}}}).must()
    path = f"/api/v1/namespaces/{tenant}/secrets"

    def refuses():
        name = f"probe-{refuses.tries}"
        refuses.tries += 1
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}}
        made = state_namespace.api.create(path, body)
        return not made.ok

    refuses.tries = 0
    eventually(refuses)

    def end():
        state_namespace.api.delete(f"{BINDING}/{tenant}")
        state_namespace.api.delete(f"{POLICY}/{tenant}")

    yield end
    end()


def test_killed_while_the_old_one_goes(subject):
    subject.hold([FINALIZER])
    old, history = subject.metadata()["uid"], History(subject.cluster, subject.collection)
    subject.apply("two")
    eventually(lambda: "deletionTimestamp" in subject.metadata())
    subject.restart()
    subject.controller.wait_leading()
    subject.hold(None)
    subject.expect_one_new(history, old)


def test_killed_when_the_old_one_is_gone(subject, no_creates):
    old, history = subject.metadata()["uid"], History(subject.cluster, subject.collection)
    subject.apply("two")
    eventually(lambda: not subject.metadata())
    subject.restart()
    eventually(lambda: "not now" in (subject.spec.condition() or {}).get("message", ""))
    assert not subject.spec.state().get(subject.secret["id"])
    no_creates()
    subject.expect_one_new(history, old)


def test_killed_when_the_new_one_was_made(subject):
    old, history = subject.metadata()["uid"], History(subject.cluster, subject.collection)
    subject.apply("two")
    eventually(lambda: subject.metadata().get("uid") not in (None, old), every=0)
    subject.restart()
    subject.expect_one_new(history, old)
