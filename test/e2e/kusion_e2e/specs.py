"""Specs, made in a few words, and what is asked of them."""

import json

from kusion_e2e.states import state_of, stored_releases
from kusion_e2e.wait import PATIENCE, eventually


def resource(attributes, depends_on=(), id=None):
    metadata = attributes["metadata"]
    parts = [attributes["apiVersion"], attributes["kind"], metadata.get("namespace"), metadata["name"]]
    made = {"id": id or ":".join(part for part in parts if part), "type": "Kubernetes",
            "attributes": attributes}
    if depends_on:
        made["dependsOn"] = list(depends_on)
    return made


def config_map(name, namespace, data=None, **more):
    attributes = {"apiVersion": "v1", "kind": "ConfigMap",
                  "metadata": {"name": name, "namespace": namespace}, "data": data or {"a": "b"}}
    return resource(attributes, **more)


def held(namespace, name="held"):
    """A Deployment whose Pod is not ready until its label kwok-hold is taken off."""
    labels = {"app": name}
    pod = {"metadata": {"labels": {**labels, "kwok-hold": "true"}},
           "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return resource({"apiVersion": "apps/v1", "kind": "Deployment",
                     "metadata": {"name": name, "namespace": namespace},
                     "spec": {"selector": {"matchLabels": labels}, "template": pod}})


class Spec:
    """A Spec on a cluster."""

    def __init__(self, cluster, namespace, name="spec"):
        self.cluster, self.namespace, self.name = cluster, namespace, name
        self.path = f"/apis/api.kusion.io/v1/namespaces/{namespace}/specs/{name}"

    def apply(self, resources, **fields):
        body = {"apiVersion": "api.kusion.io/v1", "kind": "Spec",
                "metadata": {"name": self.name, "namespace": self.namespace},
                "spec": {"resources": resources, **fields}}
        answer = self.cluster.api.apply(self.path, json.dumps(body)).must()
        self.generation = answer.object["metadata"]["generation"]
        return self

    def get(self):
        answer = self.cluster.api.get(self.path)
        return answer.object if answer.ok else None

    def condition(self, type="Ready"):
        """Of this generation; None where it is not there yet."""
        for condition in (self.get() or {}).get("status", {}).get("conditions", []):
            if condition["type"] == type and condition.get("observedGeneration") == self.generation:
                return condition
        return None

    def wait(self, status, seconds=PATIENCE):
        """Until Ready has this status and nothing goes on. Gives the condition."""

        def settled():
            ready = self.condition()
            assert ready and ready["status"] == status and ready["reason"] != "Progressing", ready
            return ready

        return eventually(settled, seconds)

    def releases(self):
        path = (f"/apis/api.kusion.io/v1/namespaces/{self.namespace}/releases"
                f"?fieldSelector=spec.specRef.name={self.name}")
        found = self.cluster.api.get(path).must().object["items"]
        found += stored_releases(self.cluster, self.namespace, self.name)
        return sorted(found, key=lambda one: one.get("status", {}).get("revision", 0))

    def state(self):
        """Of a small State, by id: the uid that it recorded, None for a mere intent. None, too,
        where there is no State."""
        state = state_of(self.cluster, self.namespace, self.name)
        return state and {one["id"]: one["record"].get("uid") if one["record"]["status"] == "applied" else None
                          for one in state["resources"]}

    def delete(self, seconds=150):
        self.cluster.api.delete(self.path).must()
        eventually(lambda: self.cluster.api.get(self.path).code == 404, seconds)

    def events(self):
        path = (f"/api/v1/namespaces/{self.namespace}/events?fieldSelector="
                f"involvedObject.kind=Spec,involvedObject.name={self.name}")
        return self.cluster.api.get(path).must().object["items"]

    def wait_event(self, reason, text="", type=None):
        """Until there is one that says so. Events are posted beside the work: one may come after
        the condition that says the same."""

        def said():
            return any(event["reason"] == reason and text in event["message"]
                       and type in (None, event["type"]) for event in self.events())

        eventually(said)
