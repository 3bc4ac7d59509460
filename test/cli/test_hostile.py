"""Text of tenants that would do something to a terminal: in values, messages, annotations."""

import json
import re

OURS = re.compile(r"\x1b\[(\d+A|K|J|[0-9;]*m)")
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")
EVIL = "x\x1b[2J\x1b]0;title\x07\u202egpj.exe\u2066\x9b31m\r\nnext:  kubectl delete ns --all"


def spec(namespace, value):
    attributes = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"evil": value},
                  "metadata": {"name": "evil", "namespace": namespace, "annotations": {"evil": EVIL}}}
    return {"apiVersion": "api.kusion.io/v1", "kind": "Spec", "metadata": {"name": "evil"},
            "spec": {"approval": {"mode": "Manual"}, "project": "evil",
                     "resources": [{"id": f"v1:ConfigMap:{namespace}:evil", "type": "Kubernetes",
                                    "attributes": attributes}]}}


def write(shell, value):
    (shell.folder / "evil.json").write_text(json.dumps(spec(shell.namespace, value)))


def assert_harmless(said):
    found = HIDDEN.search(OURS.sub("", said.text.replace("\n", "").replace("\r", "")))
    assert not found, (said.command, found and found.group(), said.text[:2000])
    assert not re.search(r"^next:  kubectl delete", said.text, re.MULTILINE), said.text


def test_no_text_of_others_reaches_the_terminal(shell):
    write(shell, EVIL)
    commands = ["preview -f evil.json", "apply -f evil.json --watch", "status evil", "status evil -o json",
                "approve evil --yes --reason x", "wait evil --for finished --timeout 30s", "show evil@1 --full",
                "diff evil@1 live", "history evil --plan", "history evil -o json", "state show evil",
                "rollback evil --preview", "destroy evil --preview", "destroy evil --yes", "reject evil --yes",
                "approve --all --yes", "destroy evil --withdraw", "reconcile evil --watch --timeout 5s",
                "suspend evil", "status evil --events --pods", "resume evil", "status -A -o wide", "graph evil",
                "graph evil -o dot", "graph evil -o mermaid", "rbac check evil", "rbac grant evil --yes", "doctor",
                "validate -f evil.json", "validate -f evil.json --strict", "convert -f evil.json --to manifests",
                "state list", "version", "__complete -- status ''"]
    for command in commands:
        assert_harmless(shell.type(f"kubectl kusion {command}"))
        assert_harmless(shell.on_terminal(f"kubectl kusion {command} --color always"))


def test_what_people_say_is_harmless_too(shell):
    """A reason, and a user's name, are free text."""
    write(shell, "a")
    shell.type("kubectl kusion apply -f evil.json --watch").must(code=4)
    shell.type("kubectl kusion reject evil --yes --reason $'no\\e[2J\\u202e\\nnext:  kubectl delete ns --all' "
               "--as $'x\\u202ey' --as-group system:masters").must()
    shell.type("kubectl kusion wait evil --for finished").must(code=1)
    for command in ("status evil", "status evil --events", "status -A", "history evil", "show evil@1", "wait evil",
                    "history evil -o json", "status evil -o yaml", "doctor"):
        assert_harmless(shell.on_terminal(f"kubectl kusion {command} --timeout 5s"
                                          if command == "wait evil" else f"kubectl kusion {command}"))


def unscheduled(namespace):
    """A Spec with a Deployment whose Pod no scheduler looks at: its status stays as it is written."""
    labels = {"app": "evil"}
    pod = {"metadata": {"labels": labels}, "spec": {"schedulerName": "nobody", "containers": [{"name": "a", "image": "a"}]}}
    attributes = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "evil", "namespace": namespace},
                  "spec": {"selector": {"matchLabels": labels}, "template": pod}}
    return {"apiVersion": "api.kusion.io/v1", "kind": "Spec", "metadata": {"name": "evil"},
            "spec": {"timeout": "15s",
                     "resources": [{"id": f"apps/v1:Deployment:{namespace}:evil", "type": "Kubernetes",
                                    "attributes": attributes}]}}


def test_what_pods_and_events_say_is_harmless_too(shell):
    text = f"日本✅{EVIL}"
    said = {"status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                                       "message": text}]}}
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "evil", "namespace": shell.namespace},
             "type": "Warning", "reason": text, "message": text, "lastTimestamp": "2026-01-02T03:04:05Z",
             "involvedObject": {"kind": "Spec", "name": "evil", "namespace": shell.namespace}}
    for name, value in {"evil": unscheduled(shell.namespace), "said": said, "event": event}.items():
        (shell.folder / f"{name}.json").write_text(json.dumps(value))
    shell.type("kubectl kusion apply -f evil.json").must()
    shell.type("kubectl wait --for=create pod -l app=evil --timeout=60s && "
               "kubectl patch $(kubectl get pod -l app=evil -o name) --subresource status --type merge "
               "--patch-file said.json && kubectl create -f event.json").must()
    shell.type("kubectl kusion wait evil --for finished --timeout 60s").must(code=1)
    page = shell.type("kubectl kusion status evil --pods --events").must()
    assert page.count("Unschedulable: 日本✅x\\u001b[2J") >= 2 and "Warning  日本✅x\\u001b[2J" in page, page
    for command in ("status evil --pods --events", "status evil --pods -o json", "status", "show evil", "history evil",
                    "history evil --plan", "show evil -o yaml", "wait evil --for finished", "doctor", "graph evil"):
        assert_harmless(shell.type(f"kubectl kusion {command}"))
        assert_harmless(shell.on_terminal(f"kubectl kusion {command} --color always"))


def test_a_name_that_is_typed_is_harmless_too(shell):
    for argument in ("$'a\\e[2J'", "$'\\u202ea'", "$'a\\nnext:  kubectl delete'"):
        assert_harmless(shell.type(f"kubectl kusion status {argument}"))
        assert_harmless(shell.type(f"kubectl kusion status --context {argument}"))
        assert_harmless(shell.type(f"kubectl kusion {argument}"))


def test_a_line_of_a_mebibyte(shell):
    write(shell, "x" * 200_000)
    said = shell.type("kubectl kusion preview -f evil.json").must()
    assert len(said) < 3000 and "bytes (--full)" in said, said[:3000]
    assert len(shell.type("kubectl kusion preview -f evil.json --full").must()) > 200_000
    shell.type("kubectl kusion apply -f evil.json --watch").must(code=4)
    assert len(shell.type("kubectl kusion approve evil --yes").must()) < 3000
    shell.type("kubectl kusion wait evil").must()


def test_json_is_json(shell):
    write(shell, EVIL)
    said = shell.type("kubectl kusion apply -f evil.json --watch -o json").must(code=4)
    events = [json.loads(line) for line in said.splitlines()]
    assert events[-1]["type"] == "Spec" and events[-1]["reason"] == "AwaitingApproval", events
    for command in ("status -o json", "status evil -o json", "show evil -o json", "preview evil -o json",
                    "state show evil -o json"):
        json.loads(shell.type(f"kubectl kusion {command}").must())
