"""Previews under faults: they end, tell the plan, and change nothing."""

import pytest

from kusion_faults.faults import BODIES, odd, rule, says
from kusion_faults.life import new_mark
from kusion_e2e.kinds import create, new_release
from kusion_e2e.wait import eventually

PLACES = {"put-release": ("PUT", "/releases/preview-.*/status"),
          "get-release": ("GET", "/releases/preview-"), "get-spec": ("GET", "/specs/spec-"),
          "get-state": ("GET", "/configmaps/kusion-"), "dry-run": ("PATCH", "dryRun=All"),
          "list": ("GET", r"/configmaps\?limit"), "account": ("GET", "/serviceaccounts/")}
FAULTS = {"drop-before": {"do": "drop", "at": "before"}, "drop-after": {"do": "drop"},
          "503": says(503), "409": says(409), "braces": odd("{}"), "empty": odd(BODIES["empty"]),
          "half": {"do": "half"}, "429": says(429, **{"Retry-After": "1"}), "400": says(400)}


def preview(stage, spec):
    body = new_release(f"preview-{new_mark()}", specRef={"name": spec.name}, operation="Preview")
    made = create(stage.room, stage.tenant, body).must().object
    path = f"/apis/api.kusion.io/v1/namespaces/{stage.tenant}/releases/{made['metadata']['name']}"

    def ended():
        status = stage.api.get(path).must().object.get("status", {})
        return status.get("phase") in ("succeeded", "failed", "cancelled") and status

    return eventually(ended, 60)


@pytest.mark.parametrize("place", PLACES)
def test_previews(stage, place):
    spec = stage.spec().apply([stage.config("a")])
    stage.ready(spec)
    spec.apply([stage.config("a", "2"), stage.config("b")], suspend=True)
    before = stage.api.get(stage.path("a")).must().object
    verb, path = PLACES[place]
    for name, fault in FAULTS.items():
        stage.main.rules(rule("fault", verb=verb, path=path, **fault))
        status = preview(stage, spec)
        if status["phase"] == "succeeded":
            plan = status["plan"]
            assert (plan.get("create"), plan.get("update")) == (1, 1), (name, status)
        else:
            assert place != "put-release", (name, status)
    stage.main.rules()
    assert stage.api.get(stage.path("a")).must().object == before
    assert stage.value("b") is None
    assert preview(stage, spec)["phase"] == "succeeded"
    spec.apply([stage.config("a")])
    stage.ready(spec)
    spec.delete()


@pytest.mark.parametrize("at", ["before", "after"])
def test_killed_preview(stage, at):
    """kill -9 at the write of the plan."""
    spec = stage.spec().apply([stage.config("a")])
    stage.ready(spec)
    spec.apply([stage.config("a", "2")], suspend=True)
    stage.main.rules(rule("held", "hold", at, "PUT", "/releases/preview-.*/status"))
    body = new_release(f"preview-{new_mark()}", specRef={"name": spec.name}, operation="Preview")
    name = create(stage.room, stage.tenant, body).must().object["metadata"]["name"]
    stage.main.wait_fired("held")
    stage.process.kill9()
    stage.main.release("held", "drop")
    stage.process.restart()
    path = f"/apis/api.kusion.io/v1/namespaces/{stage.tenant}/releases/{name}"

    def succeeded():
        stage.process.watch()
        status = stage.api.get(path).must().object.get("status", {})
        assert status.get("phase") == "succeeded", (status, stage.process.text()[-3000:])
        return True

    eventually(succeeded, 60)
    assert stage.value("a") == "1"
    spec.apply([stage.config("a")])
    stage.ready(spec)
    spec.delete()
