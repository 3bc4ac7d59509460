"""A create of two minutes, by another runtime (test/runtime/cloud.h): what is changed meanwhile, and
processes that end meanwhile. It is shortened to 20 s, but for hack/soak e2e."""

import time

import pytest

from kusion_e2e.cloud import PROGRAM, Cloud, address_book, addresses, deployment, thing, thing_id
from kusion_e2e.controller import STATE, Controller
from kusion_e2e.long import LONG, takes_long
from kusion_e2e.specs import Spec
from kusion_e2e.states import states
from kusion_e2e.wait import eventually


DELAY = "120s"
SHORTENED = 20  # seconds
PATIENCE = 150  # seconds: a whole one, and what comes after it


class Slow(Cloud):
    """Where a create takes its time."""

    def wait_begun(self):
        eventually(lambda: self.log() == ["begin db"])
        self.begun = time.monotonic()

    def seconds(self):
        return time.monotonic() - self.begun

    def end(self):
        """Of the create, unless it is to come by itself."""
        if not LONG:
            time.sleep(max(0, SHORTENED - self.seconds()))
            self.hurry()


@pytest.fixture
def cloud(tmp_path):
    return Slow(tmp_path / "cloud")


@pytest.fixture
def start(state_namespace, cloud):
    """Starts a controller that has the second runtime; it leads."""
    started = []

    def start():
        started.append(Controller(state_namespace, program=PROGRAM, environment=cloud.environment,
                                  flags=("--drain-timeout", f"{PATIENCE}s")))
        return started[-1].wait_leading()

    yield start
    for controller in started:
        controller.stop()


@pytest.fixture
def spec(start, cloud, state_namespace, tenant):
    spec = Spec(state_namespace, tenant)
    yield spec
    cloud.hurry()
    if spec.get():
        spec.delete()
    assert not states(state_namespace, tenant)


def image(cluster, namespace):
    found = cluster.get_json("deployment", "beside", "-n", namespace)
    return found and found["spec"]["template"]["spec"]["containers"][0]["image"]


def result(release, name):
    one, = [one for one in release["status"]["results"] if one["id"] == thing_id(name)]
    return one


@takes_long
def test_a_change_during_a_long_create_waits_for_nothing_but_that(start, spec, cloud):
    start()
    cluster, tenant = spec.cluster, spec.namespace

    def apply(tag):
        return spec.apply([thing("db", delay=DELAY), address_book(tenant),
                           deployment(tenant, f"nginx:{tag}")], retryInterval="2s")

    apply(1)
    cloud.wait_begun()
    eventually(lambda: image(cluster, tenant) == "nginx:1")
    apply(2)
    eventually(lambda: image(cluster, tenant) == "nginx:2")  # a short call is waited for, 5 s
    assert cloud.log() == ["begin db"]

    old = eventually(lambda: ended(spec.releases()[0]))
    assert old["status"]["phase"] == "cancelled"
    ready, = [one for one in old["status"]["conditions"] if one["type"] == "Ready"]
    assert ready["reason"] == "Superseded" and thing_id("db") in ready["message"], ready
    assert result(old, "db")["reason"] == "Cancelled"
    assert "under way" in result(old, "db")["message"]

    ready = spec.wait("False")
    assert ready["reason"] == "Deferred" and thing_id("db") in ready["message"], ready
    new = spec.releases()[1]
    assert "is under way" in result(new, "db")["message"], new
    assert cloud.seconds() < SHORTENED and cloud.log() == ["begin db"]

    cloud.end()
    spec.wait("True", PATIENCE)
    assert cloud.log() == ["begin db", "create db"]
    assert addresses(cluster, tenant) == {"db": cloud.only("db")["id"] + ".cloud"}
    assert image(cluster, tenant) == "nginx:2"


def ended(release):
    return release if release["status"].get("phase") in ("succeeded", "failed", "cancelled") else None


@takes_long
def test_deleting_the_spec_during_a_long_create_deletes_what_it_makes(start, spec, cloud):
    start()
    cluster, tenant = spec.cluster, spec.namespace
    spec.apply([thing("db", delay=DELAY), deployment(tenant)], retryInterval="2s")
    cloud.wait_begun()
    eventually(lambda: image(cluster, tenant))
    cluster.api.delete(spec.path).must()
    eventually(lambda: not image(cluster, tenant))
    assert spec.get() and cloud.log() == ["begin db"]
    cloud.end()
    eventually(lambda: spec.get() is None, PATIENCE)
    assert cloud.log() == ["begin db", "create db", "delete db"] and not cloud.things()
    eventually(lambda: spec.releases() == [], PATIENCE)


def deferred(spec):
    ready = spec.condition()
    return ready if ready and ready["reason"] == "Deferred" else None


def test_changing_a_thing_while_it_is_made_changes_it_afterwards(start, spec, cloud):
    start()
    spec.apply([thing("db", x="1", delay=DELAY)], retryInterval="2s")
    cloud.wait_begun()
    spec.apply([thing("db", x="2", delay=DELAY)], retryInterval="2s")
    eventually(lambda: deferred(spec))
    cloud.hurry()
    spec.wait("True")
    assert cloud.log() == ["begin db", "create db", "update db"]
    assert cloud.only("db")["attributes"]["x"] == "2"


def test_a_thing_that_leaves_the_spec_while_it_is_made_is_deleted(start, spec, cloud):
    start()
    spec.apply([thing("db", delay=DELAY)], retryInterval="2s")
    cloud.wait_begun()
    spec.apply([], retryInterval="2s")
    eventually(lambda: deferred(spec))
    cloud.hurry()
    spec.wait("True")
    assert cloud.log() == ["begin db", "create db", "delete db"] and not cloud.things()


def test_a_replacement_that_is_taken_back_while_the_new_one_is_made(start, spec, cloud):
    start()
    spec.apply([thing("db", swapped="1")], retryInterval="2s").wait("True")
    cloud.forget_log()
    spec.apply([thing("db", swapped="2", delay=DELAY)], retryInterval="2s")
    cloud.wait_begun()
    spec.apply([thing("db", swapped="1")], retryInterval="2s")
    eventually(lambda: deferred(spec))
    cloud.hurry()
    spec.wait("True")
    assert cloud.only("db")["attributes"]["swapped"] == "1"
    assert cloud.log().count("begin db") == 2 and cloud.log().count("delete db") == 2


def test_a_leader_that_was_frozen_in_a_long_create_tells_the_next_what_it_made(start, spec, cloud):
    cluster, tenant = spec.cluster, spec.namespace
    first = start()
    spec.apply([thing("db", delay=DELAY), address_book(tenant)], retryInterval="2s")
    cloud.wait_begun()
    first.freeze()
    start()
    spec.apply([thing("db", delay=DELAY), address_book(tenant), deployment(tenant)],
               retryInterval="2s")
    eventually(lambda: image(cluster, tenant))
    eventually(lambda: deferred(spec))
    first.thaw()
    cloud.hurry()
    assert first.process.wait(timeout=PATIENCE) == 1
    spec.wait("True")
    assert cloud.log() == ["begin db", "create db"]
    assert addresses(cluster, tenant) == {"db": cloud.only("db")["id"] + ".cloud"}


@takes_long
def test_a_process_that_is_to_end_waits_for_a_long_create(start, spec, cloud):
    cluster, tenant = spec.cluster, spec.namespace
    first = start()
    spec.apply([thing("db", delay=DELAY), address_book(tenant)])
    cloud.wait_begun()
    first.process.terminate()
    time.sleep(3)
    assert first.process.poll() is None and cloud.log() == ["begin db"]
    cloud.end()
    assert first.process.wait(timeout=PATIENCE) == 0
    assert cloud.log() == ["begin db", "create db"]
    made = cloud.only("db")["id"]
    start()
    spec.wait("True")
    assert cloud.log() == ["begin db", "create db"]
    assert addresses(cluster, tenant) == {"db": made + ".cloud"}
    spec.delete()
    assert not cloud.things()


@pytest.fixture
def store(state_namespace):
    """State's store, which can be down: writes ask a webhook that nobody serves."""
    cluster, name = state_namespace, "store-is-down"

    class Store:
        def down(self):
            cluster.apply(WEBHOOK.format(name=name, namespace=STATE))
            eventually(lambda: not self.takes_writes())

        def up(self):
            cluster.kubectl("delete", "validatingwebhookconfiguration", name, "--ignore-not-found")
            eventually(self.takes_writes)

        def takes_writes(self):
            return cluster.kubectl("create", "configmap", "probe", "-n", STATE, "--dry-run=server",
                                   check=False).returncode == 0

    store = Store()
    yield store
    store.up()


WEBHOOK = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {{name: {name}}}
webhooks:
- name: {name}.example.com
  clientConfig: {{url: "https://127.0.0.1:1/"}}
  rules:
  - {{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps, secrets]}}
  namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: {namespace}}}}}
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
"""
OUTAGE = 60 if LONG else 15  # seconds


@takes_long
def test_what_is_made_while_the_store_is_down_is_kept(start, spec, cloud, store):
    cluster, tenant = spec.cluster, spec.namespace
    start()
    spec.apply([thing("db", delay=DELAY), address_book(tenant)], retryInterval="2s")
    cloud.wait_begun()
    store.down()
    cloud.hurry()
    eventually(lambda: cloud.log() == ["begin db", "create db"])
    made = cloud.only("db")["id"]
    time.sleep(OUTAGE)
    assert cloud.log() == ["begin db", "create db"]
    assert spec.condition()["status"] != "True", spec.condition()
    store.up()
    spec.wait("True")
    assert cloud.log() == ["begin db", "create db"] and cloud.only("db")["id"] == made
    assert addresses(cluster, tenant) == {"db": made + ".cloud"}


@takes_long
def test_a_create_that_a_killed_process_had_begun_is_never_begun_again(start, spec, cloud):
    cluster, tenant = spec.cluster, spec.namespace
    first = start()
    spec.apply([thing("db", delay="5s"), address_book(tenant), deployment(tenant)],
               retryInterval="2s")
    cloud.wait_begun()
    first.crash()
    start()
    ready = spec.wait("False")  # it may still take effect
    assert ready["reason"] == "Deferred" and "may still take effect" in ready["message"], ready
    assert image(cluster, tenant)  # all else is done
    ready = eventually(lambda: reason(spec, "OutcomeUnknown"), 120)
    assert thing_id("db") in ready["message"], ready
    assert "Look for it where it is made" in ready["message"], ready
    assert "deletionPolicy Orphan" in ready["message"], ready
    time.sleep(5)  # it is tried every 2 s
    assert cloud.log() == ["begin db"] and len(cloud.things()) == 1
    assert addresses(cluster, tenant) is None

    cloud.delete(cloud.only("db")["id"])
    spec.apply([thing("db", delay="5s")], deletionPolicy="Orphan")
    spec.delete()
    assert cloud.log() == ["begin db"] and not states(cluster, tenant)


def reason(spec, wanted):
    ready = spec.condition()
    return ready if ready and ready["reason"] == wanted else None
