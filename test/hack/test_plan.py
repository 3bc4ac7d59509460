"""hack/plan, as a person calls it."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLAN = ROOT / "hack/plan"

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
DIGEST = "d1"
SHOWN = """\
web-3: Apply, of web, revision 3, awaitingApproval

    + create v1:ConfigMap:a:new
      + data.a = "b"

    ~ update apps/v1:Deployment:a:web
      ~ spec.replicas   = 1 -> 2
      - spec.paused     = true
      + metadata.labels = {"a":"b"}
      ~ spec.template.x = "y" -> (known after apply)

    ~ adopt v1:Secret:a:s
      ~ data = (sensitive value)
      ~ type = (sensitive value) -> "(sensitive)"

  -/+ replace batch/v1:Job:a:j
      │ spec.template is immutable

    - delete v1:ConfigMap:a:old

    . forget v1:ConfigMap:a:stays
      │ it stays: `prune` is false

Plan: 1 to create, 1 to update, 1 to adopt, 1 to replace, 1 to delete, 1 to forget, 1 unchanged.
2 sensitive values are approved unseen.
To approve it: kubectl patch release web-3 -n a --type=merge -p '{"spec":{"approvedPlan":"d1"}}'
To reject it:  kubectl patch release web-3 -n a --type=merge -p '{"spec":{"rejected":true,"reason":"WHY"}}'
"""


def release(results=(), **status):
    shown = {"revision": 3, "phase": "succeeded", "plan": {"unchanged": 1}, "results": list(results)}
    return {"apiVersion": "api.kusion.io/v1", "kind": "Release",
            "metadata": {"name": "web-3", "namespace": "a"},
            "spec": {"specRef": {"name": "web"}, "operation": "Apply"}, "status": {**shown, **status}}


def waiting():
    return release(RESULTS, phase="awaitingApproval", plan=COUNTS)


def run(*arguments, input="", **environment):
    return subprocess.run([sys.executable, PLAN, *arguments], input=input, text=True, capture_output=True,
                          check=False, env={**os.environ, **environment})


def show(value, **environment):
    result = run("-f", "-", input=json.dumps(value), **environment)
    assert result.returncode == 0 and not result.stderr, result
    return result.stdout


def show_on_terminal(value, tmp_path, **environment):
    file = tmp_path / "release.json"
    file.write_text(json.dumps(value))
    ours, its = pty.openpty()
    base = {key: text for key, text in os.environ.items() if key != "NO_COLOR"}
    subprocess.run([sys.executable, PLAN, "-f", file], stdout=its, check=True,
                   env={**base, "TERM": "xterm", **environment})
    os.close(its)
    text = b""
    try:
        while part := os.read(ours, 65536):
            text += part
    except OSError:  # its end
        pass
    os.close(ours)
    return text.decode()


def test_says_what_is_not_shown():
    results = [{"id": "x", "action": "create", "fields": [{"path": "a", "to": "1"}], "omittedFields": 48},
               {"id": "y", "action": "create", "omittedFields": 2}]
    plan = {"digest": "d1", "create": 9, "unseen": 9}
    one = release(results, phase="awaitingApproval", plan=plan, omitted=7, planRef={"name": "ConfigMap s/p"})
    shown = show(one)
    assert "      + a = 1\n      … and 48 more fields that are NOT shown\n" in shown
    assert "create y\n      … and 2 fields that are NOT shown\n" in shown
    above = shown[:shown.index("To approve it: ")].splitlines()[-3:]
    assert above == ["50 fields are NOT shown above.", "7 resources are NOT shown above.",
                     "All of the plan is in ConfigMap s/p, for who may read that."]
    assert '"approvedPlan":"d1","approvedUnseen":true' in shown


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
    above = shown[:shown.index("To approve it: ")].splitlines()
    assert above[-1] == "1 sensitive values are approved unseen."


def test_shows_a_plan_that_waits():
    assert show(waiting()) == SHOWN


def test_shows_warnings():
    warned = {"id": "h:r:t:n", "action": "create", "warnings": ["attributes.a: deprecated: use b", "c"]}
    shown = show(release([warned, {"id": "same", "action": "unchanged"}], plan={"create": 1, "unchanged": 1}))
    assert "    + create h:r:t:n\n      │ warning: attributes.a: deprecated: use b\n      │ warning: c\n" in shown
    assert "Plan: 1 to create, 1 unchanged. 2 warnings.\n" in shown


def test_has_colours_on_a_terminal_only(tmp_path):
    text = show_on_terminal(waiting(), tmp_path)
    assert "\x1b[32m  + create\x1b[0m v1:ConfigMap:a:new" in text
    assert "\x1b[31m-/+ replace\x1b[0m" in text and "\x1b[33m~\x1b[0m spec.replicas" in text
    assert "\x1b" not in show(waiting(), TERM="xterm")


@pytest.mark.parametrize("variable", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_can_be_told_to_use_none(tmp_path, variable):
    assert show_on_terminal(waiting(), tmp_path, **variable) == SHOWN.replace("\n", "\r\n")


# What would move a cursor, ring, colour, turn text round or begin a line.
ODD = "\x1b[2J\x07\x9b31m\r\n\t\x7f\u202e\u2028\u00a0\ue000\U000e0041\ufeffend"


@pytest.mark.parametrize("where", ["name", "id", "action", "path", "value", "message", "reason", "manager", "spec",
                                   "digest", "planRef"])
def test_texts_of_others_have_no_control_characters(where, tmp_path):
    result = {"id": "x", "action": "update", "fields": [{"path": "p", "from": "1", "to": "2"}]}
    one = release([result], phase="awaitingApproval", plan={"digest": "d1", "update": 1}, omitted=1,
                  planRef={"name": "ConfigMap a/b"}, approval={"manager": "m"})
    places = {"name": (one["metadata"], "name"), "id": (result, "id"), "action": (result, "action"),
              "path": (result["fields"][0], "path"), "value": (result["fields"][0], "from"),
              "message": (result, "message"), "reason": (result, "reason"), "spec": (one["spec"]["specRef"], "name"),
              "manager": (one["status"]["approval"], "manager"), "digest": (one["status"]["plan"], "digest"),
              "planRef": (one["status"]["planRef"], "name")}
    holder, key = places[where]
    holder[key] = ODD
    shown = show(one)
    assert "end" in shown
    assert [char for char in shown if char not in "\n│" and not " " <= char <= "~"] == []
    # A newline begins a line in messages only, where it is marked.
    assert [line for line in shown.split("\n") if "[2J" not in line and "end" in line and "│" not in line] == []
    assert "\x1b[2J" not in show_on_terminal(one, tmp_path)


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
    ({"approval": {"plan": "d", "manager": "alice"}}, "Approved by alice."),
    ({"phase": "cancelled", "conditions": [{"type": "Ready", "reason": "PlanStale", "message": "changed"}]},
     "│ PlanStale: changed"),
], ids=lambda one: "" if isinstance(one, dict) else one)
def test_says(status, text):
    assert text in show(release(**status))


def test_says_with_whose_rights():
    shown = show(release(plan={"create": 1, "serviceAccountName": "deployer\x1b"}))
    assert shown.startswith("web-3: Apply, of web, revision 3, as ServiceAccount deployer\\x1b, succeeded\n")


def test_of_one_without_a_plan():
    one = release()
    del one["status"]
    assert show(one) == "web-3: Apply, of web, not begun\n\nThere is no plan yet.\n"


def test_of_a_list():
    shown = show({"kind": "List", "items": [release(), release()]})
    assert shown.count("web-3: Apply") == 2


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"kind": "Spec", "metadata": {}}', '{"items": [1]}'])
def test_refuses_what_is_no_release(text):
    result = run("-f", "-", input=text)
    assert result.returncode == 1 and not result.stdout
    assert result.stderr.startswith("plan: not ") and result.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["x", "-f", "y"]])
def test_wants_one_release(arguments):
    assert run(*arguments).returncode == 2


def test_asks_kubectl(tmp_path):
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(f"#!/bin/sh\necho \"$*\" >&2\n[ $3 = --namespace ] && echo '{json.dumps(waiting())}' && exit\n"
                       "printf 'not found\\033[2J' >&2; exit 1\n")
    kubectl.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    assert run("release.api.kusion.io/web-3", "-n", "a", PATH=path).stdout == SHOWN
    result = run("web-3", PATH=path)
    assert result.returncode == 1
    assert result.stderr == "plan: get releases.api.kusion.io/web-3 -o json not found\\x1b[2J\n"
    result = run("web-3", PATH="/nonexistent")
    assert (result.returncode, result.stderr) == (1, "plan: there is no kubectl in PATH\n")
