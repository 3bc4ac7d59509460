"""kubectl kusion show -f: stored Releases, without a cluster."""

import json
import re

import pytest

from program import kusion

RESULTS = [
    {"id": "v1:ConfigMap:a:new", "action": "create", "fields": [{"path": "data.a", "to": '"b"'}]},
    {"id": "apps/v1:Deployment:a:web", "action": "update", "fields": [
        {"path": "spec.replicas", "from": "1", "to": "2"},
        {"path": "spec.paused", "from": "true"},
        {"path": "metadata.labels", "to": '{"a":"b"}'},
        {"path": "spec.template.x", "from": '"y"', "to": "(known after apply)"}]},
    {"id": "v1:Secret:a:s", "action": "adopt",
     "fields": [{"path": "data", "from": "(sensitive)", "to": "(sensitive)"},
                {"path": "type", "from": "(sensitive)", "to": '"(sensitive)"'}]},
    {"id": "batch/v1:Job:a:j", "action": "replace", "message": "spec.template is immutable"},
    {"id": "v1:ConfigMap:a:old", "action": "delete"},
    {"id": "v1:ConfigMap:a:stays", "action": "forget", "message": "it stays: `prune` is false"},
    {"id": "v1:ConfigMap:a:same", "action": "unchanged"},
]
COUNTS = {"digest": "d1", "create": 1, "update": 1, "delete": 1, "replace": 1, "adopt": 1, "unchanged": 1}
SHOWN = """\
a/web-3   Apply   revision 3   of generation 2   awaitingApproval
    + create    ConfigMap/new
      + data.a = "b"
    ~ update    Deployment/web
      ~ spec.replicas   = 1 -> 2
      - spec.paused     = true
      + metadata.labels = {"a":"b"}
      ~ spec.template.x = "y" -> (known after apply)
    ~ adopt     Secret/s
      ~ data = (sensitive value)
      ~ type = (sensitive value) -> "(sensitive)"
  -/+ replace   Job/j
      │ spec.template is immutable
    - delete    ConfigMap/old
    . forget    ConfigMap/stays
      │ it stays: `prune` is false
Plan: 1 to create, 1 to update, 1 to adopt, 1 to replace, 1 to delete, 1 to forget, 1 unchanged.   digest d1
2 sensitive values are approved unseen.
next:  kubectl kusion approve web -n a --digest d1
next:  kubectl kusion reject web -n a --reason WHY
"""


def release(results=(), **status):
    shown = {"revision": 3, "specGeneration": 2, "phase": "succeeded", "plan": {"unchanged": 1}, "results": list(results)}
    return {"apiVersion": "api.kusion.io/v1", "kind": "Release",
            "metadata": {"name": "web-3", "namespace": "a"},
            "spec": {"specRef": {"name": "web"}, "operation": "Apply"}, "status": {**shown, **status}}


def waiting():
    return release(RESULTS, phase="awaitingApproval", plan=COUNTS)


def show(value, *arguments):
    result = kusion("show", "-f", "-", *arguments, input=json.dumps(value))
    assert result.returncode == 0 and not result.stderr, result
    return result.stdout


def test_shows_a_plan_that_waits():
    assert show(waiting()) == SHOWN


def test_says_what_is_not_shown():
    results = [{"id": "x", "action": "create", "fields": [{"path": "a", "to": "1"}], "omittedFields": 48},
               {"id": "y", "action": "create", "omittedFields": 2}]
    plan = {"digest": "d1", "create": 9, "unseen": 9}
    shown = show(release(results, phase="awaitingApproval", plan=plan, omitted=7, planRef={"name": "ConfigMap s/p"}))
    assert "      + a = 1\n      … and 48 more fields that are NOT shown\n" in shown
    assert "create    y\n      … and 2 fields that are NOT shown\n" in shown
    above = shown[:shown.index("next: ")].splitlines()[-3:]
    assert above == ["50 fields are NOT shown above.", "7 resources are NOT shown above.",
                     "All of the plan is in ConfigMap s/p, for who may read that."]


@pytest.mark.parametrize("result", [
    {"fields": [{"path": "spec.(sensitive value)", "to": "true"}]},
    {"fields": [{"path": "a", "to": '"x (sensitive value)"'}]},
    {"message": "it is (sensitive value)"}, {"reason": "No", "message": "(sensitive value)"},
    {"warnings": ["(sensitive value)"]},
], ids=str)
def test_counts_what_is_hidden(result):
    results = [{"id": "x", "action": "update", **result}, {"id": "y", "action": "create", "message": "shown"}]
    plan = {"digest": "d1", "update": 1, "create": 1, "unseen": 1}
    shown = show(release(results, phase="awaitingApproval", plan=plan))
    assert shown[:shown.index("next: ")].splitlines()[-1] == "1 sensitive value is approved unseen."


def test_has_colours_where_they_are_asked_for():
    text = show(waiting(), "--color", "always")
    assert "\x1b[32m    + create" in text and "\x1b[33m~\x1b[0m spec.replicas" in text
    assert "\x1b" not in show(waiting())


# What would move a cursor, ring, colour, turn text round or begin a line.
ODD = "\x1b[2J\x07\x9b31m\r\n\t\x7f\u202e\u2028\u00a0\ue000\U000e0041\ufeffend"


@pytest.mark.parametrize("where", ["name", "id", "action", "path", "value", "message", "reason", "approver", "spec",
                                   "digest", "planRef"])
def test_texts_of_others_have_no_control_characters(where):
    result = {"id": "x", "action": "update", "fields": [{"path": "p", "from": "1", "to": "2"}]}
    one = release([result], phase="awaitingApproval", plan={"digest": "d1", "update": 1}, omitted=1,
                  planRef={"name": "ConfigMap a/b"}, approval={"approver": "m"})
    places = {"name": (one["metadata"], "name"), "id": (result, "id"), "action": (result, "action"),
              "path": (result["fields"][0], "path"), "value": (result["fields"][0], "from"),
              "message": (result, "message"), "reason": (result, "reason"), "spec": (one["spec"]["specRef"], "name"),
              "approver": (one["status"]["approval"], "approver"), "digest": (one["status"]["plan"], "digest"),
              "planRef": (one["status"]["planRef"], "name")}
    holder, key = places[where]
    holder[key] = ODD
    for shown in (show(one), show(one, "--full", "--color", "always")):
        assert "end" in shown or where == "digest"
        hidden = re.sub("\x1b\\[[0-9;]*m", "", shown)
        assert [char for char in hidden if char not in "\n│…\u00a0\ue000" and not " " <= char <= "~"] == []
        # A newline begins a line in messages only, where it is marked.
        assert [line for line in hidden.split("\n") if "[2J" not in line and "end" in line and "│" not in line] == []


def test_each_line_of_a_message_is_marked():
    shown = show(release([{"id": "x", "action": "update", "reason": "Invalid", "message": "no\n    + create y"}]))
    assert "      │ Invalid: no\n      │     + create y\n" in shown


def test_what_failed_is_shown_even_if_it_is_unchanged():
    shown = show(release([{"id": "x", "action": "unchanged", "reason": "Timeout", "message": "not healthy"}]))
    assert "unchanged x\n      │ Timeout: not healthy" in shown


@pytest.mark.parametrize("status, text", [
    ({"plan": {"unchanged": 2}}, "No changes: 2 unchanged."),
    ({"plan": {"create": 1}, "omitted": 7, "planRef": {"name": "ConfigMap s/p"}},
     "7 more resources: all are in ConfigMap s/p"),
    ({"approval": {"plan": "d", "approver": "alice"}}, "approved by alice"),
    ({"phase": "cancelled", "conditions": [{"type": "Ready", "reason": "PlanStale", "message": "changed"}]}, "changed"),
    ({"plan": {"create": 1, "serviceAccountName": "deployer\x1b"}}, "as ServiceAccount deployer\\u001b"),
], ids=lambda one: "" if isinstance(one, dict) else one)
def test_says(status, text):
    assert text in show(release(**status))


def test_of_one_without_a_plan():
    one = release()
    del one["status"]
    assert show(one) == "a/web-3   Apply   not begun\n"


def test_of_a_list():
    shown = show({"apiVersion": "v1", "kind": "List", "items": [release(), release()]})
    assert shown.count("a/web-3   Apply") == 2


@pytest.mark.parametrize("text", ["{", "[]", '{"kind": "Spec", "metadata": {}}', '{"kind": "List", "items": [1]}'])
def test_refuses_what_is_no_release(text):
    result = kusion("show", "-f", "-", input=text)
    assert result.returncode == 1 and not result.stdout
    assert result.stderr.startswith("error: ") and "\nnext:  " in result.stderr


@pytest.mark.parametrize("arguments", [[], ["x", "-f", "y"]])
def test_wants_one_release(arguments):
    assert kusion("show", *arguments).returncode == 1
