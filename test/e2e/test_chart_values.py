"""Values of the chart that nobody means to set: what values.schema.json lets through must come out as
objects that the API server takes, and as arguments that the controller takes.

The candidates are made from the schema, so that a new value is tried without a new test. One of each
value is set in one go; those that Helm refuses by the schema are taken out, and the rest must pass."""

import json
import re
from itertools import zip_longest

import pytest
import yaml

from kusion_e2e.api import APPLY
from kusion_e2e.chart import OWN, RELEASE
from kusion_e2e.controller import PROGRAM
from kusion_e2e.long import takes_long
from kusion_e2e.paths import CHART

SCHEMA = json.loads((CHART / "values.schema.json").read_text())
DEFAULTS = yaml.safe_load((CHART / "values.yaml").read_text())
ODD = ["0", "true", "null", "", " ", "a: b", "- a", "#a", "*a", "@a", "{{ .Release.Name }}", "a'b\"c", "a\nb",
       "Ü", "a" * 64, "a" * 300, "50%", "999%", "1e3", "0x10", "12:30", ".", "a.", "a.b", "A_b", "a:b", "a/b",
       "0s", "99999999999999999999h", "9999999999", "1Mi"]
EVERYTHING = {"metrics": {"service": {"enabled": True}}, "podDisruptionBudget": {"enabled": True},
              "state": {"volume": {"emptyDir": {}}},
              "terraform": {"pluginVolume": {"emptyDir": {}}, "cacheVolume": {"emptyDir": {}}}}
FOREIGN = "monitoring.coreos.com/v1"  # the Prometheus operator's: this API server has no such kinds
PASSED_ON = {  # Kubernetes' own: the API server checks what is in it
    ("rbac", "extraRules"), ("networkPolicy", "metricsFrom"), ("resources",), ("tolerations",),
    ("affinity",), ("topologySpreadConstraints",), ("terraform", "pluginVolume"),
    ("terraform", "cacheVolume"), ("state", "volume"), ("state", "kms"),
}


def resolved(node):
    """Without $ref and allOf."""
    if "$ref" in node:
        return resolved(SCHEMA["definitions"][node["$ref"].rpartition("/")[2]])
    merged = dict(node)
    for part in merged.pop("allOf", []):
        merged.update(resolved(part))
    return merged


def leaves(node=SCHEMA, path=()):
    for key, child in node["properties"].items():
        child = resolved(child)
        if "properties" in child:
            yield from leaves(child, (*path, key))
        elif key != "global" and (*path, key) not in PASSED_ON:  # global: of other charts
            yield (*path, key), child


def objects(node=SCHEMA, path=()):
    for key, child in node["properties"].items():
        child = resolved(child)
        if "properties" in child:
            yield (*path, key)
            yield from objects(child, (*path, key))


def candidates(node):
    """Values that the schema may or may not let through. Those of a boolean change what there is to
    see of others: they have a test of their own."""
    kinds = {kind for one in node.get("oneOf", [node]) for kind in [one.get("type")] if isinstance(kind, str)}
    kinds |= {kind for kind in node.get("type", []) if not isinstance(node.get("type"), str)}
    found = list(node.get("enum", []))
    if "integer" in kinds:
        found += [-1, 0, 1, 1e6, 10**12, node.get("minimum", 0), node.get("maximum", 0)]
    if "string" in kinds:
        found += ODD
    if "array" in kinds:
        items = resolved(node["items"])
        found += [[], [""]] if items["type"] == "string" else [[]]
        found += [[one if items["type"] == "string" else {"name": one}] for one in ODD]
    if "object" in kinds:
        found += [{}, *({"key": one} for one in ODD), *({one: "a"} for one in ODD[::4]),
                  {"app.kubernetes.io/name": "a"}, {"example.com/a": "b"}]
    return found


def template_of(pod):
    """The Pod itself would need its ServiceAccount, and a dry run makes none."""
    body = {"metadata": {"labels": pod["metadata"]["labels"]}, "spec": pod["spec"]}
    return {"apiVersion": "v1", "kind": "PodTemplate", "metadata": pod["metadata"], "template": body}


def nested(values):
    """{(a, b): c} as {a: {b: c}}."""
    made = json.loads(json.dumps(EVERYTHING))
    for path, value in values.items():
        where = made
        for key in path[:-1]:
            where = where.setdefault(key, {})
        where[path[-1]] = value
    return made


class Renderer:
    """Renders the chart, and asks the API server and the controller what they say of it."""

    def __init__(self, cluster, folder):
        self.cluster = cluster
        self.values = folder / "values.json"
        self.kinds = {}
        self.asked = set()
        self.namespaces = set()

    def render(self, values):
        self.values.write_text(json.dumps(values))
        return self.cluster.helm("template", RELEASE, CHART, "-n", OWN, "-f", self.values, check=False)

    def refused(self, result):
        """What the schema refused, as paths."""
        if result.returncode == 0 or "the schema" not in result.stderr:
            return []
        return [tuple(path.split("/")[1:]) for path in re.findall(r"^ *- at '(.*?)':", result.stderr, re.M)]

    def path_of(self, made):
        version = made["apiVersion"]
        base = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if version not in self.kinds:
            found = self.cluster.api.get(base).must().object["resources"]
            self.kinds[version] = {one["kind"]: one for one in found if "/" not in one["name"]}
        kind = self.kinds[version][made["kind"]]
        where = self.namespace_path(made["metadata"]["namespace"]) if kind["namespaced"] else ""
        return f"{base}{where}/{kind['name']}/{made['metadata']['name']}"

    def namespace_path(self, name):
        if name not in self.namespaces:
            self.cluster.ensure_namespace(name)
            self.namespaces.add(name)
        return f"/namespaces/{name}"

    def must_be_taken(self, result, values):
        assert result.returncode == 0, f"{values}\n{result.stderr}"
        for made in yaml.safe_load_all(result.stdout):
            if made and made["kind"] == "Pod":
                made = template_of(made)
            text = json.dumps(made, sort_keys=True)
            if made is None or text in self.asked or made["apiVersion"] == FOREIGN:
                continue
            self.asked.add(text)
            path = f"{self.path_of(made)}?fieldManager=test&force=true&dryRun=All&fieldValidation=Strict"
            answer = self.cluster.api.request("PATCH", path, text, APPLY)
            assert answer.ok, f"{values}\n{answer.message}"
            if made["kind"] == "Deployment":
                self.arguments_must_be_taken(made, values)

    def arguments_must_be_taken(self, deployment, values):
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        extra = values.get("controller", {}).get("extraArgs", [])
        arguments = container["args"][:len(container["args"]) - len(extra)]
        assert container["args"][len(arguments):] == extra
        said = self.cluster.run(PROGRAM, *arguments, "--version", check=False)
        assert said.returncode == 0, f"{values}\n{said.stderr}"


@pytest.fixture(scope="module")
def renderer(cluster, tmp_path_factory):
    return Renderer(cluster, tmp_path_factory.mktemp("values"))


@takes_long
def test_what_the_schema_lets_through_is_taken(renderer):
    every = {path: [(path, one) for one in candidates(node)] for path, node in leaves()}
    every["health", "port"].reverse()  # never that of the metrics
    let_through = set()
    for row in zip_longest(*every.values()):
        values = dict(filter(None, row))
        while refused := renderer.refused(result := renderer.render(nested(values))):
            left = {path: one for path, one in values.items()
                    if not any(path == other[:len(path)] for other in refused)}
            assert left != values, result.stderr
            values = left
        renderer.must_be_taken(result, nested(values))
        let_through |= set(values)
    booleans = {path for path, node in leaves() if node.get("type") == "boolean"}
    assert let_through == set(every) - booleans, "each was set, in one way at least"


@pytest.mark.parametrize("value", [True, False])
@takes_long
def test_booleans(renderer, value):
    for path, node in leaves():
        if node.get("type") == "boolean":
            values = nested({path: value})
            renderer.must_be_taken(renderer.render(values), values)


def default_of(path):
    value = DEFAULTS
    for key in path:
        value = value.get(key) if value else None
    return value


@takes_long
def test_null_is_refused_where_there_is_a_default(renderer):
    """Helm takes it for: without the default."""
    for path in [*objects(), *PASSED_ON, *(path for path, _ in leaves())]:
        result = renderer.render(nested({path: None}))
        if default_of(path) is None:
            renderer.must_be_taken(result, nested({path: None}))
        else:
            assert path[:-1] in renderer.refused(result), path
            assert f"missing property '{path[-1]}'" in result.stderr


@pytest.mark.parametrize("port", ["metrics.port=9440", "health.port=8080"])
def test_two_ports_must_differ(cluster, port):
    result = cluster.helm("template", RELEASE, CHART, "--set", port, check=False)
    assert result.returncode != 0
    assert "metrics.port and health.port are both" in result.stderr


def test_the_charts_labels_of_pods_stand(cluster):
    """The selectors need them."""
    text = cluster.helm("template", RELEASE, CHART, "--set-json", 'podLabels={"app.kubernetes.io/name":"a","b":"c"}',
                        "--show-only", "templates/deployment.yaml").stdout
    labels = yaml.safe_load(text)["spec"]["template"]["metadata"]["labels"]
    assert (labels["app.kubernetes.io/name"], labels["b"]) == ("kusion-operator", "c")
