"""What tests of GitOps tools have in common: Specs as Git has them, and what holds up what they make."""

from kusion_e2e.specs import Spec
from kusion_e2e.wait import eventually


def written(namespace, *resources, name="spec", annotations=None, **fields):
    """A Spec as Git has it."""
    metadata = {"name": name, "namespace": namespace, **({"annotations": annotations} if annotations else {})}
    return {"apiVersion": "api.kusion.io/v1", "kind": "Spec", "metadata": metadata,
            "spec": {"resources": list(resources), **fields}}


def spec_of(cluster, namespace, name="spec"):
    """What the tool wrote, for tests to ask."""
    spec = Spec(cluster, namespace, name)
    spec.generation = eventually(spec.get)["metadata"]["generation"]
    return spec


def object_of(cluster, namespace, name):
    return cluster.api.get(f"/api/v1/namespaces/{namespace}/configmaps/{name}")


def hold(cluster, namespace, name):
    """A finalizer keeps the ConfigMap, and so its Spec."""
    cluster.api.patch(f"/api/v1/namespaces/{namespace}/configmaps/{name}",
                      {"metadata": {"finalizers": ["test.example/hold"]}}).must()


def free(cluster, namespace, name):
    cluster.api.patch(f"/api/v1/namespaces/{namespace}/configmaps/{name}", {"metadata": {"finalizers": None}}).must()


def release(cluster, namespace):
    """All Pods get ready."""
    path = f"/api/v1/namespaces/{namespace}/pods"
    for pod in eventually(lambda: cluster.api.get(path).must().object["items"]):
        cluster.api.patch(f"{path}/{pod['metadata']['name']}", {"metadata": {"labels": {"kwok-hold": None}}}).must()


# One that no retry gets ready: it depends on what is not there.
BROKEN = {"id": "v1:ConfigMap:a:b", "type": "Kubernetes", "dependsOn": ["v1:ConfigMap:no:such"],
          "attributes": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "a"}}}
