"""The objects of a life: what its Spec has in its two generations, and what else there is."""

from kusion_faults import paths  # noqa: F401
from kusion_e2e.specs import config_map, resource

CORE, APPS = "/api/v1", "/apis/apps/v1"
RBAC, NETWORK = "/apis/rbac.authorization.k8s.io/v1", "/apis/networking.k8s.io/v1"
WIDGETS = "/apis/faults.kusion.io/v1"

COLLECTIONS = {
    "ConfigMap": (CORE, "configmaps"), "Secret": (CORE, "secrets"), "Service": (CORE, "services"),
    "ServiceAccount": (CORE, "serviceaccounts"), "Deployment": (APPS, "deployments"),
    "Role": (RBAC, "roles"), "RoleBinding": (RBAC, "rolebindings"),
    "NetworkPolicy": (NETWORK, "networkpolicies"), "Widget": (WIDGETS, "widgets"),
    "ClusterRole": (RBAC, "clusterroles"),
}


class World:
    """Of one life: all names end with its mark, which no other life has."""

    def __init__(self, tenant, mark):
        self.tenant, self.mark = tenant, mark

    def name(self, short):
        return f"{short}-{self.mark}"

    def config(self, short, value, **more):
        return config_map(self.name(short), self.tenant, {"value": value}, **more)

    def other(self, version, kind, short, depends_on=(), cluster=False, **fields):
        metadata = {"name": self.name(short)}
        if not cluster:
            metadata["namespace"] = self.tenant
        return resource({"apiVersion": version, "kind": kind, "metadata": metadata, **fields},
                        depends_on)

    def id(self, short):
        return f"v1:ConfigMap:{self.tenant}:{self.name(short)}"

    def deployment(self):
        labels = {"app": self.name("deployment")}
        template = {"metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "c", "image": "none"}]}}
        return self.other("apps/v1", "Deployment", "deployment",
                          spec={"replicas": 0, "selector": {"matchLabels": labels},
                                "template": template})

    def stays(self):
        """What both generations have."""
        rbac = "rbac.authorization.k8s.io"
        service = f"v1:Service:{self.tenant}:{self.name('service')}"
        return [
            self.other("v1", "Service", "service", spec={"ports": [{"port": 80}]}),
            self.config("address", f"$kusion_path.{service}.spec.clusterIP"),
            self.other("v1", "ServiceAccount", "account"),
            self.other(f"{rbac}/v1", "Role", "role", rules=[]),
            self.other(f"{rbac}/v1", "ClusterRole", "cluster-role", cluster=True, rules=[]),
            self.deployment(),
            self.other("faults.kusion.io/v1", "Widget", "widget", spec={"size": 1}),
            self.config("adopted", "ours"),
        ]

    def first(self):
        return [
            *self.stays(),
            self.config("changed", "1"),
            self.config("pruned", "1", depends_on=[self.id("changed")]),
            self.other("v1", "Secret", "secret", stringData={"password": "1"}),
            self.other("networking.k8s.io/v1", "NetworkPolicy", "policy-pruned",
                       spec={"podSelector": {}}),
        ]

    def second(self):
        return [
            *self.stays(),
            self.config("changed", "2"),
            self.config("new", "2", depends_on=[self.id("changed")]),
            self.other("v1", "Secret", "secret", stringData={"password": "2"}),
            self.config("adopted-later", "ours"),
        ]

    def adopted(self):
        """The names of the objects that are there before, and are adopted."""
        return [self.name("adopted"), self.name("adopted-later")]

    def foreign(self):
        """One that is no business of the Spec."""
        return self.name("foreign")

    def prepare(self, api):
        for name in [*self.adopted(), self.foreign()]:
            body = {"metadata": {"name": name}, "data": {"value": "of others"}}
            api.create(f"{CORE}/namespaces/{self.tenant}/configmaps", body).must()

    def clean(self, api):
        """Takes away what is left, of others and of ours."""
        for kind, name in self.objects(api):
            api.delete(self.path(kind, name))

    def path(self, kind, name=None):
        group, plural = COLLECTIONS[kind]
        where = "" if kind == "ClusterRole" else f"/namespaces/{self.tenant}"
        return f"{group}{where}/{plural}" + (f"/{name}" if name else "")

    def objects(self, api):
        """All that there are of this life, by kind and name."""
        found = {}
        for kind in COLLECTIONS:
            for one in api.get(self.path(kind)).must().object["items"]:
                if one["metadata"]["name"].endswith(f"-{self.mark}"):
                    found[kind, one["metadata"]["name"]] = one
        return found


def wanted(resources):
    """The objects of a Spec, by kind and name."""
    attributes = [one["attributes"] for one in resources]
    return {(one["kind"], one["metadata"]["name"]): one for one in attributes}
