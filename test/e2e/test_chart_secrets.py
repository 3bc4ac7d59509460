"""The chart's secretsPolicy, which refuses Specs with values of Secrets, and its secretStores."""

import base64
import json

import pytest
import yaml

from kusion_e2e.chart import OWN, RELEASE
from kusion_e2e.kinds import create, new_release
from kusion_e2e.paths import CHART
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.wait import eventually

REFUSED = "has values in clear"


def template(cluster, *values):
    made = cluster.helm("template", RELEASE, CHART, "-n", OWN, *(f"--set={one}" for one in values)).stdout
    return [one for one in yaml.safe_load_all(made) if one]


def b64(text):
    return base64.b64encode(text.encode()).decode()


def secret(**fields):
    return resource({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "x"}, **fields})


class Tried:
    def __init__(self, cluster, namespace):
        self.cluster, self.namespace = cluster, namespace
        self.path = f"/apis/api.kusion.io/v1/namespaces/{namespace}/specs"

    def spec(self, *resources, name="tried", query="?dryRun=All"):
        """What is wrong with it; empty: it was taken."""
        body = {"apiVersion": "api.kusion.io/v1", "kind": "Spec", "metadata": {"name": name},
                "spec": {"resources": list(resources), "suspend": True,
                         "secretStore": {"provider": {"vault": {"server": "https://v"}}, "auth": {"role": "a"}}}}
        answer = self.cluster.api.create(f"{self.path}{query}", body)
        return "" if answer.ok else answer.text


@pytest.fixture
def tried(controlled, tenant):
    tried = Tried(controlled, tenant)
    assert not tried.spec(secret(data={"a": b64("b")}), name="before", query="")
    made = controlled.helm("template", RELEASE, CHART, "-n", OWN, "--set=secretsPolicy.enabled=true",
                           f"--set=controller.watchNamespace={tenant},fullnameOverride=kusion",
                           "--show-only=templates/secretspolicy.yaml").stdout
    controlled.kubectl("apply", "--server-side", "-f", "-", input=made)
    eventually(lambda: REFUSED in tried.spec(secret(data={"a": b64("b")})))
    yield tried
    controlled.kubectl("delete", "-f", "-", input=made)


def test_values_of_secrets_are_refused(tried):
    for fields in ({"data": {"a": b64("b")}}, {"stringData": {"a": "b"}},
                   {"data": {"a": "ref://a/b"}, "stringData": {"x": "ref://a/b", "y": "z"}},
                   {"stringData": {"a": "x ref://a/b"}}, {"data": "b"}, {"data": ["b"]}, {"stringData": {"a": 1}}):
        assert REFUSED in tried.spec(config_map("c", "x"), secret(**fields)), fields
    for fields in ({}, {"data": {}}, {"data": None}, {"data": {"a": ""}}, {"data": {"a": "ref://a/b"}},
                   {"data": {"a": b64("ref://a/b")}}, {"stringData": {"a": "ref://a/b?version=1"}},
                   {"stringData": {"a": "$kusion_path.v1:ConfigMap:x:c.data.a"}}):
        assert not tried.spec(config_map("c", "x"), secret(**fields)), fields
    other = resource({"apiVersion": "example.com/v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "b"}})
    assert not tried.spec(other, config_map("c", "x"))
    assert not tried.spec({"id": "hashicorp:random:random_id:a", "type": "Terraform", "attributes": {"byte_length": 3}})


def test_many_resources_are_looked_at(tried):
    many = [config_map(f"c{i}", "x") for i in range(2000)]
    assert not tried.spec(*many)
    assert REFUSED in tried.spec(*many, secret(data={"a": b64("b")}))


def test_previews_with_resources_are_refused(tried):
    answer = create(tried.cluster, tried.namespace, new_release(
        "p", operation="Preview", specRef={"name": "tried"}, resources=[secret(stringData={"a": "b"})]))
    assert not answer.ok and REFUSED in answer.text
    create(tried.cluster, tried.namespace, new_release(
        "p", operation="Preview", specRef={"name": "before"}, resources=[secret(stringData={"a": "ref://a/b"})])).must()


def test_a_spec_from_before_may_stay_and_go(tried):
    spec = Spec(tried.cluster, tried.namespace, "before")
    api = tried.cluster.api
    api.patch(spec.path, {"metadata": {"labels": {"a": "b"}}}).must()
    answer = api.patch(spec.path, {"spec": {"suspend": False}})
    assert not answer.ok and REFUSED in answer.text
    api.delete(spec.path).must()
    eventually(lambda: api.get(spec.path).code == 404)


def rules_of(objects, kind="ClusterRole"):
    return [rule for one in objects if one["kind"] == kind and "kusion-operator" in one["metadata"]["name"]
            and not one["metadata"]["name"].endswith(("-edit", "-view")) for rule in one["rules"]]


def test_tokens_may_be_made_where_there_is_a_store(cluster):
    tokens = {"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"]}
    assert tokens not in rules_of(template(cluster))
    with_hosts = template(cluster, "secretStores.hosts[0]=vault.example.com:8200", "secretStores.caBundle=PEM")
    assert tokens in rules_of(with_hosts)
    [deployment] = [one for one in with_hosts if one["kind"] == "Deployment"]
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    assert "--secret-store-host=vault.example.com:8200" in container["args"]
    assert "--secret-store-ca-file=/secret-stores/ca.pem" in container["args"]
    narrow = template(cluster, "secretStores.hosts[0]=v.example", "controller.watchNamespace=team-a")
    assert tokens not in rules_of(narrow) and tokens in rules_of(narrow, "Role")


def test_viewers(cluster):
    def of_view(*values):
        [role] = [one for one in template(cluster, *values) if one["kind"] == "ClusterRole"
                  and one["metadata"]["name"].endswith("-view")]
        return json.dumps(role["rules"])

    assert "specs" not in of_view()
    assert "specs" in of_view("secretsPolicy.enabled=true", "userRoles.viewersReadSpecs=true")
