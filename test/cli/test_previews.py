"""Previews of files: of what is not applied yet, with its policies, its sources and its Secrets."""

import base64
import json

import pytest
import yaml

VALUE = "hunter2-hunter2"


def spec(shell, *objects, **fields):
    """Writes spec.yaml."""
    resources = [{"id": f"v1:{one['kind']}:{shell.namespace}:{one['metadata']['name']}", "type": "Kubernetes",
                  "attributes": one} for one in objects]
    document = {"apiVersion": "api.kusion.io/v1", "kind": "Spec",
                "metadata": {"name": "web", "namespace": shell.namespace},
                "spec": {"resources": resources, **fields}}
    (shell.folder / "spec.yaml").write_text(yaml.safe_dump(document))


def thing(shell, name, kind="ConfigMap", **data):
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": shell.namespace},
            "data": data}


def secret(shell, name="db"):
    return thing(shell, name, "Secret", password=base64.b64encode(VALUE.encode()).decode())


def releases(shell, query=""):
    path = f"/apis/api.kusion.io/v1/namespaces/{shell.namespace}/releases{query}"
    return shell.type(f"kubectl get --raw '{path}'").must()


def version(shell):
    return json.loads(releases(shell))["metadata"]["resourceVersion"]


def releases_since(shell, before):
    """All that Releases of the namespace have been since then, as the API server tells it."""
    return releases(shell, f"?watch=1&resourceVersion={before}&timeoutSeconds=2")


def secrets(shell):
    return shell.type("kubectl get secrets -o name").must().split()


@pytest.mark.parametrize("command", ["preview -f spec.yaml", "preview -f spec.yaml -o json",
                                     "apply -f spec.yaml --preview --yes"])
def test_values_of_secrets_are_in_no_release(shell, command):
    spec(shell, secret(shell), thing(shell, "web", color="blue"))
    before = version(shell)
    said = shell.type(f"kubectl kusion {command}").must()
    told = releases_since(shell, before)
    assert VALUE not in said and "db" in said and "web" in said, said
    assert '"operation":"Preview"' in told, told
    for shape in (VALUE, base64.b64encode(VALUE.encode()).decode()):
        assert shape not in told and shape not in said
    assert [one for one in secrets(shell) if "preview" in one] == []


def test_a_secret_that_may_not_be_made_is_told(shell):
    spec(shell, secret(shell))
    shell.type("kubectl create role plans --verb create,get,list,watch,delete --resource releases.api.kusion.io "
               f"&& kubectl create rolebinding plans --role plans --serviceaccount {shell.namespace}:poor").must()
    said = shell.type(f"kubectl kusion preview -f spec.yaml --as system:serviceaccount:{shell.namespace}:poor")
    assert said.code == 1 and f"next:  kubectl auth can-i create secrets -n {shell.namespace}" in said.text, said.text


def test_sources_are_previewed(shell):
    (shell.folder / "more.yaml").write_text(yaml.safe_dump(thing(shell, "more", color="blue")))
    shell.type("kubectl create configmap source --from-file all=more.yaml").must()
    spec(shell, thing(shell, "web"), resourcesFrom=[{"kind": "ConfigMap", "name": "source", "key": "all"}])
    said = shell.type("kubectl kusion preview -f spec.yaml").must()
    assert "Plan: 2 to create" in said, said
    spec(shell, resourcesFrom=[{"kind": "ConfigMap", "name": "absent", "key": "all"}])
    said = shell.type("kubectl kusion preview -f spec.yaml").must(code=1)
    assert "SourceNotFound" in said and "absent" in said, said
    assert said.endswith("next:  kubectl kusion explain SourceNotFound\n"), said


def test_a_policy_that_the_file_has_no_more_counts_no_more(shell):
    spec(shell, thing(shell, "stays"), thing(shell, "goes"), prune=False)
    shell.type("kubectl kusion apply -f spec.yaml --watch").must()
    spec(shell, thing(shell, "stays"))
    for command in ("preview -f spec.yaml", "apply -f spec.yaml --preview --yes --watch"):
        said = shell.type(f"kubectl kusion {command}").must()
        assert "1 to delete" in said, said
    assert shell.type("kubectl get configmap goes").code == 1


@pytest.mark.parametrize("command", ["preview web --destroy", "destroy web --preview"])
def test_a_destroy_is_previewed_as_it_is_done(shell, command):
    spec(shell, thing(shell, "a"), thing(shell, "b"), prune=False, maxDeletions=1)
    shell.type("kubectl kusion apply -f spec.yaml --watch").must()
    said = shell.type(f"kubectl kusion {command}").must()
    assert "2 to delete" in said and "stays" not in said, said
    shell.type("kubectl kusion destroy web --yes").must()
    assert shell.type("kubectl get configmap a b --ignore-not-found -o name").must() == ""
