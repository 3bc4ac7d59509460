"""What a message says would give a missing right does, typed as it is."""

import os
import re
import time
from pathlib import Path

import pytest

from kusion_e2e.cluster import tool
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.wait import eventually

# A message may go on after the command, with another way out or another resource. Where it is cut,
# which is shown by "…", the command is not whole.
HINT = re.compile(r"to allow it: (kubectl create [^;…]*)(?:;|$)")


def namespace(name):
    return resource({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


def role(name, namespace):
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
    return resource({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
                     "metadata": {"name": name, "namespace": namespace}, "rules": [rule]})


def definition(group):
    version = {"name": "v1", "served": True, "storage": True,
               "schema": {"openAPIV3Schema": {"type": "object"}}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"foos.{group}"},
            "spec": {"group": group, "scope": "Cluster", "versions": [version],
                     "names": {"plural": "foos", "singular": "foo", "kind": "Foo"}}}


def foo(group, name):
    return resource({"apiVersion": f"{group}/v1", "kind": "Foo", "metadata": {"name": name}})


@pytest.fixture
def team(state_namespace):
    """Makes namespaces whose ServiceAccount `default` may do nothing; takes them away, with all
    rights in the cluster that were given to it."""
    cluster, made = state_namespace, []

    def make():
        made.append(cluster.new_namespace("team"))
        return made[-1]

    yield make
    for name in made:
        cluster.delete_namespace(name)
        for kind in ("clusterrolebinding", "clusterrole"):
            names = cluster.kubectl("get", kind, "-o", "name").stdout.split()
            given = [one for one in names if f"/kusion:{name}:" in one]
            if given:
                cluster.kubectl("delete", *given)


@pytest.fixture
def foos(state_namespace):
    """Two groups that have a cluster-scoped kind of one name."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    groups = ["one.hints.example.com", "two.hints.example.com"]
    for group in groups:
        state_namespace.api.create(path, definition(group)).must()
    for group in groups:
        eventually(lambda: state_namespace.api.get(f"/apis/{group}/v1/foos").must())
    yield groups
    for group in groups:
        state_namespace.api.delete(f"{path}/foos.{group}").must()


def type_in(cluster, command):
    """As a person would, in a shell, once."""
    path = f"{Path(tool('kubectl')).parent}:{os.environ['PATH']}"
    result = cluster.run("env", f"PATH={path}", f"KUBECONFIG={cluster.kubeconfig}", "bash", "-c",
                         command, check=False)
    if result.returncode != 0:
        pytest.fail(f"{command}: {result.stderr}")


def ask_again(spec):
    """Instead of at its next try, which is a while later."""
    now = {"metadata": {"annotations": {"api.kusion.io/reconcile-requested-at": str(time.time())}}}
    spec.cluster.api.patch(spec.path, now)


def messages(spec):
    """Those of Ready and of each resource that failed."""
    status = (spec.get() or {}).get("status", {})
    failed = status.get("resources", {}).get("failed", [])
    ready = [one for one in status.get("conditions", []) if one["type"] == "Ready"]
    return [one["message"] for one in ready + failed]


def hints(spec):
    return {hint for message in messages(spec) for hint in HINT.findall(message)}


def follow(spec, is_done):
    """Types whatever it says, each command once, until it is done. Gives what was typed."""
    typed = []

    def step():
        for command in sorted(hints(spec) - set(typed)):
            type_in(spec.cluster, command)
            typed.append(command)
        assert is_done(), (messages(spec), typed)
        return True

    def try_again():
        ask_again(spec)
        return eventually(step, 2)

    eventually(try_again, 60)
    return typed


def is_ready(spec):
    return (spec.condition() or {}).get("status") == "True"


def is_gone(spec):
    return spec.cluster.api.get(spec.path).code == 404


def test_all_that_is_said_can_be_typed(controlled, team, foos):
    """Of two teams, one after the other, which write into a third namespace as well."""
    third, specs = team(), []
    for name in (team(), team()):
        things = [config_map("a", name), role("a", name), namespace(f"{name}-space"),
                  config_map("b", f"{name}-space"), role("b", f"{name}-space"),
                  config_map(f"of-{name}", third), role(f"of-{name}", third),
                  *(foo(group, name) for group in foos)]
        spec = Spec(controlled, name).apply(things)
        typed = follow(spec, lambda: is_ready(spec))
        # a ClusterRole for Namespaces and for either Foo; edit and admin in three namespaces
        assert len(typed) == 9, typed
        specs.append(spec)
    for spec in specs:
        controlled.api.delete(spec.path).must()
        follow(spec, lambda: is_gone(spec))
        assert controlled.api.get(f"/api/v1/namespaces/{spec.namespace}-space").code == 404


def follow_to_its_end(cluster, namespace, resources):
    """Of a Spec that is made and deleted. Gives what was typed for the deletion alone."""
    spec = Spec(cluster, namespace).apply(resources)
    follow(spec, lambda: is_ready(spec))
    cluster.api.delete(spec.path).must()
    return follow(spec, lambda: is_gone(spec))


@pytest.mark.parametrize("content, named", (
    (True, "roles.rbac.authorization.k8s.io"),
    (False, "$(kubectl api-resources "),
), ids=("few kinds", "more kinds than a message holds"))
def test_a_namespace_goes_when_its_content_may_be_listed(controlled, team, content, named):
    name = team()
    space = f"{name}-space"
    resources = [namespace(space), *([config_map("a", space)] if content else [])]
    typed = follow_to_its_end(controlled, name, resources)
    assert len(typed) == 1 and named in typed[0], typed
    assert "--verb=list " in typed[0] and f"--namespace={space}" in typed[0]
    assert controlled.api.get(f"/api/v1/namespaces/{space}").code == 404


def test_a_definition_goes_when_its_objects_may_be_listed(controlled, team):
    name = team()
    group = f"{name}.example.com"
    typed = follow_to_its_end(controlled, name, [resource(definition(group))])
    assert len(typed) == 1 and f"--verb=list --resource=foos.{group} " in typed[0], typed
    assert controlled.get_json("crd", f"foos.{group}") is None
