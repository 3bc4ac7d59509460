"""docs/migration.md and the preview of docs/pipelines.md that uses kubectl kusion convert: their commands, as
they stand there; and what kubectl makes of a YAML that it reads and writes."""

import json

import pytest
import yaml

from kusion_e2e.paths import ROOT
from kusion_e2e.pages import snippets
from kusion_e2e.shell import type_in
from kusion_e2e.specs import Spec

MANIFESTS, HELM, KUSTOMIZE, KUSION, LIVE, APPLY = snippets("migration.md", __file__)
[PREVIEW] = snippets("pipelines.md", __file__)
CHART = {
    "Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\n",
    "crds/crd.yaml": """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: webs.migration.example.com}
spec:
  group: migration.example.com
  names: {kind: Web, plural: webs}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
""",
    "templates/all.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata: {name: from-chart}
data: {port: "8080", mode: "0644", "on": "yes"}
---
apiVersion: migration.example.com/v1
kind: Web
metadata: {name: from-chart}
""",
    "templates/tests/test.yaml": """\
apiVersion: v1
kind: Pod
metadata: {name: test, annotations: {helm.sh/hook: test}}
spec: {containers: [{name: a, image: a}]}
""",
}
CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME, labels: {app: web}}
data:
  script.sh: |
    #!/bin/sh
    echo "$1"
"""


class Desk:
    """A directory in which a person works, with the operator's checkout beside it."""

    def __init__(self, cluster, namespace, directory):
        self.cluster, self.namespace, self.directory = cluster, namespace, directory
        self.spec = Spec(cluster, namespace, "web")

    def write(self, files):
        for name, text in files.items():
            path = self.directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def run(self, text):
        text = "set -e -o pipefail\n" + text.replace("team-a", self.namespace).replace(
            "--service-account deployer", "--service-account default")
        return type_in(self.cluster, text, self.directory)

    def must(self, text):
        result = self.run(text)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    def ids(self):
        spec = yaml.safe_load((self.directory / "spec.yaml").read_text())
        assert spec["metadata"] == {"name": "web", "namespace": self.namespace}
        return [one["id"] for one in spec["spec"]["resources"]]

    def apply(self):
        """The last snippet. Gives the summary of the plan."""
        plan = self.must(APPLY).splitlines()[-2]
        self.spec.generation = self.spec.get()["metadata"]["generation"]
        self.spec.wait("True")
        return plan


@pytest.fixture
def desk(controlled, tenant, tmp_path):
    yield Desk(controlled, tenant, tmp_path)
    controlled.kubectl("delete", "spec", "web", "-n", tenant, "--ignore-not-found")


def config_map(name):
    return CONFIG_MAP.replace("NAME", name)


def data_of(desk, name):
    return desk.cluster.get_json("configmap", name, "-n", desk.namespace)["data"]


def test_manifests(desk):
    desk.write({"manifests/a.yaml": config_map("a"), "manifests/b.yaml": config_map("b")})
    desk.must(MANIFESTS)
    assert desk.ids() == [f"v1:ConfigMap:{desk.namespace}:{name}" for name in "ab"]
    assert desk.apply() == "2 to create"
    assert data_of(desk, "a") == {"script.sh": '#!/bin/sh\necho "$1"\n'}


def test_helm(desk):
    desk.write({f"chart/{name}": text for name, text in CHART.items()})
    desk.must(HELM)
    assert sorted(desk.ids()) == sorted([
        "apiextensions.k8s.io/v1:CustomResourceDefinition:webs.migration.example.com",
        f"v1:ConfigMap:{desk.namespace}:from-chart",
        f"migration.example.com/v1:Web:{desk.namespace}:from-chart"])
    assert "to create" in desk.apply()
    assert data_of(desk, "from-chart") == {"port": "8080", "mode": "0644", "on": "yes"}


def test_kustomize(desk):
    desk.write({"base/a.yaml": config_map("a"), "base/kustomization.yaml": "resources: [a.yaml]\n",
                "overlays/prod/kustomization.yaml": "resources: [../../base]\nnamePrefix: prod-\n"})
    desk.must(KUSTOMIZE)
    assert desk.ids() == [f"v1:ConfigMap:{desk.namespace}:prod-a"]
    assert desk.apply() == "1 to create"


def test_kusion(desk):
    thing = {**yaml.safe_load(config_map("a"))}
    thing["metadata"] = {"name": "a", "namespace": desk.namespace, "creationTimestamp": None}
    id = f"v1:ConfigMap:{desk.namespace}:a"
    desk.write({"generated.yaml": yaml.safe_dump({
        "resources": [{"id": id, "type": "Kubernetes", "attributes": thing,
                       "extensions": {"GVK": "/v1, Kind=ConfigMap"}}],
        "secretStore": None, "context": {}})})
    desk.must(KUSION)
    assert desk.ids() == [id] and desk.apply() == "1 to create"


def test_objects_of_the_cluster(desk):
    desk.cluster.apply(config_map("a"), desk.namespace)
    desk.must(LIVE)
    assert desk.ids() == [f"v1:ConfigMap:{desk.namespace}:a"]
    assert desk.apply() == "1 to adopt"


def test_preview_of_a_change_in_a_pipeline(desk):
    desk.write({"manifests/a.yaml": config_map("a")})
    desk.must(MANIFESTS)
    desk.apply()
    changed = (desk.directory / "spec.yaml").read_text().replace('echo "$1"', 'echo "$2"')
    desk.write({"spec.yaml": changed})
    stdout = desk.must(PREVIEW)
    id = f"v1:ConfigMap:{desk.namespace}:a"
    assert f"update {id}\n    data[script.sh]: " in stdout and "\n1 to update\n" in stdout, stdout
    assert '$1' in data_of(desk, "a")["script.sh"]
    desk.write({"spec.yaml": changed.replace(f"id: {id}", "id: wrong")})
    result = desk.run(PREVIEW)
    assert result.returncode == 1 and "resources[0].id" in result.stdout, result.stdout + result.stderr


def test_kubectl_reads_scalars_as_the_table_has_them(cluster):
    """test/cli compares kubectl kusion convert with the table."""
    table = json.loads((ROOT / "test/cli/scalars.json").read_text())
    body = {f"k{i}": text for i, text in enumerate(table)}
    text = ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n" +
            "".join(f"  {key}: {value}\n" for key, value in body.items()))
    made = cluster.kubectl("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-",
                           input=text).stdout
    data = json.loads(made)["data"]
    for key, written in body.items():
        value, expected = data[key], table[written]
        if isinstance(expected, float):
            value = float(value)
        assert value == expected and isinstance(value, bool) == isinstance(expected, bool), written
