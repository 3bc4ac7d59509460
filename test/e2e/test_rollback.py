"""A Release by which a person rolls a Spec back, or destroys what it has made; and the hold of the
Spec until it changes."""

import json

import pytest

from kusion_e2e.requested import Requested
from kusion_e2e.pages import snippets
from kusion_e2e.shell import type_in
from kusion_e2e.specs import config_map, resource
from kusion_e2e.state_backend import need_objects
from kusion_e2e.states import recorded, states
from kusion_e2e.wait import eventually

SECRET = "hunter2-in-clear"


@pytest.fixture
def spec(controlled, tenant):
    yield Requested(controlled, tenant)


def apply(spec, *names, **data):
    return spec.apply([config_map(name, spec.namespace, data or None) for name in names])


def three_revisions(spec):
    for level in ("one", "two", "three"):
        apply(spec, "a", level, level=level).wait("True")
    assert spec.data("a") == {"level": "three"}


def phases(spec):
    return [(one["status"]["revision"], one["spec"]["operation"], one["status"]["phase"])
            for one in spec.records()]


# ---- Rollback ----

def test_rolls_back_to_a_revision_and_holds_the_spec(spec):
    three_revisions(spec)
    request = spec.request("Rollback", toRevision=1)
    ended = spec.wait_request(request)["status"]
    assert (ended["phase"], ended["revision"]) == ("succeeded", 4)
    assert spec.data("a") == {"level": "one"} and spec.data("one") and not spec.data("three")
    ready = spec.wait_reason("RolledBack")
    assert ready["status"] == "False" and "rolled back to revision 1: " in ready["message"]
    assert spec.condition("Stalled")["status"] == "True"
    assert spec.condition("Finished")["status"] == "True"
    assert phases(spec)[-1] == (4, "Rollback", "succeeded")
    assert spec.records()[-1]["spec"]["toRevision"] == 1
    assert "failingSince" not in spec.get()["status"]


def test_a_preview_shows_what_a_rollback_would_do(spec):
    three_revisions(spec)
    shown = spec.wait_request(spec.request("Preview", toRevision=1))["status"]
    assert shown["summary"].startswith("to revision 1: "), shown["summary"]
    assert spec.data("a") == {"level": "three"} and spec.condition()["status"] == "True", "nothing is done"
    fields = [field for one in shown["results"] if one["action"] == "update" for field in one["fields"]]
    assert {"path": "data.level", "from": '"three"', "to": '"one"'} in fields, shown["results"]
    done = spec.wait_request(spec.request("Rollback", toRevision=1))["status"]
    record = spec.records()[-1]["status"]
    assert record["plan"] == shown["plan"] or record["plan"]["digest"] == shown["plan"]["digest"]
    assert done["revision"] == record["revision"] and record["summary"].startswith("to revision 1: ")


def test_a_preview_of_a_revision_that_is_not_there(spec):
    three_revisions(spec)
    shown = spec.wait_request(spec.request("Preview", toRevision=99), "failed")
    assert "the Spec of revision 99 is not there any more, or never was" in json.dumps(shown["status"])


def test_the_hold_ends_when_the_spec_changes(spec):
    three_revisions(spec)
    spec.wait_request(spec.request("Rollback", toRevision=1))
    spec.look()
    assert spec.data("a") == {"level": "one"}, "a look changes nothing"
    apply(spec, "a", "four", level="four").wait("True")
    assert spec.data("a") == {"level": "four"} and not spec.data("one")
    assert phases(spec)[-1] == (5, "Apply", "succeeded")


def test_without_a_revision_it_goes_back_to_the_last_other_spec_that_succeeded(spec):
    three_revisions(spec)
    spec.edit_live("a", level="drift")
    spec.look()
    eventually(lambda: phases(spec)[-1] == (4, "Apply", "succeeded"))  # the same Spec again
    spec.wait_request(spec.request("Rollback"))
    assert spec.data("a") == {"level": "two"}
    assert spec.records()[-1]["spec"]["toRevision"] == 2


def test_an_apply_that_waits_gives_way(spec):
    apply(spec, "a", level="good").wait("True")
    claim = resource({"apiVersion": "apps/v1", "kind": "Deployment",
                      "metadata": {"name": "never", "namespace": spec.namespace},
                      "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}},
                               "template": {"metadata": {"labels": {"a": "b", "kwok-hold": "true"}},
                                            "spec": {"containers": [{"name": "a", "image": "a"}]}}}})
    spec.apply([config_map("a", spec.namespace, {"level": "bad"}), claim])
    eventually(lambda: spec.data("a") == {"level": "bad"})
    spec.wait_request(spec.request("Rollback"))
    assert spec.data("a") == {"level": "good"}
    assert phases(spec) == [(1, "Apply", "succeeded"), (2, "Apply", "cancelled"),
                            (3, "Rollback", "succeeded")]
    assert "superseded by Release" in spec.records()[1]["status"]["summary"]


def test_drift_goes_back_to_the_rolled_back_revision(spec):
    three_revisions(spec)
    spec.wait_request(spec.request("Rollback", toRevision=2))
    spec.edit_live("a", level="drift")
    spec.look()
    eventually(lambda: spec.data("a") == {"level": "two"})
    assert spec.wait_reason("RolledBack")["message"].startswith("revision 5: rolled back to revision 2: ")


def test_a_rollback_of_a_rollback(spec):
    three_revisions(spec)
    spec.wait_request(spec.request("Rollback", toRevision=1))
    spec.wait_request(spec.request("Rollback", toRevision=3))
    assert spec.data("a") == {"level": "three"}
    spec.wait_request(spec.request("Rollback", toRevision=4))  # itself a rollback, to 1
    assert spec.data("a") == {"level": "one"}
    spec.wait_reason("RolledBack")


@pytest.mark.parametrize("revision", [7, 1])
def test_a_revision_that_is_not_there(spec, revision):
    spec.fields["revisionHistoryLimit"] = 2
    three_revisions(spec)
    eventually(lambda: [one["status"]["revision"] for one in spec.records()] == [2, 3])
    ended = spec.wait_request(spec.request("Rollback", toRevision=revision), "failed")["status"]
    assert ended["conditions"][0]["reason"] == "RevisionNotFound"
    assert "Releases are there of: 3, 2" in ended["conditions"][0]["message"]
    assert spec.condition()["status"] == "True" and spec.data("a") == {"level": "three"}


def test_secrets_of_a_recorded_spec_are_in_no_config_map(spec):
    secret = {"apiVersion": "v1", "kind": "Secret", "stringData": {"password": SECRET},
              "metadata": {"name": "s", "namespace": spec.namespace}}
    spec.apply([resource(secret)]).wait("True")
    apply(spec, "a").wait("True")
    assert spec.live("secrets", "s") is None
    spec.wait_request(spec.request("Rollback", toRevision=1))
    assert spec.live("secrets", "s")
    assert SECRET not in spec.open_text()


def test_a_release_shows_the_resources_that_it_applied(spec):
    three_revisions(spec)
    for release, level in zip(spec.records(), ("one", "two", "three"), strict=True):
        assert [one["attributes"]["data"] for one in release["spec"]["resources"]] == [{"level": level}] * 2
    assert recorded(spec.cluster, spec.namespace) == []
    change = spec.cluster.kubectl("patch", "release", spec.records()[0]["metadata"]["name"], "-n", spec.namespace,
                                  "--type=merge", "-p", '{"spec": {"resources": []}}', check=False)
    assert "spec cannot be changed" in change.stderr


def test_long_revisions_with_the_same_spec_share_what_is_recorded_and_it_goes_with_them(spec):
    spec.fields["revisionHistoryLimit"] = 2
    long = {"padding": "x" * 5000}
    for level in ("one", "two", "one"):
        apply(spec, "a", level=level, **long).wait("True")
    eventually(lambda: len(recorded(spec.cluster, spec.namespace)) == 2)
    apply(spec, "a", level="three", **long).wait("True")
    eventually(lambda: len(recorded(spec.cluster, spec.namespace)) == 2)  # one, three
    spec.wait_request(spec.request("Rollback"))
    assert spec.data("a") == {"level": "one", **long}
    spec.delete()
    eventually(lambda: recorded(spec.cluster, spec.namespace) == [])


# ---- Destroy ----

def test_destroys_and_holds_the_spec(spec):
    apply(spec, "a", "b").wait("True")
    ended = spec.wait_request(spec.request("Destroy"))["status"]
    assert (ended["phase"], ended["revision"]) == ("succeeded", 2)
    ready = spec.wait_reason("Destroyed")
    assert "destroyed: 2 deleted" in ready["message"]
    assert not spec.data("a") and not spec.data("b") and spec.state() == {}
    spec.look()
    assert not spec.data("a"), "a look makes nothing"
    apply(spec, "a").wait("True")
    assert spec.data("a") and not spec.data("b")


def test_rolls_back_after_a_destroy(spec):
    apply(spec, "a", level="one").wait("True")
    spec.wait_request(spec.request("Destroy"))
    spec.wait_request(spec.request("Rollback"))
    assert spec.data("a") == {"level": "one"}
    assert spec.records()[-1]["spec"]["toRevision"] == 1


def test_a_destroyed_spec_can_be_deleted(spec):
    apply(spec, "a").wait("True")
    spec.wait_request(spec.request("Destroy"))
    spec.delete()
    assert states(spec.cluster, spec.namespace) == []


# ---- The page ----

def test_the_commands_of_the_page(controlled, tenant):
    need_objects()
    spec = Requested(controlled, tenant, "web")
    three_revisions(spec)
    roll_back, show, destroy = snippets("rollback.md", __file__)
    result = type_in(controlled, f"set -e\n{roll_back}\n{show}".replace("team-a", tenant))
    assert result.returncode == 0, result.stdout + result.stderr
    assert spec.data("a") == {"level": "two"} and "web-4" in result.stdout
    result = type_in(controlled, f"set -e\n{destroy}".replace("team-a", tenant))
    assert result.returncode == 0, result.stdout + result.stderr
    assert spec.data("a") is None


# ---- What does not fit together ----

def test_of_two_requests_the_later_one_is_carried_out(spec):
    three_revisions(spec)
    first, second = spec.request("Rollback", toRevision=1), spec.request("Rollback", toRevision=2)
    spec.wait_request(second)
    spec.wait_ended(first)
    assert spec.data("a") == {"level": "two"}


@pytest.mark.parametrize("what", ["nothing", "suspended"])
def test_a_spec_that_cannot_be_rolled_back(spec, what):
    if what == "suspended":
        three_revisions(spec)
        spec.fields["suspend"] = True
        apply(spec, "a", level="four")
    reason = {"nothing": "SpecNotFound", "suspended": "Suspended"}[what]
    ended = spec.wait_request(spec.request("Rollback"), "failed")["status"]
    assert ended["conditions"][0]["reason"] == reason


def test_an_apply_cannot_be_requested(spec):
    apply(spec, "a").wait("True")
    ended = spec.wait_request(spec.request("Apply"), "failed")["status"]
    assert ended["conditions"][0]["reason"] == "InvalidRelease"


@pytest.mark.parametrize("operation", ["Rollback", "Destroy"])
def test_waits_for_approval_where_the_mode_is_manual(spec, operation):
    three_revisions(spec)
    spec.fields["approval"] = {"mode": "Manual"}
    apply(spec, "a", "three", level="three").wait("True")  # the same: there is nothing to approve
    request = spec.request(operation)
    release = eventually(lambda: spec.waiting_record())
    assert release["spec"]["operation"] == operation and spec.data("a") == {"level": "three"}
    spec.approve(release)
    spec.wait_request(request)
    assert spec.data("a") == (None if operation == "Destroy" else {"level": "two"})


def test_a_rollback_that_waits_ends_when_it_is_seen_that_nothing_is_left(spec):
    """Somebody else has done it all, and a look is requested. (Else it is seen within a minute.)"""
    for level in "one", "two":
        apply(spec, "a", level=level).wait("True")
    spec.fields["approval"] = {"mode": "Manual"}
    spec.fields["interval"] = "1h"
    apply(spec, "a", level="two").wait("True")
    request = spec.request("Rollback", toRevision=1)
    eventually(lambda: spec.waiting_record())
    spec.cluster.kubectl("patch", "configmap", "a", "-n", spec.namespace, "--type=merge",
                         "-p", '{"data":{"level":"one"}}')
    spec.look()
    assert spec.wait_request(request)["status"]["revision"] == spec.records()[-1]["status"]["revision"]
    assert phases(spec)[-1][1:] == ("Rollback", "succeeded")
    assert spec.wait_reason("RolledBack") and spec.data("a") == {"level": "one"}
