"""Another runtime beside Kubernetes: one that only State knows the things of, with values that are
known after apply alone, and replacements in both orders (test/runtime/cloud.h)."""

import pytest

from kusion_e2e.cloud import (PROGRAM, Cloud, address_book, addresses, deployment, reference,
                              thing, thing_id)
from kusion_e2e.controller import Controller
from kusion_e2e.releases import plan_of
from kusion_e2e.specs import Spec
from kusion_e2e.states import open_text, states
from kusion_e2e.wait import eventually

PASSWORD = "hunter-of-the-spec"
UNKNOWN = "(known after apply)"


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    return Cloud(tmp_path_factory.mktemp("cloud"))


@pytest.fixture(scope="module")
def controller(state_namespace, cloud):
    """A controller at work that has the second runtime."""
    controller = Controller(state_namespace, program=PROGRAM, environment=cloud.environment)
    yield controller.wait_leading()
    assert controller.stop() == 0


@pytest.fixture
def spec(controller, cloud, tenant):
    """A Spec whose things are the only ones; they are gone after the test."""
    cloud.forget_log()
    spec = Spec(controller.cluster, tenant)
    yield spec
    for name in cloud.faults():
        cloud.fault(name, None)
    if spec.get():
        spec.delete()
    assert not cloud.things() and not states(controller.cluster, tenant)


def field(result, path):
    one, = [one for one in result["fields"] if one["path"] == path]
    return one


# ---- Its whole life ----


def test_a_value_that_is_known_after_apply_reaches_a_config_map(spec, cloud):
    cluster, tenant = spec.cluster, spec.namespace
    spec.apply([address_book(tenant), thing("db", x="1"), deployment(tenant)], suspend=True)
    spec.wait("Unknown")
    shown = plan_of(cluster, tenant, "spec")
    assert shown[thing_id("db")]["action"] == "create"
    assert field(shown[thing_id("db")], "address")["to"] == UNKNOWN
    assert field(shown[f"v1:ConfigMap:{tenant}:book"], "data.db")["to"] == UNKNOWN
    assert not cloud.things()

    spec.apply([address_book(tenant), thing("db", x="1"), deployment(tenant)])
    spec.wait("True")
    assert spec.get()["status"]["resources"]["ready"] == 3
    assert addresses(cluster, tenant) == {"db": cloud.only("db")["id"] + ".cloud"}
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
    assert addresses(spec.cluster, tenant) == {"db": after["id"] + ".cloud"}


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
    assert addresses(spec.cluster, tenant) == {"db": after["id"] + ".cloud"}
    last = {one["id"]: one["action"] for one in spec.releases()[-1]["status"]["results"]}
    assert last[thing_id("db")] == "replace" and last[thing_id("user")] == "update"


def test_replacing_takes_what_cannot_live_without_it(spec, cloud):
    def apply(value):
        return spec.apply([thing("user", fixed=reference("db", "id")), thing("db", fixed=value)])

    apply("1").wait("True")
    cloud.forget_log()
    apply("2").wait("True")
    assert cloud.log() == ["delete user", "delete db", "begin db", "create db", "begin user",
                           "create user"]
    assert cloud.only("user")["attributes"]["fixed"] == cloud.only("db")["id"]


def test_one_that_cannot_be_planned_before_another_is_made_is_planned_in_the_same_apply(spec, cloud):
    spec.apply([thing("far", extensions={"region": reference("db", "address")}), thing("db")]).wait("True")
    assert cloud.only("far") and cloud.log().count("create db") == 1
    release, = spec.releases()
    results = {one["id"]: (one["action"], one["outcome"]) for one in release["status"]["results"]}
    assert results == {thing_id(name): ("create", "succeeded") for name in ("far", "db")}


def test_an_answer_that_is_lost_is_looked_for(spec, cloud):
    spec.apply([thing("db", x="1")]).wait("True")
    cloud.fault("db", "lost")
    spec.apply([thing("db", x="2")]).wait("True")
    assert cloud.only("db")["revision"] == 2
    spec.apply([]).wait("True")
    assert cloud.log()[-2:] == ["update db", "delete db"]


def test_destroying_takes_dependents_first(spec, cloud):
    tenant = spec.namespace
    spec.apply([thing("user", ref=reference("db", "id")), address_book(tenant), thing("db"),
                deployment(tenant)]).wait("True")
    cloud.forget_log()
    spec.delete()
    assert cloud.log() == ["delete user", "delete db"] and not cloud.things()
    assert addresses(spec.cluster, tenant) is None


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
    assert broken["status"] == "broken" and addresses(spec.cluster, tenant) is None
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
    eventually(lambda: addresses(spec.cluster, tenant) == {"db": after + ".cloud"})


def test_what_is_secret_is_told_nobody(controller, spec, cloud):
    cluster, tenant = spec.cluster, spec.namespace
    for x in ("1", "2"):
        spec.apply([thing("db", x=x, password=PASSWORD, fixed=x),
                    thing("user", ref=reference("db", "secret"))]).wait("True")
    plan_of(cluster, tenant, "spec")
    secrets = [*cloud.secrets(), PASSWORD]
    text = open_text(cluster, spec) + controller.log.read_text()
    assert cloud.only("user")["attributes"]["ref"] == f"secret-{cloud.only('db')['id']}"
    assert cloud.only("db")["id"] in text and "(sensitive)" in text
    assert not [secret for secret in secrets if secret in text], text
