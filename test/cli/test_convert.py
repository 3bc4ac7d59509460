"""kubectl kusion convert, as a person calls it. It needs no cluster."""

import json
import random
import re
from pathlib import Path

import pytest
import yaml

from program import kusion

# Scalars without quotes, and what kubectl (1.32) makes of them; test/e2e/test_migration.py asks the
# kubectl that is there.
SCALARS = json.loads((Path(__file__).parent / "scalars.json").read_text())


def run(*arguments, input=""):
    return kusion("convert", *arguments, input=input)


def convert(text, *arguments):
    """The one document that it makes."""
    result = run("--name", "web", "--namespace", "apps", *arguments, "-", input=text)
    assert result.returncode == 0, result.stderr
    return yaml.safe_load(result.stdout)


def resources(text, *arguments):
    return convert(text, *arguments)["spec"]["resources"]


def refusal(text, *arguments):
    result = run("--name", "web", *arguments, "-", input=text)
    assert result.returncode == 1 and not result.stdout, result
    return result.stderr


def manifest(name="a", kind="ConfigMap", version="v1", **fields):
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}


def dump(*things):
    return yaml.safe_dump_all(things)


def test_a_manifest_becomes_a_resource():
    assert convert(dump(manifest(data={"a": "b"})), "--service-account", "deployer") == {
        "apiVersion": "api.kusion.io/v1",
        "kind": "Spec",
        "metadata": {"name": "web", "namespace": "apps"},
        "spec": {"serviceAccountName": "deployer", "resources": [{
            "id": "v1:ConfigMap:apps:a",
            "type": "Kubernetes",
            "attributes": {"apiVersion": "v1", "kind": "ConfigMap",
                           "metadata": {"name": "a", "namespace": "apps"}, "data": {"a": "b"}},
        }]},
    }


@pytest.mark.parametrize("text, value", SCALARS.items(), ids=repr)
def test_scalars_are_as_kubectl_reads_them(text, value):
    [one] = resources(f"apiVersion: v1\nkind: A\nmetadata: {{name: a}}\nx: {text}\n")
    found = one["attributes"]["x"]
    if isinstance(value, float):  # kubectl rounds, and so does the API server; here the digits stay
        found = float(found)
    assert found == value and isinstance(found, bool) == isinstance(value, bool)


@pytest.mark.parametrize("text", [".inf", "-.Inf", ".nan"])
def test_what_json_does_not_have_is_refused(text):
    assert "stdin:3:4: " + text + " is not a number that JSON has" in refusal(f"apiVersion: v1\nkind: A\nx: {text}\n")


def test_strings_stay_strings():
    """Those that some reader takes for something else without quotes, too."""
    strings = [*SCALARS, "", " ", "a: b", "- a", "#", "a #b", "&a", "*a", "!a", "%", "@", "`", "|", ">",
               "{}", "[]", "a:", "?", "---", "...", "null", "\t", "a\tb", "é", "\u2028", "\x07", "\ufeff",
               "a\nb", "a\n", "\na", " a\nb", "a \nb", "a\n\n", "\n", "a\n b\n", "🙂", "'", '"', "\\",
               "a" * 300 + " " + "b" * 300]
    letters = random.Random(1)
    strings += ["".join(letters.choices(" \n:-#ab0._'\"\\é", k=letters.randrange(12)))
                for _ in range(2000)]
    [one] = resources(json.dumps(manifest(data=dict(enumerate(strings)))))
    assert list(one["attributes"]["data"].values()) == strings


def test_keys_are_strings():
    [one] = resources("apiVersion: v1\nkind: A\nmetadata: {name: a}\nx: {on: 1, 0x10: 2, 1.5: 3}\n")
    assert one["attributes"]["x"] == {"true": 1, "16": 2, "1.5": 3}


def test_aliases_and_merges():
    [one] = resources("apiVersion: v1\nkind: A\nmetadata: {name: a}\nx: &x {a: 1, b: 2}\n"
                      "s: {<<: *x, b: 3}\nt: {<<: [{a: 4}, *x]}\n")
    assert one["attributes"]["s"] == {"a": 1, "b": 3}
    assert one["attributes"]["t"] == {"a": 4, "b": 2}


@pytest.mark.parametrize("open, close", ["[]", ("{a: ", "}"), ('{"a":', "}"), ("- ", "")])
def test_what_is_nested_too_deep_is_refused_with_its_line(open, close):
    text = f"apiVersion: v1\nkind: A\ndata: {open * 15_000}{close * 15_000}\n"
    if open == "- ":
        text = f"apiVersion: v1\nkind: A\ndata:\n{open * 15_000}a\n"
    said = refusal(text)
    assert re.match(f"error: stdin:{4 if open == '- ' else 3}:\\d+: nested more than 256 levels", said), said
    if open.startswith('{"'):
        assert re.match(r"error: stdin:1:\d+: nested more", refusal(open * 15_000 + "1" + close * 15_000))


@pytest.mark.parametrize("digits", ["9" * 400, "9" * 100_000, "0x" + "f" * 100_000, "-" + "1" * 5000])
def test_a_number_of_too_many_digits_is_a_string(digits):
    made, = resources(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{a: {digits}}}\n")
    assert made["attributes"]["data"]["a"] == digits
    if digits.isdigit() and len(digits) > 4300:
        made, = resources(f'{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "a"}}, '
                          f'"data": {{"a": {digits}}}}}')
        assert made["attributes"]["data"]["a"] == digits


def test_what_nobody_can_see_is_escaped():
    text = "a\u202eb\u2066c\u200bd\u0085e\n\x1bf\U000e0041"
    result = run("--name", "web", "--namespace", "apps", "-", input=dump(manifest(data={"a": text, text: "b"})))
    assert result.returncode == 0, result.stderr
    assert not set("\u202e\u2066\u200b\u0085\x1b\U000e0041") & set(result.stdout)
    made, = yaml.safe_load(result.stdout)["spec"]["resources"]
    assert made["attributes"]["data"] == {"a": text, text: "b"}
    said = run("--name", "web", "\u202e\x1b[2Jno-such-file").stderr
    assert "\\u202e\\u001b[2Jno-such-file" in said


def test_aliases_that_grow_without_end_are_refused():
    lines = ["a0: &a0 [1]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    assert "stdin:8:35: aliases expand to more than" in refusal("apiVersion: v1\nkind: A\n" + "\n".join(lines) + "\n")
    assert "stdin:3:8: the alias *x is inside its own anchor" in refusal("apiVersion: v1\nkind: A\nx: &x [*x]\n")


def test_lists_are_taken_apart():
    items = [manifest("a"), manifest("b", "Secret")]
    ids = [one["id"] for one in resources(dump(manifest(kind="List", items=items)))]
    assert ids == ["v1:ConfigMap:apps:a", "v1:Secret:apps:b"]
    bare = {"apiVersion": "v1", "kind": "ConfigMapList", "items": [{"metadata": {"name": "c"}}]}
    assert [one["id"] for one in resources(dump(bare))] == ["v1:ConfigMap:apps:c"]


CRD = manifest("things.example.com", "CustomResourceDefinition", "apiextensions.k8s.io/v1",
               spec={"group": "example.com", "scope": "Namespaced", "names": {"kind": "Thing"}})


@pytest.mark.parametrize("thing, id", [
    (manifest(kind="Namespace"), "v1:Namespace:a"),
    (manifest("system:a", "ClusterRole", "rbac.authorization.k8s.io/v1"),
     "rbac.authorization.k8s.io/v1:ClusterRole:system:a"),
    (manifest("a", "Role", "rbac.authorization.k8s.io/v1"), "rbac.authorization.k8s.io/v1:Role:apps:a"),
    (manifest(kind="Deployment", version="apps/v1"), "apps/v1:Deployment:apps:a"),
    (manifest(kind="Thing", version="example.com/v1"), "example.com/v1:Thing:apps:a"),
    (manifest(kind="Other", version="example.com/v1"), "example.com/v1:Other:a"),
])
def test_namespaces_are_filled_in(thing, id):
    [one] = [one for one in resources(dump(thing, CRD)) if "CustomResource" not in one["id"]]
    namespace = one["attributes"]["metadata"].get("namespace")
    assert one["id"] == id and (namespace == "apps") == (":apps:" in id)


def test_a_namespace_stays_except_where_there_is_none():
    def placed(kind, **fields):
        return manifest(kind=kind) | {"metadata": {"name": "a", "namespace": "mine"}} | fields

    ids = [one["id"] for one in resources(dump(placed("Pod"), placed("Node"),
                                               placed("Other", apiVersion="example.com/v1")))]
    assert ids == ["v1:Pod:mine:a", "v1:Node:a", "example.com/v1:Other:mine:a"]


def test_what_the_server_wrote_is_left_out():
    thing = manifest(kind="Deployment", version="apps/v1", status={"replicas": 1},
                     spec={"template": {"metadata": {"creationTimestamp": None, "labels": {"a": "b"}}}})
    thing["metadata"] |= {"uid": "1", "resourceVersion": "2", "generation": 3, "managedFields": [],
                          "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"c": "d"},
                          "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}
    [one] = resources(json.dumps(thing))
    assert one["attributes"] == {
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "a", "labels": {"c": "d"}, "namespace": "apps"},
        "spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}


@pytest.mark.parametrize("second", [manifest(), manifest(data={"a": "b"})])
def test_duplicates_are_refused_with_both_places(second):
    message = refusal(dump(manifest(), second), "--namespace", "apps")
    assert message.startswith(
        "stdin:6:1  error  ConfigMap/a  v1:ConfigMap:apps:a is there already, at stdin:1:1\n")


def test_the_same_object_in_two_versions_is_a_duplicate():
    versions = [manifest(kind="CronJob", version=f"batch/{one}") for one in ("v1", "v1beta1")]
    assert "is there already, at stdin:1:1" in refusal(dump(*versions))


@pytest.mark.parametrize("text, message", [
    ("", "there is no manifest in the input"),
    ("---\n---\n", "there is no manifest in the input"),
    ("a: b\n", "stdin:1:1  error  is not a manifest: apiVersion is missing"),
    ("apiVersion: v1\nkind: [A]\n", "stdin:1:1  error  is not a manifest: kind is missing, or not a string"),
    ("some text\n", "stdin:1:1  error  neither a manifest nor a Kusion spec, but of type string"),
    ("- a\n", "stdin:1:1  error  neither a manifest nor a Kusion spec, but of type array"),
    ("a: b\n\tc: d\n", "stdin:2:1: while scanning a plain scalar: found a tab"),
    ("{{ .Values.name }}: a\n", "stdin:1:1: a key must be a scalar, not a mapping\nnext:  is it a "
     "template of Helm?"),
    ("apiVersion: v1\nkind: A\nmetadata: {}\n", "A without metadata.name"),
    ("apiVersion: v1\nkind: A\nmetadata: {generateName: a-}\n", "generateName makes another"),
    ("apiVersion: v1\nkind: A\nmetadata: a\n", "metadata must be an object, and is of type string"),
    ("apiVersion: v1\nkind: A\nmetadata: {name: 12}\n", "name must be a string, and is of type number"),
    ("apiVersion: v1\nkind: A\nmetadata: {name: a, namespace: [b]}\n", "metadata.namespace must"),
    ("apiVersion: v1\nkind: A\nmetadata: {name: a, annotations: [b]}\n", "metadata.annotations must"),
    ("apiVersion: v1\nkind: CustomResourceDefinition\nspec: {names: a}\n", "spec.names must"),
    ("apiVersion: api.kusion.io/v1\nkind: Spec\nspec: 3\n", "spec must be an object, and is of type number"),
    ("apiVersion: api.kusion.io/v1\nkind: Spec\nspec: {resources: a}\n", "spec.resources must"),
    ("resources: [{id: [a]}]\n", "stdin:1:14  error  id must be a string, and is of type array"),
    ("resources: [{id: a, dependsOn: 3}]\n", "dependsOn must be a list, and is of type number"),
    ("resources: [{id: a, dependsOn: [null]}]\n", "dependsOn[0] must be a string, and is of type null"),
    ("apiVersion: v1\nkind: A\nkind: B\n", 'stdin:3:1: the key "kind" occurs twice, first on line 2'),
    ('{"apiVersion": "v1", "kind": "A", "kind": "B"}', 'stdin:1:35: the key "kind" occurs twice'),
    ("apiVersion: v1\nkind: A\nx: !!binary aGk=\n", "stdin:3:4: the tag"),
    ("resources: [{type: Kubernetes}]\n", "a resource without an id"),
    ("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n", "kustomize build"),
], ids=str)
def test_refuses(text, message):
    assert message in refusal(text)


def test_attributes_of_any_form_are_the_operators_to_check():
    odd = [{"metadata": {"name": ["a"], "annotations": 3}}, {"metadata": "a"}, 3]
    given = [{"id": str(i), "type": "Kubernetes", "attributes": one} for i, one in enumerate(odd)]
    assert resources(dump({"resources": given})) == given


def test_a_file_that_is_not_there():
    result = run("--name", "web", "nowhere.yaml")
    assert (result.returncode, result.stderr) == (
        1, "error: nowhere.yaml: No such file or directory\nnext:  kubectl kusion convert --help\n")


def test_needs_a_name():
    result = run("-", input=dump(manifest()))
    assert result.returncode == 1 and "--name NAME" in result.stderr


def test_files_and_directories(tmp_path):
    (tmp_path / "b.yaml").write_text(dump(manifest("b")))
    (tmp_path / "a.json").write_text(json.dumps(manifest("a")) + json.dumps(manifest("z")))
    (tmp_path / "notes.txt").write_text("{")
    (tmp_path / "below").mkdir()
    (tmp_path / "below/c.yml").write_text(dump(manifest("c")))

    def names(*arguments):
        result = run("--name", "web", *arguments)
        assert result.returncode == 0, result.stderr
        found = yaml.safe_load(result.stdout)["spec"]["resources"]
        return "".join(one["attributes"]["metadata"]["name"] for one in found)

    assert names(tmp_path) == "azb"
    assert names("-R", tmp_path) == "azbc"
    assert names(tmp_path / "below", tmp_path / "b.yaml") == "cb"
    assert "No such file" in run("--name", "web", tmp_path / "nope.yaml").stderr


KUSION = {"resources": [
    {"id": "v1:Namespace:demo", "type": "Kubernetes",
     "attributes": {"apiVersion": "v1", "kind": "Namespace",
                    "metadata": {"name": "demo", "creationTimestamp": None}, "spec": {}, "status": {}},
     "extensions": {"GVK": "/v1, Kind=Namespace"}},
    {"id": "hashicorp:random:random_password:db", "type": "Terraform", "attributes": {"length": 16},
     "dependsOn": ["v1:Namespace:demo"]},
], "secretStore": None, "context": {"AWS_REGION": "x"}}


def test_what_kusion_generates():
    made = convert(dump(KUSION))
    expected = json.loads(json.dumps(KUSION))["resources"]
    del expected[0]["attributes"]["status"], expected[0]["attributes"]["metadata"]["creationTimestamp"]
    assert made["spec"] == {"context": {"AWS_REGION": "x"}, "resources": expected}


def test_a_preview_of_a_spec_file():
    spec = convert(dump(manifest()), "--service-account", "deployer")
    sources = [{"kind": "ConfigMap", "name": "more", "key": "all"}]
    spec["spec"] |= {"prune": False, "resourcesFrom": sources}
    result = run("--preview", "-", input=json.dumps(spec))
    assert yaml.safe_load(result.stdout) == {
        "apiVersion": "api.kusion.io/v1",
        "kind": "Release",
        "metadata": {"generateName": "web-preview-", "namespace": "apps"},
        "spec": {"specRef": {"name": "web"}, "operation": "Preview", "serviceAccountName": "deployer",
                 "policies": {"prune": False}, "resourcesFrom": sources, "resources": spec["spec"]["resources"]},
    }
    result = run("-", input=json.dumps(spec))
    assert yaml.safe_load(result.stdout) == spec


LARGE = [manifest(f"a{i}", data={"x": "y" * 100_000}) for i in range(15)]


def test_one_that_is_too_large_is_refused():
    message = refusal(json.dumps(manifest(kind="List", items=LARGE)))
    assert "the Spec is 1.43 MiB as JSON, and the limit is 1.00 MiB" in message and "--split 2" in message


def test_split_keeps_every_resource_in_its_part():
    def parts(things):
        text = json.dumps(manifest(kind="List", items=things))
        result = run("--name", "web", "--split", 3, "-", input=text)
        assert result.returncode == 0, result.stderr
        specs = list(yaml.safe_load_all(result.stdout))
        assert [one["metadata"]["name"] for one in specs] == ["web-1", "web-2", "web-3"]
        return {one["id"]: spec["metadata"]["name"] for spec in specs
                for one in spec["spec"]["resources"]}

    all_of_them = parts(LARGE)
    assert len(all_of_them) == 15 and set(all_of_them.values()) == {"web-1", "web-2", "web-3"}
    assert parts(LARGE[4:]).items() <= all_of_them.items()


def test_split_cuts_no_dependency():
    entries = [{"id": f"a{i}", "type": "Terraform", "attributes": {}} for i in range(20)]
    entries[1]["dependsOn"] = [one["id"] for one in entries if one["id"] != "a1"]
    assert "which is in another part" in refusal(json.dumps({"resources": entries}), "--split", 2)
    del entries[1]["dependsOn"]
    entries[1]["attributes"] = {"x": [f"$kusion_path.{one['id']}.y" for one in entries]}
    assert "which is in another part" in refusal(json.dumps({"resources": entries}), "--split", 2)


def test_help():
    assert "docs/migration.md" in run("--help").stdout
