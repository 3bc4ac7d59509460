"""The health check for Argo CD of docs/gitops.md, run by Lua as Argo CD runs it; not of objects that are being deleted,
of which Argo CD does not ask it. hack/soak argocd runs it in Argo CD."""

import json
import re
import subprocess
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/gitops.md"
READY = {"observedGeneration": 2, "conditions": [{"type": "Ready", "status": "True", "message": "all there"}]}


def health_check():
    [block] = re.findall(r"health\.api\.kusion\.io_Spec: \|\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return "\n".join(line[4:] for line in block.splitlines())


def lua(value):
    """As a Lua expression."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"[{json.dumps(key)}] = {lua(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "{" + ", ".join(map(lua, value)) + "}"
    return json.dumps(value)


def health(spec):
    program = f"obj = {lua(spec)}\nlocal hs = (function()\n{health_check()}\nend)()\nprint(hs.status)\nprint(hs.message)"
    said = subprocess.run(["lua5.4", "-"], input=program, capture_output=True, text=True, check=True)
    status, message = said.stdout.split("\n", 1)
    return status, message.strip()


def status(ready, reason, **others):
    conditions = [{"type": "Ready", "status": ready, "reason": reason, "message": f"it is {reason}"}]
    return {"observedGeneration": 2, "conditions": conditions + [{"type": one, "status": "True"} for one in others]}


@pytest.mark.parametrize("expected, spec", [
    ("Progressing", {}),
    ("Progressing", {"status": {"observedGeneration": -1}}),
    ("Progressing", {"status": {**READY, "observedGeneration": 1}}),
    ("Healthy", {"status": READY}),
    ("Progressing", {"status": status("Unknown", "Progressing", Reconciling=True)}),
    ("Progressing", {"status": status("False", "Unavailable", Reconciling=True)}),
    ("Degraded", {"status": status("False", "InvalidSpec", Stalled=True)}),
    ("Degraded", {"status": status("False", "RolledBack", Stalled=True)}),
    ("Suspended", {"status": status("Unknown", "AwaitingApproval")}),
    ("Suspended", {"status": status("False", "Suspended"), "spec": {"suspend": True}}),
])
def test_health(expected, spec):
    whole = {"metadata": {"generation": 2}, "spec": {}, **spec}
    seen = whole.get("status", {}).get("observedGeneration") == 2
    message = whole["status"]["conditions"][0]["message"] if seen else "waiting for the operator"
    assert health(whole) == (expected, message)
