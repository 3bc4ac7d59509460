"""Our kinds, as tests make them."""

import json

import yaml

from kusion_e2e.paths import CRDS, OBJECTS

GROUP = "/apis/api.kusion.io/v1"
ABSENT = object()  # a field that is left out, where there is one by default


def path_of(kind, namespace, name="", subresource=""):
    plural = {"Spec": "specs", "Release": "releases"}[kind]
    parts = [GROUP, "namespaces", namespace, plural, name, subresource]
    return "/".join(part for part in parts if part)


def crd_of(kind):
    text = (CRDS / f"api.kusion.io_{kind.lower()}s.yaml").read_text()
    return yaml.safe_load(text)


def schema_of(kind):
    return crd_of(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def every_field(kind):
    return yaml.safe_load((OBJECTS / f"{kind.lower()}-every-field.yaml").read_text())


def new_spec(name="a", **fields):
    fields = fields or {"resources": []}
    return {
        "apiVersion": "api.kusion.io/v1",
        "kind": "Spec",
        "metadata": {"name": name},
        "spec": fields,
    }


def new_release(name="a", **fields):
    spec = {"specRef": {"name": "guestbook"}, "operation": "Apply"}
    spec.update(fields)
    spec = {key: value for key, value in spec.items() if value is not ABSENT}
    return {
        "apiVersion": "api.kusion.io/v1",
        "kind": "Release",
        "metadata": {"name": name},
        "spec": spec,
    }


def create(cluster, namespace, body, options=""):
    """Creates it; a field that the schema does not know is an error."""
    path = path_of(body["kind"], namespace)
    return cluster.api.create(f"{path}?fieldValidation=Strict{options}", body)


def large(count, size):
    """A Spec of so many resources and of almost so many bytes, each depending on the one before."""
    resources = []
    for i in range(count):
        entry = {
            "id": f"v1:ConfigMap:demo:n{i}",
            "type": "Kubernetes",
            "attributes": {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": f"n{i}", "namespace": "demo"},
                "data": {"k": ""},
            },
        }
        if i:
            entry["dependsOn"] = [f"v1:ConfigMap:demo:n{i - 1}"]
        resources.append(entry)
    body = new_spec("large", resources=resources)
    room = size - len(json.dumps(body, separators=(",", ":")))
    assert room >= 0
    resources[0]["attributes"]["data"]["k"] = "x" * room
    return body
