"""Lists merge as the API server merges them: what others have in a list stays, and the order of the
Spec's own items counts where the API server says so."""

import pytest

from kusion_e2e.releases import preview
from kusion_e2e.specs import Spec, resource

OTHER = "fieldManager=injector&force=true"
APPLY = "application/apply-patch+yaml"


def deployment(namespace, image="i:1", env=("A", "B"), more=()):
    """Of no Pods, so that it is healthy at once."""
    container = {"name": "app", "image": image,
                 "env": [{"name": name, "value": name.lower()} for name in env]}
    return {"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": namespace},
            "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "web"}},
                     "template": {"metadata": {"labels": {"app": "web"}},
                                  "spec": {"containers": [container, *more]}}}}


def service(namespace, *ports):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": namespace},
            "spec": {"type": "NodePort", "selector": {"app": "web"}, "ports": list(ports)}}


class Thing:
    """One object, the Spec that has it, and others who write to it."""

    def __init__(self, cluster, namespace, path):
        self.cluster, self.namespace, self.path = cluster, namespace, path
        self.spec = Spec(cluster, namespace)
        self.looks = 0

    def apply(self, attributes):
        self.spec.apply([resource(attributes)]).wait("True")

    def get(self):
        return self.cluster.api.get(self.path).must().object

    def containers(self):
        return {one["name"]: one for one in self.get()["spec"]["template"]["spec"]["containers"]}

    def inject(self, spec):
        """Another field manager applies these fields."""
        body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
        self.cluster.api.request("PATCH", f"{self.path}?{OTHER}", body, APPLY).must()

    def inject_container(self, **fields):
        self.inject({"template": {"spec": {"containers": [fields]}}})

    def changes(self, attributes):
        """What a Preview shows of it: its action, and {path: (from, to)}."""
        self.looks += 1
        shown = preview(self.cluster, self.namespace, "spec", f"look-{self.looks}",
                        resources=[resource(attributes)])
        [result] = shown["status"]["results"]
        fields = {one["path"]: (one.get("from"), one.get("to")) for one in result.get("fields", [])}
        return result["action"], fields


@pytest.fixture
def web(controlled, tenant):
    made = Thing(controlled, tenant, f"/apis/apps/v1/namespaces/{tenant}/deployments/web")
    made.apply(deployment(tenant))
    yield made
    made.spec.delete()


IMAGE = "spec.template.spec.containers[0].image"
SIDECAR = {"name": "sidecar", "image": "mesh:1"}


def test_an_injected_sidecar_survives(web):
    web.inject_container(**SIDECAR)
    changed = deployment(web.namespace, image="i:2")
    assert web.changes(changed) == ("update", {IMAGE: ('"i:1"', '"i:2"')})
    web.apply(changed)
    found = web.containers()
    assert (found["app"]["image"], found["sidecar"]["image"]) == ("i:2", "mesh:1")
    assert web.changes(changed) == ("unchanged", {})


def test_an_injected_variable_survives_and_order_counts(web):
    web.inject_container(name="app", env=[{"name": "INJECTED", "value": "x"}])
    turned = deployment(web.namespace, env=("B", "A"))
    action, fields = web.changes(turned)
    assert action == "update" and fields
    assert all(path.startswith("spec.template.spec.containers[0].env[") for path in fields), fields
    web.apply(turned)
    names = [one["name"] for one in web.containers()["app"]["env"]]
    assert [name for name in names if name != "INJECTED"] == ["B", "A"] and "INJECTED" in names
    assert web.changes(turned) == ("unchanged", {})


def test_a_container_beside_an_injected_one(web):
    web.inject_container(**SIDECAR)
    both = deployment(web.namespace, more=[{"name": "extra", "image": "e:1"}])
    assert web.changes(both)[0] == "update"
    web.apply(both)
    assert set(web.containers()) == {"app", "extra", "sidecar"}
    web.apply(deployment(web.namespace))
    assert set(web.containers()) == {"app", "sidecar"}


def test_a_preview_leaves_the_injected_one_out(web):
    web.inject_container(**SIDECAR)
    both = deployment(web.namespace, more=[{"name": "extra", "image": "e:1"}])
    shown = str(web.changes(both))
    assert "extra" in shown and "sidecar" not in shown and "mesh" not in shown


def test_an_allocated_node_port_survives(controlled, tenant):
    http, https = {"name": "http", "port": 80}, {"name": "https", "port": 443}
    web = Thing(controlled, tenant, f"/api/v1/namespaces/{tenant}/services/web")
    web.apply(service(tenant, http))
    first = web.get()["spec"]
    changed = service(tenant, {**http, "targetPort": 8080})
    assert web.changes(changed) == ("update", {"spec.ports[0].targetPort": ("80", "8080")})
    web.apply(changed)
    web.apply(service(tenant, https, {**http, "targetPort": 8080}))
    now = web.get()["spec"]
    ports = {one["name"]: one for one in now["ports"]}
    assert ports["http"]["nodePort"] == first["ports"][0]["nodePort"]
    assert ports["https"]["nodePort"] not in (None, ports["http"]["nodePort"])
    assert now["clusterIP"] == first["clusterIP"]
    assert web.changes(service(tenant, https, {**http, "targetPort": 8080})) == ("unchanged", {})
    web.spec.delete()
