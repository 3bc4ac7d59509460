"""kubeConfig: its Secret is exchanged while an operation of the Spec is under way."""

import os

import pytest
import yaml

from kusion_e2e.cluster import Cluster
from kusion_e2e.controller import Controller
from kusion_e2e.forwarder import Forwarder
from kusion_e2e.kinds import path_of
from kusion_e2e.long import sampled
from kusion_e2e.specs import Spec, config_map, held
from kusion_e2e.state_backend import need_objects
from kusion_e2e.wait import eventually

from test_other_clusters import (SECRET, at, fails, get, kubeconfig_of, notices, port_of, put_secret,
                                 token_of)

FINALIZER = "e2e.kusion.io/held"
RULES = [{"apiGroups": ["", "apps"], "resources": ["configmaps", "deployments"], "verbs": ["*"]}]


@pytest.fixture(scope="module")
def there():
    cluster = Cluster.up(f"e2e-there-{os.getpid()}")
    yield cluster
    cluster.down()


@pytest.fixture(scope="module")
def elsewhere(there):
    """Another cluster, with the keys of the first: whose administrator is the other's as well."""
    cluster = Cluster.up(f"e2e-elsewhere-{os.getpid()}", "--pki", there.name)
    for one in (there, cluster):
        one.api.create("/apis/rbac.authorization.k8s.io/v1/clusterroles",
                       {"metadata": {"name": "no-namespace"}, "rules": RULES}).must()
    yield cluster
    cluster.down()


class Operator:
    """At work; it may be killed, and started again."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.start()

    def start(self):
        self.process = Controller(self.cluster, flags=["--allow-cluster-address", "127.0.0.1"]).wait_leading()

    def killed(self):
        self.process.crash()
        self.start()


@pytest.fixture(scope="module")
def operator(state_namespace):
    operator = Operator(state_namespace)
    yield operator
    assert operator.process.stop() == 0


@pytest.fixture
def address(there):
    forwarder = Forwarder(port_of(there))
    yield forwarder
    forwarder.close()


class Far:
    """The namespace of the objects, in both other clusters, with the Secret that leads there."""

    def __init__(self, home, tenant, there, elsewhere, address):
        self.home, self.tenant, self.there, self.elsewhere, self.address = home, tenant, there, elsewhere, address
        self.name = f"{tenant}-far"
        for cluster in (there, elsewhere):
            cluster.api.create("/api/v1/namespaces", {"metadata": {"name": self.name}}).must()
        self.spec = Spec(home, tenant)
        self.before = None

    def of(self, cluster, whose="admin", port=None):
        """Its kubeconfig there: of the administrator, or of an account that is made now."""
        if whose == "admin":
            return kubeconfig_of(cluster, port)
        role = "no-namespace" if whose == "no-namespace" else "edit"
        token = token_of(cluster, self.name, whose, role)
        return kubeconfig_of(cluster, port, token=token, namespace=self.name)

    def lead(self, text):
        put_secret(self.home, self.tenant, text)

    def apply(self, number="1", **fields):
        """a, then the Deployment `gate`, which is not ready, then b."""
        first = config_map("a", self.name, {"n": number})
        gate = {**held(self.name, "gate"), "dependsOn": [first["id"]]}
        gate["attributes"]["spec"]["template"]["metadata"]["annotations"] = {"n": number}
        last = config_map("b", self.name, {"n": number}, depends_on=[gate["id"]])
        self.spec.apply([first, gate, last], **at(), retryInterval="1s", timeout="30s", **fields)

    def gate(self):
        answer = self.there.api.get(f"/apis/apps/v1/namespaces/{self.name}/deployments/gate")
        return answer.object if answer.ok else None

    def open_gate(self):
        def opened():
            self.there.kubectl("label", "pods", "-n", self.name, "-l", "kwok-hold", "kwok-hold-")
            gate = self.gate()
            return gate and gate.get("status", {}).get("availableReplicas") == 1 == gate["status"].get("replicas")

        eventually(opened)

    def hold_gate(self, holds):
        value = [FINALIZER] if holds else None
        self.there.api.patch(f"/apis/apps/v1/namespaces/{self.name}/deployments/gate",
                             {"metadata": {"finalizers": value}}).must()

    def uids(self):
        """Of the objects that are there, by name."""
        found = {name: get(self.there, name, self.name) for name in ("a", "b")}
        found["gate"] = self.gate()
        return {name: one["metadata"]["uid"] for name, one in found.items() if one}

    def recorded(self):
        """The uids that State has, by name."""
        return {id.rpartition(":")[2]: uid for id, uid in (self.spec.state() or {}).items() if uid}

    def put_double(self):
        """Where it may be led to, an object that looks as the Spec's own does."""
        own = get(self.there, "a", self.name)
        double = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"n": "of another"},
                  "metadata": {key: own["metadata"][key] for key in ("name", "namespace", "labels", "annotations")}}
        path = f"/api/v1/namespaces/{self.name}/configmaps/a"
        self.elsewhere.api.apply(path, yaml.safe_dump(double), "somebody").must()
        self.before = get(self.elsewhere, "a", self.name)

    def nothing_was_done_elsewhere(self):
        assert get(self.elsewhere, "a", self.name) == self.before
        assert get(self.elsewhere, "b", self.name) is None
        deployments = self.elsewhere.api.get(f"/apis/apps/v1/namespaces/{self.name}/deployments").must().object
        assert not deployments["items"]


@pytest.fixture
def far(state_namespace, operator, tenant, there, elsewhere, address):
    made = Far(state_namespace, tenant, there, elsewhere, address)
    yield made
    for cluster in (there, elsewhere):
        cluster.leave_namespace(made.name)


# ---- What is under way: it stays so until the gate is opened ----

def making(far):
    far.apply()
    eventually(far.gate)


def changing(far):
    far.apply()
    eventually(far.gate)
    far.open_gate()
    far.spec.wait("True")
    before = far.gate()["metadata"]["generation"]
    far.apply("2")
    eventually(lambda: far.gate()["metadata"]["generation"] > before)


def deleting(far):
    far.apply()
    eventually(far.gate)
    far.hold_gate(True)
    far.open_gate()
    far.spec.wait("True")
    far.home.api.delete(far.spec.path).must()
    eventually(lambda: "deletionTimestamp" in far.gate()["metadata"])


STAGES = {"making": making, "changing": changing, "deleting": deleting}

# ---- By what: whose credentials it has before, what they are exchanged for, and the reason that the Spec says when
# ---- it has read that; None: it goes on


def another_account(far):
    far.lead(far.of(far.there, "second"))
    far.there.kubectl("delete", "serviceaccount", "first", "-n", far.name)


def another_address(far):
    far.lead(far.of(far.there))
    far.address.lead_to(None)


def deleted(far):
    far.home.api.delete(SECRET.format(far.tenant, "there")).must()


EXCHANGES = {
    "another account": ("first", another_account, None),
    "another address": ("admin", another_address, None),
    "another cluster": ("admin", lambda far: far.lead(far.of(far.elsewhere)), "ClusterChanged"),
    "another cluster that only the objects tell": (
        "no-namespace", lambda far: far.lead(far.of(far.elsewhere, "no-namespace")), "ClusterChanged"),
    "deleted": ("admin", deleted, "KubeConfigNotFound"),
    "no kubeconfig": ("admin", lambda far: far.lead("{"), "InvalidKubeConfig"),
}


@pytest.mark.parametrize("is_killed", [False, True], ids=["", "killed"])
@pytest.mark.parametrize("exchange", EXCHANGES)
@pytest.mark.parametrize("stage", STAGES)
@sampled
def test_an_operation_goes_on_or_says_why_not(far, operator, stage, exchange, is_killed):
    """Nothing is made twice, nor in another cluster; nothing is deleted there. When the Secret leads to the cluster of
    the objects, all is done. The operator may be killed between the exchange and the rest."""
    whose, exchanged, reason = EXCHANGES[exchange]
    text = far.of(far.there, whose, far.address.port)
    far.lead(text)
    STAGES[stage](far)
    eventually(lambda: far.recorded().keys() >= {"a", "gate"})  # without a Namespace, two objects tell the cluster
    first = far.uids()
    far.put_double()
    exchanged(far)
    if is_killed:
        operator.killed()
    if stage == "deleting":
        far.hold_gate(False)
    else:
        far.open_gate()
    if stage != "deleting" and reason:
        message = notices(far.spec, reason)  # at the latest by the next operation
        assert "eyJ" not in message and "PRIVATE" not in message
        assert {name: far.uids().get(name) for name in first} == first
        assert far.recorded().items() <= far.uids().items()
    elif reason and is_killed:
        fails(far.spec, reason, "held")
        assert "a" in far.uids() and far.recorded().get("a") == far.uids()["a"]
    far.nothing_was_done_elsewhere()
    if reason:
        far.lead(text)
    if stage == "deleting":
        eventually(lambda: far.spec.get() is None)
    else:
        far.spec.wait("True")
        uids = far.uids()
        assert uids.keys() == {"a", "b", "gate"} and first.items() <= uids.items()
        assert far.recorded() == uids
        assert len({get(far.there, name, far.name)["data"]["n"] for name in ("a", "b")}) == 1
        far.spec.delete()
    assert not far.uids() and not far.spec.state()
    far.nothing_was_done_elsewhere()


def test_an_approval_is_of_one_cluster(far):
    """The plan was shown for the cluster that the Secret led to: it is not carried out in another."""
    need_objects()
    far.lead(far.of(far.there))
    far.spec.apply([config_map("a", far.name)], **at(), retryInterval="1s", approval={"mode": "Manual"})

    def awaits(other=None):
        status = far.spec.get()["status"]
        ready, digest = status["conditions"][0], (status.get("plan") or {}).get("digest")
        assert ready["reason"] == "AwaitingApproval" and digest and digest != other, ready
        return digest

    def approve(digest):
        release = far.spec.releases()[-1]["metadata"]["name"]
        far.home.api.patch(path_of("Release", far.tenant, release), {"spec": {"approvedPlan": digest}}).must()

    digest = eventually(awaits)
    far.lead(far.of(far.elsewhere))
    approve(digest)
    another = eventually(lambda: awaits(digest))
    assert not get(far.elsewhere, "a", far.name) and not get(far.there, "a", far.name)
    far.lead(far.of(far.there))
    approve(another)
    again = eventually(lambda: awaits(another))
    assert not get(far.elsewhere, "a", far.name) and not get(far.there, "a", far.name)
    approve(again)
    far.spec.wait("True")
    assert get(far.there, "a", far.name) and not get(far.elsewhere, "a", far.name)
    far.spec.delete()
