"""State that is damaged or lost: nothing is deleted until it is whole again, and it says what to
mend."""

import base64
import random
import time

import pytest

from kusion_e2e.controller import STATE
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.state_backend import need_objects
from kusion_e2e.wait import eventually

FINALIZER = "api.kusion.io/finalizer"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&()*+,-./:;=?@[]^_{|}~"
QUIET = 3  # seconds in which a controller that wanted to delete something would


def noise(seed):
    """Of such size that two make a State of several chunks."""
    return "".join(random.Random(seed).choices(LETTERS, k=480_000))


def large(namespace, name, seed=1):
    return config_map(name, namespace, {"noise": noise(f"{name} {seed}")})


def path_of(name=""):
    return f"/api/v1/namespaces/{STATE}/configmaps/{name}".rstrip("/")


def chunks(cluster, namespace):
    """Of State."""
    items = cluster.api.get(f"{path_of()}?labelSelector=api.kusion.io/state").must().object["items"]
    return [item for item in items if "-o" in item["metadata"]["name"]
            and not item["metadata"]["name"].startswith("kusion-spec-")  # kept for rollbacks
            and item["metadata"]["annotations"]["api.kusion.io/spec-namespace"] == namespace]


def put(cluster, chunk):
    """Chunks are immutable: one takes the place of another."""
    cluster.api.delete(path_of(chunk["metadata"]["name"]))
    metadata = {key: chunk["metadata"][key] for key in ("name", "labels", "annotations")}
    cluster.api.create(path_of(), {**chunk, "metadata": metadata}).must()


def flip(chunk):
    data = bytearray(base64.b64decode(chunk["binaryData"]["bytes"]))
    data[len(data) // 2] ^= 1
    return {**chunk, "binaryData": {"bytes": base64.b64encode(data).decode()}}


def damage_changed(cluster, chunk):
    put(cluster, flip(chunk))


def damage_missing(cluster, chunk):
    cluster.api.delete(path_of(chunk["metadata"]["name"])).must()


def objects(cluster, namespace):
    """Our objects; whether one of them is being deleted, too."""
    path = f"/api/v1/namespaces/{namespace}/configmaps?labelSelector=api.kusion.io/owner"
    items = cluster.api.get(path).must().object["items"]
    assert not any("deletionTimestamp" in item["metadata"] for item in items)
    return {item["metadata"]["name"] for item in items}


def wait_until_reported(spec, chunk):
    where = f"ConfigMap {STATE}/{chunk['metadata']['name']}"

    def reported():
        now = spec.get()
        spec.generation = now["metadata"]["generation"]
        ready = spec.condition()
        assert ready and ready["status"] == "False" and ready["reason"] == "StateCorrupt", ready
        assert where in ready["message"], ready
        return now

    now = eventually(reported)
    spec.wait_event("StateCorrupt", where, type="Warning")
    return now


def wake(spec, word):
    """As its owner would: what is Stalled is tried again, but not every second. It may have been
    already, and the Spec be gone."""
    annotation = {"metadata": {"annotations": {"api.kusion.io/reconcile-requested-at": word}}}
    answer = spec.cluster.api.patch(spec.path, annotation)
    assert answer.ok or answer.code == 404, answer


@pytest.fixture
def applied(controlled, tenant):
    """A Spec whose State is of several chunks; and one of these."""
    need_objects()
    spec = Spec(controlled, tenant).apply([large(tenant, "a"), large(tenant, "b")])
    spec.wait("True")
    time.sleep(QUIET)  # until the operator has let go of the State that it saved, which is whole
    found = chunks(controlled, tenant)
    assert len(found) > 1
    return spec, found[-1]


@pytest.mark.parametrize("damage", [damage_changed, damage_missing])
def test_nothing_is_destroyed(controlled, tenant, applied, damage):
    spec, chunk = applied
    damage(controlled, chunk)
    controlled.api.delete(spec.path).must()
    wait_until_reported(spec, chunk)
    time.sleep(QUIET)
    now = wait_until_reported(spec, chunk)
    assert now["metadata"]["finalizers"] == [FINALIZER]
    assert objects(controlled, tenant) == {"a", "b"}

    put(controlled, chunk)
    wake(spec, "mended")
    eventually(lambda: spec.get() is None, 150)
    assert objects(controlled, tenant) == set()
    assert chunks(controlled, tenant) == []


@pytest.mark.parametrize("damage", [damage_changed, damage_missing])
def test_nothing_is_pruned(controlled, tenant, applied, damage):
    spec, chunk = applied
    damage(controlled, chunk)
    changed = large(tenant, "a", seed=2)
    spec.apply([changed])
    wait_until_reported(spec, chunk)
    time.sleep(QUIET)
    wait_until_reported(spec, chunk)
    assert objects(controlled, tenant) == {"a", "b"}

    put(controlled, chunk)
    wake(spec, "mended")
    spec.wait("True")
    assert objects(controlled, tenant) == {"a"}
    spec.delete()
    assert objects(controlled, tenant) == set()
    assert chunks(controlled, tenant) == []


def head_of(cluster, namespace):
    items = cluster.api.get(f"{path_of()}?labelSelector=api.kusion.io/state").must().object["items"]
    (head,) = [item for item in items
               if item["metadata"]["annotations"]["api.kusion.io/spec-namespace"] == namespace
               and not item["metadata"]["name"].startswith("kusion-spec-")]
    return head


@pytest.fixture
def lost(controlled, tenant):
    """A Spec that was applied, and its State's only object, which is gone."""
    need_objects()
    spec = Spec(controlled, tenant).apply([config_map("a", tenant), config_map("b", tenant)])
    spec.wait("True")
    head = head_of(controlled, tenant)
    controlled.api.delete(path_of(head["metadata"]["name"])).must()
    return spec


class TestLost:
    """Objects in Kubernetes are found by their label (test_state_lost.py has those that are not)."""

    def test_a_deletion_removes_what_was_the_specs(self, controlled, tenant, lost):
        controlled.api.delete(lost.path).must()
        eventually(lambda: lost.get() is None, 150)
        assert objects(controlled, tenant) == set()

    def test_a_deletion_may_leave_all_there(self, controlled, tenant, lost):
        controlled.api.patch(lost.path, {"spec": {"deletionPolicy": "Orphan"}}).must()
        controlled.api.delete(lost.path).must()
        eventually(lambda: lost.get() is None, 150)
        assert objects(controlled, tenant) == {"a", "b"}

    def test_an_apply_removes_what_has_left_the_spec(self, controlled, tenant, lost):
        lost.apply([config_map("a", tenant)])
        lost.wait("True")
        lost.wait_event("StateLost")
        assert objects(controlled, tenant) == {"a"}
        lost.delete()
        assert objects(controlled, tenant) == set()
