"""An operation that ends the operator's process, each time: all others are served, and it is held in the
end. A person lets a Spec go; a Preview has failed."""

import json

import pytest

from kusion_e2e.cloud import PROGRAM, Cloud, thing
from kusion_e2e.controller import LEASES, STATE, Controller
from kusion_e2e.kinds import create, new_release, path_of
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.wait import eventually

UNDER_WAY = LEASES.format(STATE) + "/kusion-operator-under-way"
DEATHS = 4  # nothing is recorded before the first


class Lives:
    """Operators, one after the other: as a Pod's container that is started again."""

    def __init__(self, cluster, cloud):
        self.cluster, self.cloud, self.deaths = cluster, cloud, 0
        self.begin()

    def begin(self):
        self.now = Controller(self.cluster, program=PROGRAM, environment=self.cloud.environment)

    def go_on(self):
        """Begins the next where one has died. How many have."""
        if self.now.process.poll() is not None:
            self.deaths += 1
            self.now.crash(is_recorded=True)
            self.begin()
        return self.deaths

    def until(self, condition, seconds=120):
        def met():
            self.go_on()
            return condition()

        return eventually(met, seconds)

    def end(self):
        status = self.now.stop()
        self.cluster.api.patch(f"{LEASES.format(STATE)}/kusion-operator", {"spec": {"holderIdentity": None}})
        return status


def under_way(cluster):
    """What the operator has recorded."""
    annotations = cluster.api.get(UNDER_WAY).must().object["metadata"]["annotations"]
    return json.loads(annotations["api.kusion.io/under-way"])


@pytest.fixture
def cloud(tmp_path):
    return Cloud(tmp_path / "cloud")


@pytest.fixture
def lives(state_namespace, cloud):
    lives = Lives(state_namespace, cloud)
    yield lives
    eventually(lambda: not under_way(state_namespace)["objects"])  # what is deleted is forgotten a second later
    assert lives.end() == 0
    assert "holderIdentity" not in state_namespace.api.get(UNDER_WAY).must().object["spec"]
    assert under_way(state_namespace)["objects"] == []


def says(spec, status, reason):
    ready = spec.condition()
    assert ready and (ready["status"], ready["reason"]) == (status, reason), ready
    return ready["message"]


def request_reconcile(spec, when):
    spec.cluster.api.patch(
        spec.path, {"metadata": {"annotations": {"api.kusion.io/reconcile-requested-at": when}}}).must()


def test_what_ends_the_operator_is_held(lives, cloud, state_namespace, tenant):
    cloud.fault("bomb", "crash")
    bad = Spec(state_namespace, tenant, "bad").apply([thing("bomb", x="1")])
    others = []

    def quarantined():
        if len(others) < lives.deaths:  # one for each life, which comes before the bad one
            name = f"other-{lives.deaths}"
            others.append(Spec(state_namespace, tenant, name).apply([config_map(name, tenant)]))
        return says(bad, "False", "Quarantined")

    message = lives.until(quarantined)
    assert lives.deaths == DEATHS
    assert "reconcile-requested-at" in message and "kubectl logs --previous" in message
    assert bad.condition("Stalled")["status"] == "True"
    assert {one["status"]["phase"] for one in bad.releases()} <= {"cancelled"}
    for other in others:
        other.wait("True")

    request_reconcile(bad, "1")  # nothing has changed: one more death, and it is held again
    lives.until(lambda: bad.get()["status"].get("lastHandledReconcileAt") == "1")
    assert says(bad, "False", "Quarantined") and lives.deaths == DEATHS + 1

    cloud.fault("bomb", None)
    request_reconcile(bad, "2")
    lives.until(lambda: says(bad, "True", "ReconciliationSucceeded"))
    cloud.fault("bomb", "crash")
    bad.apply([thing("bomb", x="2")])
    lives.until(lambda: says(bad, "False", "Quarantined"))
    cloud.fault("bomb", None)
    bad.apply([thing("bomb", x="3")])  # an edit lets it go, too
    lives.until(lambda: says(bad, "True", "ReconciliationSucceeded"))
    for spec in (bad, *others):
        spec.delete()
    assert not cloud.things()


def preview(cluster, namespace, name, resource):
    """Of a Spec that is not there: nothing but the Release brings it back. Gives its path."""
    create(cluster, namespace, new_release(name, specRef={"name": "none"}, operation="Preview",
                                           resources=[resource])).must()
    return path_of("Release", namespace, name)


def ended(cluster, path):
    """The phase and what Ready says."""
    status = cluster.api.get(path).must().object.get("status", {})
    assert status.get("phase") in ("succeeded", "failed"), status
    return status["phase"], next(one for one in status["conditions"] if one["type"] == "Ready")


def test_a_preview_that_ends_the_operator_is_held(lives, cloud, state_namespace, tenant):
    cloud.fault("bomb", "crash")
    bad = preview(state_namespace, tenant, "bad", thing("bomb", x="1"))
    specs, previews = [], []

    def held():
        if len(specs) < lives.deaths:
            name = f"other-{len(specs)}"
            previews.append(preview(state_namespace, tenant, name, config_map("shown", tenant)))
            specs.append(Spec(state_namespace, tenant, name).apply([config_map(name, tenant)]))
        return ended(state_namespace, bad)

    phase, ready = lives.until(held)
    assert lives.deaths == DEATHS and (phase, ready["reason"]) == ("failed", "Quarantined")
    assert "kubectl logs --previous" in ready["message"] and "make the Preview again" in ready["message"]
    for spec, path in zip(specs, previews, strict=True):
        spec.wait("True")
        phase, ready = eventually(lambda: ended(state_namespace, path))
        assert phase == "succeeded", ready
        spec.delete()
    assert lives.go_on() == DEATHS
