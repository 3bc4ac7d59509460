"""Another runtime beside Kubernetes: one that only State knows the things of, with values that are
known after apply alone, replacements in both orders, and calls of minutes (test/runtime/cloud.h)."""

import pytest

from kusion_e2e.cloud import PROGRAM, Cloud, reference, thing, thing_id
from kusion_e2e.controller import STATE, Controller
from kusion_e2e.kinds import create, new_release, path_of
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.states import open_text, states
from kusion_e2e.wait import eventually

PASSWORD = "hunter-of-the-spec"
UNKNOWN = "(known after apply)"


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    return Cloud(tmp_path_factory.mktemp("cloud"))


@pytest.fixture(scope="module")
def clouded(state_namespace, cloud):
    """The shared control plane, with a controller at work that has the second runtime."""
    controller = Controller(state_namespace, program=PROGRAM, environment=cloud.environment)
    yield controller.wait_leading().cluster
    assert controller.stop() == 0


@pytest.fixture
def spec(clouded, cloud, tenant):
    """A Spec whose things are the only ones; they are gone after the test."""
    cloud.forget_log()
    spec = Spec(clouded, tenant)
    yield spec
    for name in list(cloud.faults()):
        cloud.fault(name, None)
    cloud.hurry()
    if spec.get():
        spec.delete()
    cloud.take_time()
    assert not cloud.things() and not states(clouded, tenant)


def deployment(namespace, image="nginx:1"):
    labels = {"app": "beside"}
    return resource({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "beside", "namespace": namespace},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels},
                 "template": {"metadata": {"labels": labels},
                              "spec": {"containers": [{"name": "c", "image": image}]}}}})


def address_book(namespace):
    return config_map("book", namespace, {"db": reference("db", "address")})


def data_of(cluster, namespace):
    found = cluster.get_json("configmap", "book", "-n", namespace)
    return found and found["data"]


def field(result, path):
    one, = [one for one in result["fields"] if one["path"] == path]
    return one


def preview(cluster, namespace):
    """What an apply would do, by id."""
    made = create(cluster, namespace, new_release("look", operation="Preview",
                                                  specRef={"name": "spec"})).must().object
    path = path_of("Release", namespace, made["metadata"]["name"])

    def ended():
        status = cluster.api.get(path).must().object.get("status", {})
        assert status.get("phase") in ("succeeded", "failed"), status
        return status

    status = eventually(ended)
    cluster.api.delete(path).must()
    assert status["phase"] == "succeeded", status
    return {one["id"]: one for one in status["results"]}


# ---- Its whole life ----


def test_a_value_that_is_known_after_apply_reaches_a_config_map(spec, cloud):
    cluster, tenant = spec.cluster, spec.namespace
    spec.apply([address_book(tenant), thing("db", x="1"), deployment(tenant)], suspend=True)
    spec.wait("Unknown")
    shown = preview(cluster, tenant)
    assert shown[thing_id("db")]["action"] == "create"
    assert field(shown[thing_id("db")], "address")["to"] == UNKNOWN
    assert field(shown[f"v1:ConfigMap:{tenant}:book"], "data.db")["to"] == UNKNOWN
    assert not cloud.things()

    spec.apply([address_book(tenant), thing("db", x="1"), deployment(tenant)])
    spec.wait("True")
    assert spec.get()["status"]["resources"]["ready"] == 3
    assert data_of(cluster, tenant) == {"db": cloud.only("db")["id"] + ".cloud"}
    assert cloud.log() == ["begin db", "create db"]


def test_a_change_in_place(spec, cloud):
    tenant = spec.namespace
    spec.apply([address_book(tenant), thing("db", x="1")]).wait("True")
    before = cloud.only("db")
    cloud.forget_log()
    spec.apply([address_book(tenant), thing("db", x="2")]).wait("True")
    after = cloud.only("db")
    assert (after["id"], after["revision"]) == (before["id"], 2)
    assert after["attributes"] == {"x": "2"} and cloud.log() == ["update db"]
    assert data_of(spec.cluster, tenant) == {"db": after["id"] + ".cloud"}


@pytest.mark.parametrize("attribute, order", [
    ("fixed", ["delete db", "begin db", "create db", "update user"]),
    ("swapped", ["begin db", "create db", "update user", "delete db"]),
])
def test_replacing_takes_the_old_one_in_the_order_that_is_asked_for(spec, cloud, attribute, order):
    tenant = spec.namespace

    def apply(value):
        return spec.apply([thing("user", ref=reference("db", "id")), address_book(tenant),
                           thing("db", **{attribute: value})])

    apply("1").wait("True")
    before = cloud.only("db")
    cloud.forget_log()
    apply("2")
    spec.wait("True")
    after = cloud.only("db")
    assert after["id"] != before["id"] and cloud.log() == order
    assert cloud.only("user")["attributes"]["ref"] == after["id"]
    assert data_of(spec.cluster, tenant) == {"db": after["id"] + ".cloud"}
    last = {one["id"]: one["action"] for one in spec.releases()[-1]["status"]["results"]}
    assert last[thing_id("db")] == "replace" and last[thing_id("user")] == "update"


def test_destroying_takes_dependents_first(spec, cloud):
    tenant = spec.namespace
    spec.apply([thing("user", ref=reference("db", "id")), address_book(tenant), thing("db"),
                deployment(tenant)]).wait("True")
    cloud.forget_log()
    spec.delete()
    assert cloud.log() == ["delete user", "delete db"] and not cloud.things()
    assert data_of(spec.cluster, tenant) is None


def test_one_that_leaves_the_spec_is_deleted(spec, cloud):
    spec.apply([thing("user", ref=reference("db", "id")), thing("db")]).wait("True")
    spec.apply([thing("db")]).wait("True")
    assert [one["name"] for one in cloud.things().values()] == ["db"]


def test_one_that_was_made_in_part_is_replaced(spec, cloud):
    tenant = spec.namespace
    cloud.fault("db", "partial")
    spec.apply([thing("db"), address_book(tenant)], retryInterval="2s")
    ready = spec.wait("False")
    assert "could not be set up" in ready["message"], ready
    broken = cloud.only("db")
    assert broken["status"] == "broken" and data_of(spec.cluster, tenant) is None
    cloud.fault("db", None)
    spec.wait("True")
    assert cloud.only("db")["id"] != broken["id"]
    assert cloud.log()[-3:] == ["delete db", "begin db", "create db"]


def test_one_that_was_changed_in_part_is_changed_to_the_end(spec, cloud):
    spec.apply([thing("db", x="1", y="1")]).wait("True")
    cloud.fault("db", "half")
    spec.apply([thing("db", x="2", y="2")], retryInterval="2s")
    assert "changed in part" in spec.wait("False")["message"]
    assert cloud.only("db")["attributes"] == {"x": "2", "y": "1"}
    cloud.fault("db", None)
    spec.wait("True")
    assert cloud.only("db")["attributes"] == {"x": "2", "y": "2"}


def test_one_that_somebody_deletes_is_made_again(spec, cloud):
    tenant = spec.namespace
    spec.apply([thing("db"), address_book(tenant)], interval="3s").wait("True")
    before = cloud.only("db")["id"]
    cloud.delete(before)
    eventually(cloud.things)
    after = cloud.only("db")["id"]
    assert after != before
    eventually(lambda: data_of(spec.cluster, tenant) == {"db": after + ".cloud"})


def test_what_is_secret_is_told_nobody(spec, cloud):
    cluster, tenant = spec.cluster, spec.namespace
    for x in ("1", "2"):
        spec.apply([thing("db", x=x, password=PASSWORD, fixed=x),
                    thing("user", ref=reference("db", "secret"))]).wait("True")
    preview(cluster, tenant)
    secrets = [*cloud.secrets(), PASSWORD]
    text = open_text(cluster, spec)
    assert cloud.only("user")["attributes"]["ref"] == f"secret-{cloud.only('db')['id']}"
    assert "cloud:thing:db" in text and "(sensitive)" in text
    assert not [secret for secret in secrets if secret in text], text
