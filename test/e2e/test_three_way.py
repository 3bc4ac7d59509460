"""The three-way table: what State, the Spec and the world have of an object decides what becomes of
it. A Preview shows that, and the apply does it; what is in no State and no Spec is never touched."""

import json

import pytest

from kusion_e2e.releases import preview
from kusion_e2e.specs import Spec, resource
from kusion_e2e.wait import eventually

GROUP = "three-way.example.com"

WIDGETS = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": f"widgets.{GROUP}"},
    "spec": {"group": GROUP, "scope": "Namespaced",
             "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
             "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                 "type": "object", "properties": {"spec": {
                     "type": "object", "properties": {"value": {"type": "string"}}}}}}}]},
}

# State, Spec, live -> the action. The one of 1/1/1 that is unchanged, and the eighth row: 0/0/1, never touched.
ACTIONS = {
    "update": "update",     # 1 1 1, and the Spec has another value
    "same": "unchanged",    # 1 1 1
    "lost": "create",       # 1 1 0
    "left": "delete",       # 1 0 1
    "gone": "forget",       # 1 0 0
    "found": "adopt",       # 0 1 1
    "new": "create",        # 0 1 0
}
STRANGER = "stranger"       # 0 0 1


class ConfigMap:
    field = "data.value"

    @staticmethod
    def attributes(name, namespace, value):
        return {"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": name, "namespace": namespace}, "data": {"value": value}}

    @staticmethod
    def collection(namespace):
        return f"/api/v1/namespaces/{namespace}/configmaps"

    @staticmethod
    def value(found):
        return found["data"]["value"]


class Widget:
    field = "spec.value"

    @staticmethod
    def attributes(name, namespace, value):
        return {"apiVersion": f"{GROUP}/v1", "kind": "Widget",
                "metadata": {"name": name, "namespace": namespace}, "spec": {"value": value}}

    @staticmethod
    def collection(namespace):
        return f"/apis/{GROUP}/v1/namespaces/{namespace}/widgets"

    @staticmethod
    def value(found):
        return found["spec"]["value"]


class ClusterRole:
    """In no namespace."""
    field = "rules[0].verbs[0]"

    @staticmethod
    def attributes(name, namespace, value):
        return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                "metadata": {"name": f"{namespace}-{name}"},
                "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": [value]}]}

    @staticmethod
    def collection(namespace):
        return "/apis/rbac.authorization.k8s.io/v1/clusterroles"

    @staticmethod
    def value(found):
        return found["rules"][0]["verbs"][0]


@pytest.fixture(scope="module")
def widgets(controlled):
    controlled.apply(json.dumps(WIDGETS))
    eventually(lambda: controlled.api.get(f"/apis/{GROUP}/v1/widgets").ok)
    yield
    controlled.kubectl("delete", "crd", WIDGETS["metadata"]["name"], "--wait=false")


class Table:
    """Objects of one kind, each named for its row."""

    def __init__(self, cluster, namespace, kind):
        self.cluster, self.namespace, self.kind = cluster, namespace, kind
        self.spec = Spec(cluster, namespace)

    def name(self, row):
        return self.kind.attributes(row, self.namespace, "1")["metadata"]["name"]

    def path(self, row):
        return f"{self.kind.collection(self.namespace)}/{self.name(row)}"

    def live(self, row):
        answer = self.cluster.api.get(self.path(row))
        return answer.object if answer.ok else None

    def create(self, row, value):
        self.cluster.api.create(self.kind.collection(self.namespace),
                                self.kind.attributes(row, self.namespace, value)).must()

    def resources(self, **values):
        return [resource(self.kind.attributes(row, self.namespace, value)) for row, value in values.items()]

    def bring_about(self):
        """The first five rows get into State; then the world changes while nobody looks."""
        first = self.resources(update="1", same="1", lost="1", left="1", gone="1")
        self.spec.apply(first).wait("True")
        self.spec.apply(first, suspend=True)
        eventually(lambda: self.spec.get()["status"]["observedGeneration"] == self.spec.generation)
        for row in "lost", "gone":
            self.cluster.api.delete(self.path(row)).must()
        for row in "found", STRANGER:
            self.create(row, "1")

    def wanted(self):
        return self.resources(update="2", same="1", lost="1", found="2", new="1")

    def by_row(self, results):
        """Results, by the rows' names."""
        rows = {self.name(row): row for row in [*ACTIONS, STRANGER]}
        return {rows[one["id"].rpartition(":")[2]]: one for one in results}

    def clean(self):
        self.spec.delete()
        for row in [*ACTIONS, STRANGER]:
            self.cluster.api.delete(self.path(row))


@pytest.fixture(params=[ConfigMap, Widget, ClusterRole], ids=["built-in", "custom", "cluster-scoped"])
def table(request, controlled, tenant, widgets):
    made = Table(controlled, tenant, request.param)
    made.bring_about()
    yield made
    made.clean()


def test_the_three_way_table(table):
    before = {row: table.live(row) for row in [*ACTIONS, STRANGER]}
    assert [row for row in before if not before[row]] == ["lost", "gone", "new"]

    table.spec.apply(table.wanted(), suspend=True)
    shown = preview(table.cluster, table.namespace, "spec", "look")["status"]
    planned = table.by_row(shown["results"])
    assert {row: one["action"] for row, one in planned.items()} == ACTIONS
    change = {"path": table.kind.field, "from": '"1"', "to": '"2"'}
    assert planned["update"]["fields"] == [change]
    assert change in planned["found"]["fields"]
    assert "outcome" not in planned["update"]
    assert {row: table.live(row) for row in before} == before  # a Preview changes nothing

    table.spec.apply(table.wanted()).wait("True")
    release = table.spec.releases()[-1]["status"]
    done = table.by_row(release["results"])
    assert {row: one["action"] for row, one in done.items()} == ACTIONS
    assert {one["outcome"] for one in done.values()} == {"succeeded"}
    assert done["update"]["fields"] == [change] and done["found"]["fields"] == planned["found"]["fields"]
    assert done["gone"]["message"] == "it is gone already"
    assert release["summary"].startswith("2 created, 1 adopted, 1 configured, 1 deleted, 1 already ")

    after = {row: table.live(row) for row in before}
    values = {row: table.kind.value(one) for row, one in after.items() if one}
    assert values == {"update": "2", "same": "1", "lost": "1", "found": "2", "new": "1", STRANGER: "1"}
    for row in "same", STRANGER:
        assert after[row] == before[row], "not written to"
    for row in "update", "found":
        assert after[row]["metadata"]["uid"] == before[row]["metadata"]["uid"], "in place"
