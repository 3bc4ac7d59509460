"""Watches that say nothing, or nonsense."""

import time

import pytest

from kusion_faults.faults import rule, says
from kusion_e2e.specs import resource
from kusion_e2e.wait import eventually


def test_silent_watch_of_objects(stage):
    """The watch of an object that is waited for says nothing: it is looked at now and then."""
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
             "metadata": {"name": "claim", "namespace": stage.tenant},
             "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none",
                      "resources": {"requests": {"storage": "1Mi"}}}}
    stage.main.rules(rule("silent", "silent", verb="WATCH", path="/persistentvolumeclaims", times=-1))
    spec = stage.spec().apply([resource(claim)])
    eventually(lambda: spec.condition())
    path = stage.path("claim", "persistentvolumeclaims")
    eventually(lambda: stage.api.get(path).ok)
    status = {"status": {"phase": "Bound", "accessModes": ["ReadWriteOnce"],
                         "capacity": {"storage": "1Mi"}}}
    time.sleep(1)
    stage.api.patch(f"{path}/status", status).must()
    stage.ready(spec, 60)
    stage.api.patch(path, {"metadata": {"finalizers": None}})
    spec.delete()


@pytest.mark.long
def test_silent_watch_of_specs(stage):
    """The watch of all Specs falls silent, without bookmarks: all Specs are listed after 180 s."""
    stage.main.rules(rule("silent", "silent", verb="WATCH", path="/specs[?]", times=1))
    stage.main.cut()
    spec = stage.spec()
    time.sleep(2)
    spec.apply([stage.config("a")])
    stage.ready(spec, 200)
    spec.delete()


@pytest.mark.long
def test_all_watches_are_silent(stage):
    """All watches are mute, until they are ended, and so are the next ones."""
    stage.main.rules(rule("silent", "silent", verb="WATCH", times=-1))
    stage.main.cut()
    spec = stage.spec()
    time.sleep(2)
    spec.apply([stage.config("a")])
    stage.ready(spec, 200)
    spec.apply([stage.config("a", "2")])
    stage.ready(spec, 200)
    stage.main.rules()
    spec.delete(200)


@pytest.mark.long
def test_quiet_watches_are_not_listed(stage):
    """Nothing happens: the bookmarks of the API server tell that the watches work."""
    spec = stage.spec().apply([stage.config("a")])
    stage.ready(spec)
    since = len(stage.main.requests())
    time.sleep(200)
    listed = [one["path"] for one in stage.main.requests(since)
              if one["verb"] == "GET" and "s?limit=" in one["path"]]
    assert listed == []
    spec.delete()


@pytest.mark.parametrize("fault", ["cut", "gone", "garbage", "torn", "repeat"])
def test_three_watches_fail(stage, fault):
    """Three watches of Specs in a row fail at their first event."""
    stage.main.rules(rule("bad", fault, verb="WATCH", path="/specs[?]", times=3))
    stage.main.cut()
    spec = stage.spec()
    since = len(stage.main.requests())
    for value in ("1", "2", "3"):
        spec.apply([stage.config("a", value)])
        stage.ready(spec, 45)
        assert stage.value("a") == value
    assert len(stage.main.requests(since)) < 200
    spec.delete()


def test_refused_watches(stage):
    """Watches cannot be had for some seconds."""
    stage.main.rules(rule("refused", verb="WATCH", times=-1, **says(503)))
    stage.main.cut()
    spec = stage.spec().apply([stage.config("a")])
    time.sleep(5)
    asked = stage.main.fired("refused")
    assert 2 <= asked < 60, asked
    stage.main.rules()
    stage.ready(spec, 40)
    spec.delete()
