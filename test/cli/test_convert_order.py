"""What convert makes of the order and the annotations of other tools, of Kusion's specs and of Terraform's
state files."""

import base64
import json

import pytest
import yaml

from program import kusion


def run(text, *arguments):
    return kusion("convert", "--name", "web", "-n", "apps", "-f", "-", *arguments, input=text)


def convert(things, *arguments):
    """Resources by their ids, and what was said."""
    result = run(yaml.safe_dump_all(things), *arguments)
    assert result.returncode == 0, result.stderr
    return {one["id"]: one for one in yaml.safe_load(result.stdout)["spec"]["resources"]}, result.stderr


def manifest(name, kind="ConfigMap", version="v1", annotations=None, **fields):
    metadata = {"name": name} | ({"annotations": annotations} if annotations else {})
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def needs(resources):
    """name -> the names that it depends on."""
    return {id.rpartition(":")[2]: {on.rpartition(":")[2] for on in one.get("dependsOn", [])}
            for id, one in resources.items()}


def annotations_of(resources, name):
    [one] = [one for id, one in resources.items() if id.endswith(f":{name}")]
    return one["attributes"]["metadata"].get("annotations")


def test_dependencies_of_cli_utils():
    made, said = convert([
        manifest("db"), manifest("all", "Namespace"),
        manifest("web", annotations={"config.kubernetes.io/depends-on":
                                     "/namespaces/apps/ConfigMap/db, /Namespace/all", "a": "b"}),
    ])
    assert needs(made)["web"] == {"db", "all"}
    assert annotations_of(made, "web") == {"a": "b"}
    assert "stdin:16:5  note  ConfigMap/web  config.kubernetes.io/depends-on -> depends on ConfigMap/db" in said


def test_own_annotation_names_ids():
    made, _ = convert([manifest("db"),
                       manifest("web", annotations={"api.kusion.io/depends-on": "v1:ConfigMap:apps:db"})])
    assert needs(made) == {"db": set(), "web": {"db"}}
    assert annotations_of(made, "web") is None


@pytest.mark.parametrize("key, value, said", [
    ("config.kubernetes.io/depends-on", "/namespaces/apps/ConfigMap/dbb",
     'no resource is "/namespaces/apps/ConfigMap/dbb": did you mean "/namespaces/apps/ConfigMap/db"?'),
    ("config.kubernetes.io/depends-on", "db", 'no resource is "db"'),
    ("api.kusion.io/depends-on", "v1:ConfigMap:apps:dbb", 'did you mean "v1:ConfigMap:apps:db"?'),
])
def test_an_unknown_dependency_is_refused(key, value, said):
    result = run(yaml.safe_dump_all([manifest("db"), manifest("web", annotations={key: value})]))
    assert result.returncode == 1 and not result.stdout
    assert said in result.stderr and "stdin:10:5  error  ConfigMap/web" in result.stderr


def test_hooks_of_helm():
    made, said = convert([
        manifest("web"),
        manifest("second", annotations={"helm.sh/hook": "pre-upgrade,pre-install", "helm.sh/hook-weight": "5"}),
        manifest("first", annotations={"helm.sh/hook": "pre-install", "helm.sh/hook-weight": "-5"}),
        manifest("last", annotations={"helm.sh/hook": "post-install"}),
        manifest("test", annotations={"helm.sh/hook": "test"}),
        manifest("bye", annotations={"helm.sh/hook": "pre-delete"}),
        manifest("apps-too", "Namespace"),
    ])
    assert needs(made) == {"first": set(), "second": {"first"}, "web": {"second"}, "last": {"web"},
                           "apps-too": set()}
    assert annotations_of(made, "first") is None
    assert "warning  ConfigMap/test  is left out: the operator has no moment for the hook helm.sh/hook: test" in said
    assert "warning  ConfigMap/bye  is left out" in said
    assert "note  ConfigMap/second  helm.sh/hook: pre-upgrade,pre-install -> ConfigMap/web depends on ConfigMap/second" in said


def test_waves_and_hooks_of_argo_cd():
    wave, hook = "argocd.argoproj.io/sync-wave", "argocd.argoproj.io/hook"
    made, said = convert([
        manifest("b", annotations={wave: "1"}), manifest("a"), manifest("a2"),
        manifest("z", annotations={wave: "-1"}),
        manifest("pre", annotations={hook: "PreSync", wave: "7"}), manifest("post", annotations={hook: "PostSync"}),
        manifest("fail", annotations={hook: "SyncFail"}),
    ])
    assert needs(made) == {"pre": set(), "z": {"pre"}, "a": {"z"}, "a2": {"z"}, "b": {"a", "a2"}, "post": {"b"}}
    assert "note  ConfigMap/b  argocd.argoproj.io/sync-wave: 1 -> ConfigMap/b depends on ConfigMap/a, ConfigMap/a2" in said
    assert "warning  ConfigMap/fail  is left out" in said


@pytest.mark.parametrize("order", ["waves", "refs"])
def test_large_waves_have_one_that_is_made_last(order):
    wave = {"argocd.argoproj.io/sync-wave": "1"}
    first = [manifest(f"a{i}") for i in range(400)] + [manifest("user", "Pod", spec={"volumes": [
        {"configMap": {"name": "a399"}}]})] + [manifest("z")]
    made, _ = convert([*first, *(manifest(f"b{i}", annotations=wave) for i in range(300))], "--order", order)
    found = needs(made)
    assert all(found[f"b{i}"] == {"z"} for i in range(300))
    assert found["z"] == {f"a{i}" for i in range(400)} | {"user"}
    assert found["user"] == ({"a399"} if order == "refs" else set())
    text = run(yaml.safe_dump_all([*first, *(manifest(f"b{i}", annotations=wave) for i in range(300))])).stdout
    assert kusion("validate", "-f", "-", input=text).returncode == 0


def test_a_wave_that_is_no_number_is_told():
    _, said = convert([manifest("a", annotations={"argocd.argoproj.io/sync-wave": "soon"})])
    assert 'stdin:5:5  warning  ConfigMap/a  argocd.argoproj.io/sync-wave: "soon" is not a whole number' in said


def test_order_none_takes_nothing():
    given = [manifest("a", annotations={"helm.sh/hook": "pre-install"}), manifest("b")]
    made, said = convert(given, "--order", "none")
    assert needs(made) == {"a": set(), "b": set()} and not said
    assert annotations_of(made, "a") == {"helm.sh/hook": "pre-install"}


POD = {"serviceAccountName": "robot", "imagePullSecrets": [{"name": "pull"}],
       "volumes": [{"configMap": {"name": "files"}}, {"secret": {"secretName": "keys"}},
                   {"persistentVolumeClaim": {"claimName": "disk"}},
                   {"projected": {"sources": [{"secret": {"name": "more"}}]}}],
       "initContainers": [{"envFrom": [{"secretRef": {"name": "init"}}]}],
       "containers": [{"env": [{"valueFrom": {"configMapKeyRef": {"name": "env"}}}, {"name": "A"}],
                       "envFrom": [{"configMapRef": {"name": "all"}}]}]}


@pytest.mark.parametrize("version, kind, spec", [
    ("v1", "Pod", POD),
    ("apps/v1", "Deployment", {"template": {"spec": POD}}),
    ("batch/v1", "CronJob", {"jobTemplate": {"spec": {"template": {"spec": POD}}}}),
])
def test_order_refs_is_by_what_is_mounted_or_named(version, kind, spec):
    others = {"robot": "ServiceAccount", "pull": "Secret", "files": "ConfigMap", "keys": "Secret",
              "disk": "PersistentVolumeClaim", "more": "Secret", "init": "Secret", "env": "ConfigMap",
              "all": "ConfigMap"}
    given = [manifest("user", kind, version, spec=spec), manifest("other"),
             *(manifest(name, kind) for name, kind in others.items())]
    made, said = convert(given, "--order", "refs")
    assert needs(made)["user"] == set(others)
    assert f"note  {kind}/user  --order refs" in said and "9 dependencies" in said
    assert needs(convert(given)[0])["user"] == set()


def test_refs_of_bindings_and_not_against_the_waves():
    rbac = "rbac.authorization.k8s.io/v1"
    made, _ = convert([
        manifest("b", "RoleBinding", rbac, roleRef={"kind": "Role", "name": "r"}), manifest("r", "Role", rbac),
        manifest("user", "Pod", spec=POD),
        manifest("files", annotations={"argocd.argoproj.io/sync-wave": "3"}),
    ], "--order", "refs")
    assert needs(made)["b"] == {"r"} and needs(made)["files"] == {"b", "r", "user"} and needs(made)["user"] == set()


@pytest.mark.parametrize("key, value, told", [
    ("argocd.argoproj.io/sync-options", "SkipDryRunOnMissingResource=true, Replace=true", "docs/replace.md"),
    ("helm.sh/hook-delete-policy", "before-hook-creation", "stays as long as the Spec has it"),
    ("argocd.argoproj.io/hook-delete-policy", "HookSucceeded", "stays as long"),
    ("kapp.k14s.io/change-rule", "upsert after upserting a", "write dependsOn"),
    ("kapp.k14s.io/change-rule.2", "upsert after upserting b", "write dependsOn"),
    ("kapp.k14s.io/change-group", "a", "write dependsOn"),
])
def test_what_others_obey_is_told_with_its_line(key, value, told):
    made, said = convert([manifest("a", annotations={"x": "y", key: value})])
    line, = said.splitlines()
    assert line.startswith("stdin:") and f"  warning  ConfigMap/a  {key}: " in line and told in line
    assert int(line.split(":")[1]) in (4, 5, 6)
    assert annotations_of(made, "a")[key] == value


@pytest.mark.parametrize("key, value", [
    ("helm.sh/resource-policy", "other"), ("kustomize.toolkit.fluxcd.io/prune", "enabled"),
    # what the operator obeys, too
    ("helm.sh/resource-policy", "keep"), ("client.lifecycle.config.k8s.io/deletion", "detach"),
    ("kustomize.toolkit.fluxcd.io/prune", "disabled"), ("kustomize.toolkit.fluxcd.io/reconcile", "disabled"),
    ("kustomize.toolkit.fluxcd.io/ssa", "Merge"), ("kapp.k14s.io/delete-strategy", "orphan"),
    ("argocd.argoproj.io/sync-options", "Prune=false,Delete=false"),
    ("argocd.argoproj.io/sync-options", "ServerSideApply=true,Prune=true"),
])
def test_what_asks_for_nothing_else_is_not_told(key, value):
    assert convert([manifest("a", annotations={key: value})])[1] == ""


def test_a_kusion_spec_with_its_own_namespace():
    given = {"resources": [
        {"id": "v1:Namespace:apps", "type": "Kubernetes",
         "attributes": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "apps"}}},
        {"id": "v1:ConfigMap:apps:a", "type": "Kubernetes", "dependsOn": ["v1:Namespace:apps"],
         "attributes": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "apps"}}}]}
    made, said = convert([given])
    assert list(made) == ["v1:ConfigMap:apps:a"] and "dependsOn" not in made["v1:ConfigMap:apps:a"]
    assert "stdin:2:3  note  Namespace/apps  is left out: the Spec lives in this Namespace" in said
    text = run(yaml.safe_dump(given)).stdout
    assert kusion("validate", "-f", "-", input=text).returncode == 0


def test_what_a_kusion_spec_has_and_the_operator_has_not_is_told():
    text = """\
resources:
- id: v1:ConfigMap:apps:a
  type: Kubernetes
  attributes:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: a, namespace: apps}
    data:
      a: ref://db/password
  extensions:
    healthPolicy: {health.kcl: a}
- id: hashicorp:random:random_password:db
  type: Terraform
  attributes: {length: 3}
secretStore: {provider: {vault: {server: https://vault.example}}}
"""
    result = run(text)
    assert result.returncode == 0, result.stderr
    assert [line.split("  ")[:3] for line in result.stderr.splitlines()] == [
        ["stdin:11:20", "warning", "ConfigMap/a"],
        ["stdin:12:3", "warning", "hashicorp:random:random_password:db"],
        ["stdin:15:1", "warning",
         "secretStore needs `auth` as well: as whom the store is asked (docs/secrets.md)"]]
    errors = [line.split("  ")[0] for line in kusion("validate", "-f", "-", input=text).stdout.splitlines()
              if "  error  " in line]
    assert errors == ["stdin:11:20", "stdin:15:1"]


def test_what_refers_to_the_name_of_its_own_namespace_has_the_name():
    name, other = "$kusion_path.v1:Namespace:apps.metadata.name", "$kusion_path.v1:ConfigMap:apps:a.data.x"
    a, b = manifest("a", data={"x": "y"}), manifest("b", data={"of": name, "other": other})
    a["metadata"]["namespace"], b["metadata"]["namespace"] = "apps", name
    given = {"resources": [
        {"id": "v1:Namespace:apps", "type": "Kubernetes",
         "attributes": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "apps"}}},
        {"id": "v1:ConfigMap:apps:a", "type": "Kubernetes", "attributes": a},
        {"id": "v1:ConfigMap:apps:b", "type": "Kubernetes", "attributes": b}]}
    made = run(yaml.safe_dump(given)).stdout
    second = yaml.safe_load(made)["spec"]["resources"][1]["attributes"]
    assert second["metadata"]["namespace"] == "apps" and second["data"] == {"of": "apps", "other": other}
    assert kusion("validate", "-f", "-", input=made).returncode == 0


def test_to_kusion_says_what_is_lost():
    made = run(yaml.safe_dump_all([manifest("a")]), "--service-account", "robot").stdout
    spec = yaml.safe_load(made)
    spec["spec"] |= {"context": {"A": "b"}, "interval": "3m"}
    result = kusion("convert", "-f", "-", "--to", "kusion", input=yaml.safe_dump(spec, sort_keys=False))
    assert yaml.safe_load(result.stdout) == {"resources": spec["spec"]["resources"], "context": {"A": "b"}}
    assert "stdin:7:3  warning  spec.serviceAccountName is lost" in result.stderr
    assert "warning  spec.interval is lost" in result.stderr and "context" not in result.stderr


def test_to_kusion_says_which_resources_it_does_not_do():
    given = yaml.safe_load(run(yaml.safe_dump_all([manifest("a")])).stdout)
    given["metadata"] |= {"labels": {"a": "b"}, "annotations": {"c": "d"}}
    given["spec"]["resources"][0]["extensions"] = {"healthPolicy": {"health.lua": "return {}"}}
    given["spec"]["resources"].append({"id": "b", "type": "HTTP", "attributes": {}})
    result = kusion("convert", "-f", "-", "--to", "kusion", input=yaml.safe_dump(given))
    assert result.returncode == 0
    for told in ("metadata.labels is lost", "metadata.annotations is lost", "b  HTTP means nothing to Kusion",
                 "v1:ConfigMap:apps:a  extensions.healthPolicy[health.lua] means nothing to Kusion"):
        assert told in result.stderr, result.stderr


def test_to_manifests_and_back():
    given = [manifest("a"), manifest("b", annotations={"argocd.argoproj.io/sync-wave": "1"})]
    spec = run(yaml.safe_dump_all(given)).stdout
    result = kusion("convert", "-f", "-", "--to", "manifests", input=spec)
    first, second = yaml.safe_load_all(result.stdout)
    assert first["metadata"] == {"name": "a", "namespace": "apps"}
    assert second["metadata"]["annotations"] == {
        "config.kubernetes.io/depends-on": "/namespaces/apps/ConfigMap/a"}
    again = run(result.stdout).stdout
    assert yaml.safe_load(again) == yaml.safe_load(spec)


def test_to_manifests_says_what_is_lost():
    given = {"resources": [{"id": "a", "type": "Terraform", "attributes": {}},
                           {"id": "v1:ConfigMap:b", "type": "Kubernetes", "dependsOn": ["a"],
                            "attributes": manifest("b", data={"a": "$kusion_path.a.x"})}]}
    result = kusion("convert", "-f", "-", "--to", "manifests", input=yaml.safe_dump(given))
    assert [one["kind"] for one in yaml.safe_load_all(result.stdout)] == ["ConfigMap"]
    assert "a  is left out: it is no Kubernetes object" in result.stderr
    assert "has references ($kusion_path.), 1 of them" in result.stderr
    assert 'its dependency on "a" is lost' in result.stderr


STATE = {"version": 4, "resources": [
    {"mode": "managed", "type": "aws_vpc", "name": "net", "provider": 'provider["registry.terraform.io/hashicorp/aws"]',
     "instances": [{"attributes": {"id": "vpc-1", "arn": "arn:x", "cidr_block": "10.0.0.0/16", "tags": {},
                                   "ipam": None, "any": {"value": {"a": ["b"]}, "type": ["object", {"a": ["tuple", ["string"]]}]},
                                   "typed": {"value": "v", "type": "string"},
                                   "nothing": {"value": None, "type": "string"}, "dhcp": [{"name": "a", "owner": "x"}], "secret": "s3"}}]},
    {"mode": "managed", "module": 'module.a["x"]', "type": "aws_subnet", "name": "s",
     "provider": 'module.a.provider["registry.terraform.io/hashicorp/aws"].west',
     "instances": [{"index_key": 0, "attributes": {"id": "subnet-1"}, "dependencies": ["aws_vpc.net"]},
                   {"index_key": "k", "attributes": {"id": "none", "password": "s3cr3t"},
                    "sensitive_attributes": [[{"type": "get_attr", "value": "password"}]]}]},
    {"mode": "data", "type": "aws_ami", "name": "ami", "provider": 'provider["registry.terraform.io/hashicorp/aws"]',
     "instances": [{"attributes": {"id": "ami-1"}}]},
]}
SCHEMAS = {"provider_schemas": {"registry.terraform.io/hashicorp/aws": {"resource_schemas": {
    "aws_vpc": {"block": {
        "attributes": {"id": {"computed": True, "optional": True}, "arn": {"computed": True},
                       "cidr_block": {"optional": True, "computed": True},
                       "any": {"optional": True, "type": "dynamic"}, "nothing": {"optional": True, "type": "dynamic"},
                       "typed": {"optional": True, "type": ["object", {"value": "string", "type": "string"}]},
                       "secret": {"optional": True, "sensitive": True}},
        "block_types": {"dhcp": {"nesting_mode": "list", "block": {
            "attributes": {"name": {"required": True}, "owner": {"computed": True}}}}}}},
    "aws_subnet": {"block": {"attributes": {"id": {"computed": True}}}}}}}}


def tfstate(*arguments):
    return kusion("convert", "--from", "tfstate", "--name", "db", "-f", "-", *arguments, input=json.dumps(STATE))


def test_a_state_file_of_terraform(tmp_path):
    (tmp_path / "schemas.json").write_text(json.dumps(SCHEMAS))
    result = tfstate("--schemas", tmp_path / "schemas.json")
    assert result.returncode == 0, result.stderr
    vpc, first, second = yaml.safe_load(result.stdout)["spec"]["resources"]
    extensions = {"provider": "registry.terraform.io/hashicorp/aws", "resourceType": "aws_vpc",
                  "kusionstack.io/import-id": "vpc-1"}
    assert vpc == {"id": "hashicorp:aws:aws_vpc:net", "type": "Terraform", "extensions": extensions,
                   "attributes": {"cidr_block": "10.0.0.0/16", "any": {"a": ["b"]}, "typed": {"value": "v", "type": "string"},
                                  "dhcp": [{"name": "a"}]}}
    assert first["id"] == "hashicorp:aws:aws_subnet:a-x-s-0" and first["dependsOn"] == [vpc["id"]]
    assert first["attributes"] == {} and first["extensions"]["kusionstack.io/import-id"] == "subnet-1"
    assert "kusionstack.io/import-id" not in second["extensions"]
    assert second["extensions"]["kusionstack.io/state-address"] == 'module.a["x"].aws_subnet.s["k"]'
    assert "s3" not in result.stdout + result.stderr
    assert result.stderr.count("chooses it where nobody has written it") == 1
    for told in ("secret is left out: it is a secret", "cidr_block is as it is now", "password is left out: it is a secret",
                 "has no id to be imported by", "note  aws_ami.ami  is left out"):
        assert told in result.stderr
    assert "cannot be told" not in result.stderr


def test_a_state_file_without_schemas_says_so_once():
    result = tfstate()
    assert result.returncode == 0 and result.stderr.count("cannot be told from what was written") == 1
    vpc = yaml.safe_load(result.stdout)["spec"]["resources"][0]
    assert "id" not in vpc["attributes"] and vpc["attributes"]["arn"] == "arn:x"


@pytest.mark.parametrize("text", ["{}", '{"version": 3, "resources": []}', "a: b", "- a"])
def test_what_is_no_state_file_is_refused(text):
    result = kusion("convert", "--from", "tfstate", "--name", "db", "-f", "-", input=text)
    assert result.returncode == 1 and "not a state file of Terraform, version 4" in result.stderr


def test_hostile_annotations_have_their_place():
    text = ("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n"
            '    "kapp.k14s.io/change-rule\\e[2J]x": "y\\u202e"\n')
    result = run(text)
    assert result.returncode == 0 and not {"\x1b", "\u202e"} & set(result.stdout + result.stderr)
    assert result.stderr.startswith("stdin:6:5  warning  ConfigMap/a  kapp.k14s.io/change-rule"), result.stderr


def test_one_that_no_spec_can_hold():
    result = run(yaml.safe_dump(manifest("a", data={"a": "x" * 1_500_000})), "--split", "3")
    assert result.returncode == 1 and "v1:ConfigMap:apps:a alone is 1.43 MiB" in result.stderr


@pytest.mark.parametrize("arguments, said", [
    (["--order", "some"], "none of waves, refs and none"), (["--to", "x"], "none of spec, manifests and kusion"),
    (["--from", "x"], '--from: "x" is not tfstate'), (["--schemas", "x"], "--schemas goes with"),
    (["--split", "0x"], "--split"), (["--split", "-1"], "no number from 1"), (["--split", "5000"], "from 1 to"),
    (["--to", "kusion", "--split", "2"], "are of Specs"), (["--split", "2", "--preview"], "is of one Spec"),
])
def test_options_that_do_not_fit(arguments, said):
    result = run(yaml.safe_dump(manifest("a")), *arguments)
    assert result.returncode == 1 and said in result.stderr, result.stderr


def test_kustomizations(tmp_path):
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/kubectl"
    program.write_text("#!/bin/sh\n[ $1 = kustomize ] || exit 3\n[ -d $2 ] || { echo no folder >&2; exit 1; }\n"
                       "cat $2/out\n")
    program.chmod(0o755)
    (tmp_path / "out").write_text(yaml.safe_dump(manifest("a")))
    environment = {"environment": {"PATH": f"{tmp_path}/bin:/bin:/usr/bin"}}
    result = kusion("convert", "--name", "web", "-k", tmp_path, **environment)
    assert result.returncode == 0 and "v1:ConfigMap:a" in result.stdout, result.stderr
    result = kusion("convert", "--name", "web", "-k", tmp_path / "nowhere", **environment)
    assert result.returncode == 1 and "kustomize: no folder" in result.stderr
    result = kusion("convert", "--name", "web", "-k", tmp_path, environment={"PATH": "/nonexistent"})
    assert "neither kubectl nor kustomize can be run" in result.stderr


def b64(text):
    return base64.b64encode(text.encode()).decode()


def test_placeholders_of_argo_cds_vault_plugin():
    made, said = convert([
        manifest("s", "Secret",
                 stringData={"plain": "<path:secret/data/team/db#password>", "version": "<path:secret/data/db#p#3>",
                             "within": "x<path:secret/data/db#p>", "encoded": "<path:secret/data/db#p | base64encode>"},
                 data={"whole": b64("<path:secret/data/db#p>"), "modified": "<path:secret/data/db#p | base64encode>",
                       "raw": "<path:secret/data/db#p>"}),
        manifest("c", data={"aws": "<path:my-secret#key>", "odd": "<path:a b/c#d e>", "json": "<path:a#b | jsonPath {.c}>"}),
    ])
    attributes = {id.rpartition(":")[2]: one["attributes"] for id, one in made.items()}
    assert attributes["s"]["stringData"] == {
        "plain": "ref://secret/team/db/password", "version": "ref://secret/db/p?version=3",
        "within": "x<path:secret/data/db#p>", "encoded": "<path:secret/data/db#p | base64encode>"}
    assert attributes["s"]["data"] == {"whole": "ref://secret/db/p", "modified": "ref://secret/db/p",
                                       "raw": "<path:secret/data/db#p>"}
    assert attributes["c"]["data"] == {"aws": "ref://my-secret/key", "odd": "ref://a%20b/c/d%20e",
                                       "json": "<path:a#b | jsonPath {.c}>"}
    assert said.count("stays as it is") == 4
    assert said.count("the Spec needs secretStore") == 1
