"""The namespaces in which lives take place, one after another."""

import json

from kusion_faults import paths  # noqa: F401
from kusion_e2e.api import Api
from kusion_e2e.rights import account, wait_until_may
from kusion_e2e.states import open_state
from kusion_e2e.wait import eventually

WIDGETS = "widgets.faults.kusion.io"


def install_widgets(cluster):
    """A kind of the sweep's own."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
           "metadata": {"name": WIDGETS},
           "spec": {"group": "faults.kusion.io", "scope": "Namespaced", "versions": [version],
                    "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"}}}
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{WIDGETS}"
    cluster.api.apply(path, json.dumps(crd)).must()
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", WIDGETS)
    eventually(lambda: cluster.api.get("/apis/faults.kusion.io/v1/widgets?limit=1").must(), 60)


class Room:
    """A namespace for Specs, whose default ServiceAccount may do everything, and one for State. It
    has a connection of its own: one thread uses a room at a time."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.api = Api(cluster.kubeconfig)
        self.tenant = cluster.new_namespace("tenant")
        self.state = cluster.new_namespace("state")
        binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                   "metadata": {"name": self.tenant},
                   "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                               "name": "cluster-admin"},
                   "subjects": [{"kind": "ServiceAccount", "name": "default",
                                 "namespace": self.tenant}]}
        self.api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding).must()
        wait_until_may(self, account(self.tenant), "*", "*", group="*")

    def kept(self):
        """The names of what the operator keeps beside the Lease: State, plans, outcome documents."""
        names = []
        for kind in ("configmaps", "secrets"):
            found = self.api.get(f"/api/v1/namespaces/{self.state}/{kind}").must().object["items"]
            names += [f"{kind}/{one['metadata']['name']}" for one in found
                      if not one["metadata"]["name"].startswith("kusion-store")]  # the store's identity
        return sorted(set(names) - {"configmaps/kube-root-ca.crt", "secrets/kusion-operator-plan-key"})

    def known(self, spec):
        """The names of the objects in a Spec's State, if it is small."""
        for head in self.api.get(f"/api/v1/namespaces/{self.state}/configmaps").must().object["items"]:
            state = open_state(head)
            if state and state["spec"]["name"] == spec.name:
                return {one["id"].rpartition(":")[2] for one in state["resources"]}
        return set()

    def is_clean(self):
        """Whether another life or scenario may take place here. Releases stay, as does the operator's
        own key; all that scenarios make has fixed names, so it must be gone."""
        specs = f"/apis/api.kusion.io/v1/namespaces/{self.tenant}/specs"
        objects = f"/api/v1/namespaces/{self.tenant}/configmaps"
        names = {one["metadata"]["name"] for one in self.api.get(objects).must().object["items"]}
        return (not self.kept() and not self.api.get(specs).must().object["items"]
                and names <= {"kube-root-ca.crt"})

    def remove(self):
        specs = f"/apis/api.kusion.io/v1/namespaces/{self.tenant}/specs"
        for one in self.api.get(specs).must().object["items"]:  # nobody is left to take it off
            self.api.patch(f"{specs}/{one['metadata']['name']}", {"metadata": {"finalizers": None}})
        self.api.delete(f"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{self.tenant}")
        for name in (self.tenant, self.state):
            self.api.delete(f"/api/v1/namespaces/{name}")
        self.api.close()
