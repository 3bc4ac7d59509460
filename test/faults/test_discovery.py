"""Kinds that are not served for a while: their objects are not taken for gone."""

import json
import time

import pytest

from kusion_faults.faults import rule, says
from kusion_faults.life import new_mark
from kusion_e2e.specs import resource
from kusion_e2e.wait import eventually

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LATE = 3  # seconds


class Kind:
    """A CustomResourceDefinition of a scenario's own."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.group = f"x{new_mark()}.kusion.io"
        self.path = f"{CRDS}/things.{self.group}"
        self.define()

    def define(self, served=True):
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        names = {"plural": "things", "singular": "thing", "kind": "Thing"}
        version = {"name": "v1", "served": served, "storage": True, "schema": {"openAPIV3Schema": schema}}
        body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": f"things.{self.group}"},
                "spec": {"group": self.group, "scope": "Namespaced", "names": names,
                         "versions": [version]}}
        self.cluster.api.apply(self.path, json.dumps(body)).must()
        eventually(lambda: self.is_served() == served)

    def is_served(self):
        return self.cluster.api.get(f"/apis/{self.group}/v1/things?limit=1").ok

    def remove(self):
        self.cluster.api.delete(self.path)


@pytest.fixture
def kind(cluster):
    made = Kind(cluster)
    yield made
    made.remove()


def things(stage, kind, names):
    return [resource({"apiVersion": f"{kind.group}/v1", "kind": "Thing",
                      "metadata": {"name": name, "namespace": stage.tenant}}) for name in names]


def there(stage, kind):
    path = f"/apis/{kind.group}/v1/namespaces/{stage.tenant}/things"
    return sorted(one["metadata"]["name"] for one in stage.api.get(path).must().object["items"])


def test_crd_unserved(stage, kind):
    """The definition stays, but its version is not served while the Spec is deleted."""
    spec = stage.spec().apply(things(stage, kind, ["a", "b", "c"]), retryInterval="1s")
    stage.ready(spec)
    kind.define(served=False)
    stage.api.delete(spec.path).must()
    time.sleep(LATE)
    assert spec.get()
    kind.define(served=True)
    stage.gone(spec)
    assert there(stage, kind) == []


def gaps(kind):
    """Answers of discovery that lack the kind."""
    resources = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{kind.group}/v1"}
    group = rf"^/apis/{kind.group}/v1(\?|$)"
    return {"no-group": rule("gap", path=group, times=-1, **says(404)),
            "no-kind": rule("gap", path=group, times=-1, do="answer", code=200,
                            body=json.dumps({**resources, "resources": []})),
            "null": rule("gap", path=group, times=-1, do="answer", code=200,
                         body=json.dumps({**resources, "resources": None})),
            "empty": rule("gap", path=group, times=-1, do="answer", code=200, body=""),
            "503": rule("gap", path=group, times=-1, **says(503))}


LONG = pytest.mark.long  # a definition takes its time


@pytest.mark.parametrize("gap", ["no-kind", *(pytest.param(name, marks=LONG)
                                              for name in ("no-group", "null", "empty", "503"))])
def test_discovery_gap(stage, kind, gap):
    """Discovery lacks the kind for a moment, while the Spec is deleted by a process that has not
    asked before."""
    spec = stage.spec().apply(things(stage, kind, ["a", "b"]), retryInterval="1s")
    stage.ready(spec)
    stage.main.rules(gaps(kind)[gap])
    stage.process.restart()
    stage.api.delete(spec.path).must()
    time.sleep(LATE)
    assert there(stage, kind) == ["a", "b"] and spec.get()
    stage.main.rules()
    stage.gone(spec)
    assert there(stage, kind) == []


@LONG
def test_discovery_gap_prune(stage, kind):
    """The same, while the objects leave the Spec."""
    spec = stage.spec().apply(things(stage, kind, ["a", "b"]), retryInterval="1s")
    stage.ready(spec)
    stage.main.rules(gaps(kind)["no-kind"])
    stage.process.restart()
    spec.apply([], retryInterval="1s")
    time.sleep(LATE)
    stage.main.rules()
    eventually(lambda: there(stage, kind) == [], 30)
    stage.ready(spec)
    spec.delete()
