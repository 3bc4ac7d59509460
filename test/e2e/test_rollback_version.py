"""A revision that this version of the operator cannot apply: another version, which has one runtime
more (test/runtime/cloud.h), has applied it."""

import contextlib

import pytest

from kusion_e2e.cloud import PROGRAM, Cloud, thing, thing_id
from kusion_e2e.controller import Controller
from kusion_e2e.requested import Requested
from kusion_e2e.specs import config_map
from kusion_e2e.states import states


@pytest.fixture
def cloud(tmp_path):
    return Cloud(tmp_path)


@contextlib.contextmanager
def operator(cluster, **other):
    controller = Controller(cluster, **other)
    try:
        controller.wait_leading()
        yield
    finally:
        assert controller.stop() == 0


def newer(cluster, cloud):
    return operator(cluster, program=PROGRAM, environment=cloud.environment)


def apply(spec, value, *more):
    """A revision."""
    return spec.apply([config_map("a", spec.namespace, {"a": value}), *more]).wait("True")


def test_a_revision_that_cannot_be_applied_is_refused(state_namespace, tenant, cloud):
    spec = Requested(state_namespace, tenant)
    with newer(state_namespace, cloud):
        apply(spec, "one", thing("db", x="1"))
        apply(spec, "two")
    with operator(state_namespace):
        for fields in {"toRevision": 1}, {}:
            ended = spec.wait_request(spec.request("Rollback", **fields), "failed")["status"]
            ready = next(one for one in ended["conditions"] if one["type"] == "Ready")
            assert ready["reason"] == "InvalidSpec"
            assert "the Spec of revision 1 cannot be applied any more: " in ready["message"]
            assert thing_id("db") in ready["message"] and "Cloud" in ready["message"]
            spec.look()
            spec.wait("True")
        spec.edit_live("a", a="theirs")
        spec.look()
        assert spec.data("a") == {"a": "two"}, "the Spec is in force"
        spec.delete()
    assert not states(state_namespace, tenant)


def test_a_revision_that_is_in_force_is_named(state_namespace, tenant, cloud):
    """The operator was replaced with one that cannot apply it: nothing is done before the Spec
    changes."""
    spec = Requested(state_namespace, tenant)
    with newer(state_namespace, cloud):
        apply(spec, "one", thing("db", x="1"))
        apply(spec, "two")
        spec.wait_request(spec.request("Rollback", toRevision=1))
        spec.wait_reason("RolledBack")
    with operator(state_namespace):
        spec.edit_live("a", a="theirs")
        spec.look()
        message = spec.wait_reason("InvalidSpec")["message"]
        assert "revision 1, to which it was rolled back (edit the Spec to end that): " in message
        assert spec.data("a") == {"a": "theirs"} and cloud.things()
    with newer(state_namespace, cloud):
        spec.look()
        spec.wait_reason("RolledBack")
        assert spec.data("a") == {"a": "one"}
        apply(spec, "three")
        assert spec.data("a") == {"a": "three"} and not cloud.things()
        spec.delete()
