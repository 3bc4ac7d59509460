"""What a message says would give a missing right does, typed as it is, and gives nothing else."""

import re
import time

import pytest

from kusion_e2e.shell import type_in
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.wait import eventually

VERBS = ("get", "list", "watch", "create", "patch", "delete")

# On a line of its own, which no text of others can be.
HINT = re.compile(r"\nto allow it(?: for this object alone \([^)]*\))?: (kubectl create .*)")


def namespace(name):
    return resource({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


def role(name, namespace):
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
    return resource({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
                     "metadata": {"name": name, "namespace": namespace}, "rules": [rule]})


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
        cluster.leave_namespace(name)
        for kind in ("clusterrolebinding", "clusterrole"):
            names = cluster.kubectl("get", kind, "-o", "name").stdout.split()
            given = [one for one in names if f"/kusion:{name}:" in one]
            if given:
                cluster.kubectl("delete", *given)


def must_work(cluster, command):
    """Typed as a person would, once."""
    result = type_in(cluster, command)
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
            must_work(spec.cluster, command)
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


def test_all_that_is_said_can_be_typed(controlled, team):
    """All verbs that the account lacks at once, on one kind, in the Spec's own namespace."""
    name = team()
    must_work(controlled, f"kubectl create role some --namespace={name} --verb=get,list "
                        f"--resource=configmaps && kubectl create rolebinding some --role=some "
                        f"--namespace={name} --serviceaccount={name}:default")
    spec = Spec(controlled, name).apply([config_map("a", name)])
    typed = follow(spec, lambda: is_ready(spec))
    controlled.api.delete(spec.path).must()
    typed += follow(spec, lambda: is_gone(spec))
    assert len(typed) == 1, typed
    missing = [verb for verb in VERBS if verb not in ("get", "list")]
    assert re.findall(r"--verb=(\S+)", typed[0]) == [",".join(missing)], typed
    assert re.findall(r"--resource=(\S+)", typed[0]) == ["configmaps"], typed
    assert set(re.findall(r"--namespace=(\S+)", typed[0])) == {name}, typed
    assert "cluster" not in typed[0], typed


def secret(name, namespace):
    return resource({"apiVersion": "v1", "kind": "Secret",
                     "metadata": {"name": name, "namespace": namespace}})


def test_what_gives_rights_is_given_one_by_one(controlled, team):
    """Neither list nor watch, which show all Secrets; and no other object of the kind."""
    name = team()
    nothing = role("a:b", name)
    nothing["attributes"]["rules"] = []  # an account gives no rights that it lacks
    things = [secret("a", name), secret("b", name), nothing]
    spec = Spec(controlled, name).apply(things)
    typed = follow(spec, lambda: is_ready(spec))
    controlled.api.delete(spec.path).must()
    typed += follow(spec, lambda: is_gone(spec))
    assert len(typed) == 3, typed
    assert set(re.findall(r"--verb=(\S+)", " ".join(typed))) == {"get,create,patch,delete"}, typed
    assert sorted(re.findall(r"--resource-name=(\S+)", " ".join(typed))) == ["a", "a:b", "b"], typed


def test_a_namespace_that_does_not_exist_is_no_missing_right(controlled, team):
    """Where the account may know; else it is not told."""
    name = team()
    spec = Spec(controlled, name).apply([config_map("a", f"{name}-not")])
    ready = spec.wait("False")
    assert ready["reason"] == "AccessDenied" and "if there is such a namespace" in ready["message"]
    look = f"kusion:{name}:default:look"
    must_work(controlled, f"kubectl create clusterrole {look} --verb=get --resource=namespaces && "
                        f"kubectl create clusterrolebinding {look} --clusterrole={look} "
                        f"--serviceaccount={name}:default")
    ask_again(spec)
    eventually(lambda: (spec.condition() or {}).get("reason") == "NamespaceNotFound", 20)
    assert f"kubectl create namespace {name}-not" in spec.condition()["message"]
    assert spec.condition("Reconciling"), spec.get()["status"]
    spec.delete()


def test_what_is_not_the_specs_own_is_not_offered(controlled, team):
    """However much its author would like it."""
    name, third = team(), team()
    things = [config_map("a", third), config_map("a", "kube-system"), role("a", "kusion-system"),
              namespace(f"{name}-space")]
    spec = Spec(controlled, name).apply(things)
    ready = spec.wait("False")
    assert ready["reason"] == "AccessDenied", ready
    failed = spec.get()["status"]["resources"]["failed"]
    assert {one["reason"] for one in failed} == {"AccessDenied"}, failed
    assert len(failed) == len(things), failed
    assert not [one for one in messages(spec) if "kubectl create" in one], messages(spec)
    controlled.api.delete(spec.path).must()
    eventually(lambda: is_gone(spec))


def may_list(cluster, name, space):
    """As docs/troubleshooting.md has it."""
    who = f"kusion:{name}:default:list"
    must_work(cluster, f"kubectl create role {who} --namespace={space} --verb=list --resource="
                     '"$(kubectl api-resources --namespaced --verbs=list,delete -o name | '
                     'paste -sd, -)" && '
                     f"kubectl create rolebinding {who} --namespace={space} --role={who} "
                     f"--serviceaccount={name}:default")


def test_a_namespace_goes_when_its_content_may_be_listed(controlled, team):
    name = team()
    space = f"{name}-space"
    cluster_wide = f"kusion:{name}:default:namespaces"
    must_work(controlled, f"kubectl create clusterrole {cluster_wide} --resource=namespaces "
                        "--verb=get,list,watch,create,patch,delete && "
                        f"kubectl create clusterrolebinding {cluster_wide} "
                        f"--clusterrole={cluster_wide} --serviceaccount={name}:default")
    spec = Spec(controlled, name).apply([namespace(space)])
    spec.wait("True")
    controlled.api.delete(spec.path).must()

    def is_held():
        held = [one for one in messages(spec) if "may not list" in one]
        assert held, messages(spec)
        return held[0]

    message = eventually(is_held)
    assert "kubectl create" not in message, message
    may_list(controlled, name, space)
    ask_again(spec)
    eventually(lambda: is_gone(spec), 60)
    assert controlled.api.get(f"/api/v1/namespaces/{space}").code == 404
