"""kubectl kusion validate, as a person calls it. It needs no cluster."""

import json

import pytest
import yaml

from program import ROOT, kusion

HEAD = """\
apiVersion: api.kusion.io/v1
kind: Spec
metadata: {name: web, namespace: shop}
spec:
"""
CONFIG = """\
  - id: v1:ConfigMap:shop:web
    type: Kubernetes
    attributes: {apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop}}
"""


THING = """\
resources:
- id: a
  type: HTTP
  attributes:
    name: web
  extensions:
    connection: {url: "https://api.example/v1", bearerFrom: {secret: api}}
    read: {path: "/things/{/name}"}
    create: {method: PUT, path: "/things/{/name}"}
    delete: {method: DELETE, path: "/things/{/name}"}
"""


STORE = "secretStore: {provider: {aws: {region: r}}, auth: {role: r}}\n"


def validate(text, *arguments):
    return kusion("validate", *arguments, "-f", "-", input=text)


def findings(text, *arguments):
    result = validate(text, "-o", "json", *arguments)
    assert result.returncode in (0, 1), result.stderr
    return json.loads(result.stdout)["findings"]


def spec(*resources, **fields):
    return {"apiVersion": "api.kusion.io/v1", "kind": "Spec",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"resources": list(resources), **fields}}


def test_one_that_is_right():
    result = validate(HEAD + "  resources:\n" + CONFIG)
    assert (result.returncode, result.stdout) == (0, "no problem in 1 resource\n"), result.stderr


def test_the_examples_are_right():
    result = kusion("validate", "-f", ROOT / "examples", "-R")
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("text, line", [
    (HEAD + "  intervall: 3m\n  resources: []\n",
     "stdin:5:3  error  spec.intervall: there is no such field: did you mean interval?"),
    (HEAD + "  timeout: 5x\n  resources: []\n",
     'stdin:5:3  error  spec.timeout: "5x" is not a duration, such as 1h30m, 10m or 90s'),
    (HEAD + "  suspend: yes please\n  resources: []\n",
     "stdin:5:3  error  spec.suspend: must be a boolean, and is of type string"),
    (HEAD + "  deletionPolicy: Orphans\n  resources: []\n",
     'stdin:5:3  error  spec.deletionPolicy: "Orphans" is none of'),
    (HEAD + "  resources:\n" + CONFIG + CONFIG,
     'stdin:9:5  error  ConfigMap/web  id: resources[0] has the same id'),
    (HEAD + "  resources:\n" + CONFIG + "    dependsOn:\n    - v1:ConfigMap:shop:wbe\n",
     'stdin:10:7  error  ConfigMap/web  dependsOn[0]: no resource has the id "v1:ConfigMap:shop:wbe"'),
    (HEAD + "  resources:\n" + CONFIG + "    depends: []\n",
     "stdin:9:5  error  ConfigMap/web  depends: there is no such field"),
    (HEAD + "  resources:\n" + CONFIG.replace("{name: web,", "{name: wub,"),
     "error  ConfigMap/wub  id: does not match the attributes"),
    ("resources:\n- {id: a, type: Terraform, dependsOn: [b], attributes: {}}\n"
     "- {id: b, type: Terraform, dependsOn: [a], attributes: {}}\n",
     "stdin:2:3  error  a  a -> b -> a"),
    ("resources:\n- {id: a, type: Terraform, attributes: {x: $kusion_path.b.c}}\n",
     "stdin:2:41  error  a  attributes.x: no resource has an id"),
    ("resources: []\nsecretStore: {provider: {onpremises: {}}}\n",
     "error  spec.secretStore.provider.onpremises: is not supported by this version"),
    ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n"
     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
     "stdin:5:1  error  ConfigMap/a  v1:ConfigMap:a is there already, at stdin:1:1"),
    ("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: Yg==}\n",
     "stdin:4:1  warning  Secret/a  attributes.data: values in clear"),
    (THING.replace("PUT", "GET"), "stdin:9:14  error  a  extensions.create.method: must be one of POST, PUT"),
    (THING.replace("{/name}", "{name}", 1),
     'error  a  extensions.read.path: there is no parameter "name" (an attribute is written {/name})'),
    (THING + "    computed:\n    - /a\n    - serial\n",
     "stdin:13:7  error  a  extensions.computed[1]: must be a JSON pointer"),
    (THING.replace("/{/name}", "/{/name"), "stdin:8:12  error  a  extensions.read.path: "),
    (THING.replace("read:", "reed:"), "stdin:8:5  error  a  extensions.reed: there is no such field; is read meant?"),
    (THING.replace("api.example", "user@api.example"),
     "stdin:7:18  error  a  extensions.connection.url: "),
    (THING.replace("secret: api", "ref: api"),
     "stdin:7:62  error  a  extensions.connection.bearerFrom.ref: must be a reference to a secret store"),
    (THING.replace("secret: api", "ref: 'ref://api/token'"),
     "stdin:7:62  error  a  extensions.connection.bearerFrom.ref: refers to a secret, and the Spec has no secretStore"),
    (STORE + THING + "    parameters: {key: 'ref://api/key'}\n",
     "error  a  extensions.parameters: a reference to a secret may stand in `connection` and in the attributes"),
    (STORE + THING.replace("name: web", "name: web\n    dsn: 'postgres://web:ref://db/password@db'"),
     "warning  a  attributes.dsn: has \"ref://\" in the middle of a text, where it is not replaced"),
    (STORE + THING.replace("name: web", "name: 'ref://api/name'"),
     "error  a  extensions.read.path: the attribute /name is a reference to a secret, of which State keeps no value"),
    (STORE + THING.replace("name: web", "name: web\n    key: 'ref://api/key'").replace(
        'DELETE, path: "/things/{/name}"', 'POST, path: "/gone", body: {$attributes: ""}'),
     'error  a  extensions.delete.body: the attribute "" is a reference to a secret, of which State keeps no value'),
    (STORE + THING.replace("/{/name}", ", where: {/n: /name}", 1).replace('things, where: {/n: /name}"', 'things", where: {/n: /name}'
                                                                        ).replace("name: web", "name: 'ref://api/name'"),
     "error  a  extensions.read.where: the attribute /name is a reference to a secret, of which State keeps no value"),
    ("a: [\n", "stdin:2:1  error  while parsing"),
    ("a: b\n\tc: d\n", "stdin:2:1  error  while scanning"),
], ids=str)
def test_says_what_is_wrong_and_where(text, line):
    result = validate(text)
    assert line in result.stdout, result.stdout + result.stderr
    assert result.returncode == ("error" in line)


def rules():
    """The rules in CEL of the definition, with their places."""
    definition = yaml.safe_load((ROOT / "crds/api.kusion.io_specs.yaml").read_text())
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]

    def walk(place, node):
        for rule in node.get("x-kubernetes-validations", []):
            yield f"{place} {rule['rule'].strip()}"
        for name, one in node.get("properties", {}).items():
            yield from walk(f"{place}.{name}", one)
        if "items" in node:
            yield from walk(f"{place}[]", node["items"])

    return sorted(walk("spec", schema))


# What breaks each rule, by its place.
BROKEN = {
    "spec": {"resources": None},
    "spec.resources[].type": {"resources": [{"id": "a", "type": "terraform", "attributes": {}}]},
    "spec.contextFrom[]": {"contextFrom": [{}]},
    "spec.terraformState": {"terraformState": {"from": {"secretRef": {"name": "tfstate-a-b"}},
                                               "to": {"secretRef": {"name": "tfstate-a-b"}}}},
    "spec.kubeConfig": {"kubeConfig": {"secretRef": {"name": "a"}}},
    "spec.approval": {"approval": {"approvedPlan": "a"}},
    "spec.driftDetection.mode": {"driftDetection": {"mode": "warn"}},
    "spec.interval": {"interval": "1ms"},
    "spec.retryInterval": {"retryInterval": "1ms"},
    "spec.timeout": {"timeout": "1ms"},
    "spec.healthCheckExprs": {"healthCheckExprs": [{"apiVersion": "v1", "kind": "A", "current": "true"}]},
    "spec.dependsOn": {"dependsOn": [{"name": "a"}]},
}


@pytest.mark.parametrize("rule", rules())
def test_every_rule_of_the_api_is_checked(rule):
    place = rule.split()[0]
    assert place in BROKEN, f"{rule}: not known to this test"
    wrong = spec()
    wrong["spec"] |= BROKEN[place]
    found = findings(json.dumps(wrong))
    field = "type" if place.endswith(".type") else place.removeprefix("spec.").split(".")[0].split("[")[0]
    assert [one for one in found if one["severity"] == "error"
            and (field in one["message"] or place == "spec")], found
    if place not in ("spec", "spec.resources[].type"):
        assert len(found) == 1, found


def test_files_beside_a_broken_one_are_checked(tmp_path):
    (tmp_path / "a.yaml").write_text("a: [\n")
    (tmp_path / "b.yaml").write_text(HEAD + "  resources: 3\n")
    (tmp_path / "c.yaml").write_text(HEAD + "  resources: []\n")
    result = kusion("validate", "-f", tmp_path)
    assert result.returncode == 1
    assert f"{tmp_path}/a.yaml:2:1  error" in result.stdout
    assert f"{tmp_path}/b.yaml:5:3  error" in result.stdout


def test_reports_for_programs():
    text = HEAD + "  timeout: 5x\n  resources: []\n"
    [one] = findings(text)
    assert one == {"severity": "error", "reason": "InvalidSpec", "file": "stdin", "line": 5, "column": 3,
                   "message": 'spec.timeout: "5x" is not a duration, such as 1h30m, 10m or 90s'}
    github = validate(text, "-o", "github").stdout
    assert github == ('::error file=stdin,line=5,col=3,title=InvalidSpec::spec.timeout: "5x" is not '
                      "a duration, such as 1h30m, 10m or 90s\n")
    sarif = json.loads(validate(text, "-o", "sarif").stdout)
    [result] = sarif["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert sarif["version"] == "2.1.0" and result["level"] == "error"
    assert place == {"artifactLocation": {"uri": "stdin"}, "region": {"startLine": 5, "startColumn": 3}}


def test_hostile_text_is_harmless():
    name = "a\u202e\x1b[2J%\n::error::b"
    text = json.dumps({"resources": [{"id": name, "type": "X", "attributes": {}}]})
    for format in ([], ["-o", "github"], ["-o", "json"], ["-o", "sarif"]):
        out = validate(text, *format).stdout
        assert not {"\x1b", "\u202e"} & set(out)
        assert not [line for line in out.splitlines() if line.startswith("::error::b")]


@pytest.mark.parametrize("text", [
    "a: " + "x" * (1 << 20) + "\n",
    "apiVersion: v1\nkind: " + "x" * (1 << 20) + "\nmetadata: {name: a}\n",
    "[" * 100_000,
    "{" * 100_000,
    '{"a":' * 100_000,
    "a: &a [1]\n" + "".join(f"b{i}: [{', '.join(['*a'] * 1000)}]\n" for i in range(200)),
    json.dumps({"resources": [{"id": f"a{i}", "type": "X"} for i in range(3000)]}),
    json.dumps({"resources": [{"id": "a"}] * 3000}),
], ids=range(8))
def test_what_is_large_or_deep_ends(text):
    result = validate(text)
    assert result.returncode == 1 and result.stdout, result


def test_many_findings_in_one_document_are_fast_to_place():
    items = [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"a{i}"}, "data": {"a": "Yg=="}}
             for i in range(1500)]
    found = findings(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items}))
    assert len(found) == 1500 and len({one["line"] for one in found}) == 1500
