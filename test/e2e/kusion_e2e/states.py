"""What the controller keeps of the Specs of one namespace: State's heads and chunks."""

from kusion_e2e.controller import STATE

NAMESPACE = "api.kusion.io/spec-namespace"


def spec_namespace(kept):
    return kept["metadata"].get("annotations", {}).get(NAMESPACE)


def states(cluster, namespace):
    path = f"/api/v1/namespaces/{STATE}/configmaps?labelSelector=api.kusion.io/state"
    found = cluster.api.get(path).must().object["items"]
    return [one for one in found if spec_namespace(one) == namespace]
