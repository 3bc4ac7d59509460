"""What the controller keeps of the Specs of one namespace: State's heads and chunks."""

import base64
import gzip
import json

from kusion_e2e import state_backend
from kusion_e2e.controller import PROGRAM, STATE

GZIP = b"\x1f\x8b"
NAMESPACE = "api.kusion.io/spec-namespace"


def spec_namespace(kept):
    return kept["metadata"].get("annotations", {}).get(NAMESPACE)


def states(cluster, namespace):
    """Their heads; lines of `state list`, where they are on a server."""
    if state_backend.KIND:
        lines = state_backend.listed(PROGRAM, cluster, STATE)
        return [line for line in lines if line.startswith(f"{namespace}/")]
    path = (f"/api/v1/namespaces/{STATE}/configmaps?labelSelector="
            "api.kusion.io/state,api.kusion.io/document!=spec,api.kusion.io/document!=store")
    found = cluster.api.get(path).must().object["items"]
    return [one for one in found if spec_namespace(one) == namespace]


def remove_states(cluster, namespace):
    """What is left of the Specs of a namespace. On a server it stays: nobody else has the place."""
    for head in [] if state_backend.KIND else states(cluster, namespace):
        cluster.api.delete(f"/api/v1/namespaces/{STATE}/configmaps/{head['metadata']['name']}")


def forget_store(cluster):
    """The next operator of the shared namespace has its first start, whatever store the last one had."""
    cluster.kubectl("delete", "configmap", "-n", STATE, "kusion-store", "--ignore-not-found")
    cluster.kubectl("delete", "configmap", "-n", STATE, "-l", "api.kusion.io/document=store")
    state_backend.forget(cluster, STATE)


def open_state(head):
    """A small State, of its head. None: another document; a State in chunks; or one that is about to be
    written first, or is being removed."""
    state_backend.need_objects()
    state = head.get("binaryData", {}).get("state")
    if head["metadata"].get("labels", {}).get("api.kusion.io/document") == "store":
        return None
    return json.loads(gzip.decompress(base64.b64decode(state))) if state else None


def state_of(cluster, namespace, name):
    """The State of a Spec. None: there is none, or one that open_state() does not open."""
    if state_backend.KIND:
        return state_backend.shown(PROGRAM, cluster, STATE, f"{namespace}/{name}")
    opened = (open_state(head) for head in states(cluster, namespace))
    return next((state for state in opened if state and state["spec"]["name"] == name), None)


def stored_releases(cluster, namespace, name):
    """The Releases of a Spec that are on a server, oldest first."""
    if not state_backend.KIND:
        return []
    if not hasattr(cluster, "kubeconfig"):  # a tenant sees none of them
        state_backend.need_objects()
    return state_backend.releases(PROGRAM, cluster, STATE, f"{namespace}/{name}")


def recorded(cluster, namespace):
    """The Specs that are kept for rollbacks."""
    state_backend.need_objects()
    path = f"/api/v1/namespaces/{STATE}/configmaps?labelSelector=api.kusion.io/document=spec"
    found = cluster.api.get(path).must().object["items"]
    return [one for one in found if spec_namespace(one) == namespace]


def open_text(cluster, spec):
    """All that may be read by those who may not read Secrets: Releases, the Spec's status, its
    events, and what the controller keeps of State."""
    if state_backend.KIND:
        return json.dumps([spec.releases(), spec.get()["status"], spec.events(), state_backend.content(cluster, STATE)])
    kept = cluster.api.get(f"/api/v1/namespaces/{STATE}/configmaps").must().object["items"]
    parts = [base64.b64decode(part) for one in kept for part in one.get("binaryData", {}).values()]
    texts = [(gzip.decompress(part) if part.startswith(GZIP) else part).decode(errors="replace")
             for part in parts]
    return json.dumps([spec.releases(), spec.get()["status"], spec.events(), texts, kept])
