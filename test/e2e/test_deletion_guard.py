"""What holds others' things is not deleted with them, and rights go last."""

import json
import re
import time

import pytest

from kusion_e2e.rights import account, wait_until_may
from kusion_e2e.shell import type_in
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.state_backend import need_objects
from kusion_e2e.wait import eventually

GUARD_DISABLED = {"api.kusion.io/deletion-guard": "disabled"}


@pytest.fixture
def space(tenant):
    """The name of a Namespace for a Spec to make."""
    return f"{tenant}-space"


def namespace(name, annotations=None):
    return resource({"apiVersion": "v1", "kind": "Namespace",
                     "metadata": {"name": name, "annotations": annotations or {}}})


def definition(group):
    return resource({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {"group": group, "scope": "Namespaced",
                 "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "schema": {
                     "openAPIV3Schema": {"type": "object"}}}]}})


def put(cluster, path, api_version, kind, name, **more):
    """An object that someone else makes."""
    body = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **more}}
    cluster.api.create(path, body).must()
    return f"{path}/{name}"


def put_map(cluster, space, name="theirs", **more):
    return put(cluster, f"/api/v1/namespaces/{space}/configmaps", "v1", "ConfigMap", name, **more)


def is_there(cluster, path):
    found = cluster.api.get(path)
    return found.ok and "deletionTimestamp" not in found.object["metadata"]


def conditions(spec):
    found = spec.get()
    assert found, "it is gone"
    return {one["type"]: one for one in found["status"]["conditions"]}


def tripped(spec):
    """Until the guard has tripped. Gives the message."""

    def check():
        ready = conditions(spec)["Ready"]
        assert (ready["status"], ready["reason"]) == ("False", "DeletionGuardTripped"), ready
        return ready["message"]

    message = eventually(check)
    assert conditions(spec)["Stalled"]["status"] == "True"
    spec.wait_event("DeletionGuardTripped", message.replace("\n", "; "))  # in one line
    return message


def begin_delete(spec):
    spec.cluster.api.delete(spec.path).must()


def ask_again(spec):
    """It is tried again by itself; asked for, it is at once."""
    now = {"metadata": {"annotations": {"api.kusion.io/reconcile-requested-at": str(time.time())}}}
    spec.cluster.api.patch(spec.path, now)


def wait_gone(spec):
    ask_again(spec)
    eventually(lambda: spec.cluster.api.get(spec.path).code == 404, seconds=150)


def test_a_namespace_waits_for_what_others_made_in_it(controlled, tenant, space):
    need_objects()
    spec = Spec(controlled, tenant).apply([namespace(space), config_map("ours", space),
                                           config_map("beside", tenant)])
    spec.wait("True")
    theirs = [put_map(controlled, space, f"theirs-{i}") for i in range(5)]
    begin_delete(spec)
    message = tripped(spec)
    assert 'ConfigMap "theirs-0", ConfigMap "theirs-1", ConfigMap "theirs-2" and 2 more' in message
    assert f"kubectl annotate namespace {space} api.kusion.io/deletion-guard=disabled" in message
    assert is_there(controlled, f"/api/v1/namespaces/{space}")
    assert all(is_there(controlled, path) for path in theirs)
    for path in (f"/api/v1/namespaces/{space}/configmaps/ours",
                 f"/api/v1/namespaces/{tenant}/configmaps/beside"):
        assert controlled.api.get(path).code == 404, "what is not in the way goes"
    assert "finalizers" in spec.get()["metadata"]
    since = conditions(spec)["Ready"]["lastTransitionTime"]
    tried = spec.releases()[-1]["metadata"]["resourceVersion"]
    ask_again(spec)
    eventually(lambda: spec.releases()[-1]["metadata"]["resourceVersion"] != tried)
    assert conditions(spec)["Ready"]["lastTransitionTime"] == since, "a retry does not flap"
    for path in theirs:
        controlled.api.delete(path).must()
    wait_gone(spec)
    assert controlled.api.get(f"/api/v1/namespaces/{space}").code == 404


def test_nothing_is_in_the_way_that_belongs_to_something(controlled, tenant, space):
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": space},
               "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}
    spec = Spec(controlled, tenant).apply([namespace(space), resource(service)])
    spec.wait("True")
    put_map(controlled, space, "child", ownerReferences=[
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "none", "uid": "none", "controller": True}])
    put(controlled, f"/apis/coordination.k8s.io/v1/namespaces/{space}/leases",
        "coordination.k8s.io/v1", "Lease", "leader")
    spec.delete()
    assert controlled.api.get(f"/api/v1/namespaces/{space}").code == 404


@pytest.mark.parametrize("where", ("the Spec", "the object"))
def test_the_annotation_lets_it_go(controlled, tenant, space, where):
    spec = Spec(controlled, tenant).apply([namespace(space, GUARD_DISABLED if where == "the Spec" else None)])
    spec.wait("True")
    put_map(controlled, space)
    begin_delete(spec)
    if where == "the object":
        [command] = re.findall(r"\nto delete it with all that it holds: (.*)", tripped(spec))
        type_in(controlled, command)  # as printed: it allows it, and asks for the next try
    eventually(lambda: spec.cluster.api.get(spec.path).code == 404)
    assert controlled.api.get(f"/api/v1/namespaces/{space}").code == 404


def test_a_definition_waits_for_others_objects(controlled, tenant):
    group = f"{tenant}.example.com"
    spec = Spec(controlled, tenant).apply([definition(group)])
    spec.wait("True")
    theirs = put(controlled, f"/apis/{group}/v1/namespaces/{tenant}/things", f"{group}/v1", "Thing",
                 "theirs")
    begin_delete(spec)
    message = tripped(spec)
    assert f'Thing "{tenant}/theirs",' in message
    assert f"kubectl annotate crd things.{group} api.kusion.io/deletion-guard=disabled" in message
    assert is_there(controlled, theirs)
    controlled.api.delete(theirs).must()
    wait_gone(spec)
    assert controlled.get_json("crd", f"things.{group}") is None


def test_a_namespace_that_leaves_the_spec_waits_too(controlled, tenant, space):
    spec = Spec(controlled, tenant).apply([namespace(space), config_map("a", tenant)])
    spec.wait("True")
    theirs = put_map(controlled, space)
    spec.apply([config_map("a", tenant, {"a": "new"})], retryInterval="2s")
    assert 'ConfigMap "theirs"' in tripped(spec)
    assert is_there(controlled, theirs)
    a = controlled.api.get(f"/api/v1/namespaces/{tenant}/configmaps/a").must().object
    assert a["data"] == {"a": "new"}, "the rest is applied"
    controlled.api.delete(theirs).must()
    spec.wait("True")
    assert controlled.api.get(f"/api/v1/namespaces/{space}").code == 404
    spec.delete()


@pytest.fixture
def robots(state_namespace):
    """A namespace whose ServiceAccount `robot` has no rights yet."""
    name = state_namespace.new_namespace("robots")
    state_namespace.kubectl("create", "serviceaccount", "robot", "-n", name)
    yield name
    state_namespace.kubectl("delete", "clusterrolebinding,clusterrole", name, f"{name}-list",
                            "--ignore-not-found")
    state_namespace.delete_namespace(name)


def test_what_may_not_be_listed_is_not_taken_for_nothing(controlled, robots):
    space = f"{robots}-space"
    controlled.kubectl("create", "clusterrole", robots, "--verb=get,list,watch,create,patch,delete",
                       "--resource=namespaces,configmaps")
    controlled.kubectl("create", "clusterrolebinding", robots, f"--clusterrole={robots}",
                       f"--serviceaccount={robots}:robot")
    wait_until_may(controlled, account(robots, "robot"), "create", "namespaces")
    spec = Spec(controlled, robots).apply([namespace(space)], serviceAccountName="robot")
    spec.wait("True")
    begin_delete(spec)
    message = tripped(spec)
    assert f"{robots}:robot may not list " in message and " more" in message
    assert "configmaps" not in message
    assert is_there(controlled, f"/api/v1/namespaces/{space}")
    rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["list"]}
    controlled.apply(json.dumps({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": f"{robots}-list"}, "rules": [rule]}))
    controlled.kubectl("create", "clusterrolebinding", f"{robots}-list",
                       f"--clusterrole={robots}-list", f"--serviceaccount={robots}:robot")
    wait_until_may(controlled, account(robots, "robot"), "list", "*", group="*")
    wait_gone(spec)


def test_a_spec_that_holds_its_own_rights_ends(controlled, robots):
    controlled.kubectl("create", "rolebinding", "robot", "--clusterrole=admin",
                       f"--serviceaccount={robots}:robot", "-n", robots)
    wait_until_may(controlled, account(robots, "robot"), "create", "configmaps", robots)
    robot = {"apiVersion": "v1", "kind": "ServiceAccount",
             "metadata": {"name": "robot", "namespace": robots}}
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
               "metadata": {"name": "robot", "namespace": robots},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                           "name": "admin"},
               "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": robots}]}
    maps = [config_map(f"map-{i}", robots) for i in range(20)]
    slow = config_map("slow", robots)
    slow["attributes"]["metadata"]["finalizers"] = ["example.com/wait"]
    spec = Spec(controlled, robots).apply([resource(robot), resource(binding), *maps, slow],
                                          serviceAccountName="robot")
    spec.wait("True")
    begin_delete(spec)
    path = f"/api/v1/namespaces/{robots}/configmaps/slow"
    eventually(lambda: not is_there(controlled, path))
    bindings = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{robots}/rolebindings/robot"
    eventually(lambda: controlled.api.get(
        f"/api/v1/namespaces/{robots}/configmaps/map-19").code == 404)
    assert is_there(controlled, bindings), "while something is left to do"
    assert is_there(controlled, f"/api/v1/namespaces/{robots}/serviceaccounts/robot")
    controlled.api.patch(path, {"metadata": {"finalizers": None}}).must()
    wait_gone(spec)
    assert controlled.api.get(bindings).code == 404
    assert controlled.api.get(f"/api/v1/namespaces/{robots}/serviceaccounts/robot").code == 404


def test_what_it_may_delete_no_more_is_told_and_can_be_left(controlled, robots):
    """A Role that gives all rights but to delete Roles, with its binding: when that is gone, the
    Role stays. (Had it given this right too, it would be there for a moment after its binding.)"""
    rbac, keep = "rbac.authorization.k8s.io", ["get", "list", "watch", "create", "patch"]
    role = {"apiVersion": f"{rbac}/v1", "kind": "Role",
            "metadata": {"name": "robot", "namespace": robots},
            "rules": [{"apiGroups": [rbac], "resources": ["roles"], "verbs": keep},
                      {"apiGroups": ["", rbac], "resources": ["configmaps", "rolebindings"],
                       "verbs": [*keep, "delete"]}]}
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
               "metadata": {"name": "robot", "namespace": robots},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role",
                           "name": "robot"},
               "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": robots}]}
    for one in (role, binding):
        controlled.apply(json.dumps(one))
    wait_until_may(controlled, account(robots, "robot"), "create", "configmaps", robots)
    spec = Spec(controlled, robots).apply(
        [resource(role), resource(binding), config_map("a", robots)], serviceAccountName="robot")
    spec.wait("True")
    begin_delete(spec)

    def told():
        ready = conditions(spec)["Ready"]
        assert ready["reason"] == "AccessDenied", ready
        return ready["message"]

    message = eventually(told)
    assert "Role:" in message and "kubectl create" in message and "Orphan" in message
    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{robots}"
    assert controlled.api.get(f"{path}/rolebindings/robot").code == 404
    assert is_there(controlled, f"{path}/roles/robot")
    controlled.api.patch(spec.path, {"spec": {"deletionPolicy": "Orphan"}}).must()
    wait_gone(spec)
    assert is_there(controlled, f"{path}/roles/robot")


def test_a_namespace_does_not_leave_without_its_content(controlled, tenant, space):
    """The Spec names what is in it still: our own label on that is no leave to delete it."""
    spec = Spec(controlled, tenant).apply([namespace(space), config_map("a", space)])
    spec.wait("True")
    spec.apply([config_map("a", space)])
    message = spec.wait("False")["message"]
    assert spec.condition()["reason"] == "DeletionGuardTripped" and f"{space}:a" in message
    assert is_there(controlled, f"/api/v1/namespaces/{space}/configmaps/a")
    spec.apply([namespace(space), config_map("a", space)])
    spec.wait("True")
    spec.delete()
    eventually(lambda: controlled.api.get(f"/api/v1/namespaces/{space}").code == 404)


def test_what_is_of_a_version_that_is_served_no_more_is_deleted_by_another(controlled, tenant):
    group = f"{tenant}.example.com"
    crd = definition(group)["attributes"]
    old, new = crd["spec"]["versions"][0], dict(crd["spec"]["versions"][0])
    old.update(name="v1beta1", storage=False)
    crd["spec"]["versions"] = [old, new]
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    controlled.api.create(path, crd).must()
    thing = {"apiVersion": f"{group}/v1beta1", "kind": "Thing",
             "metadata": {"name": "t", "namespace": tenant}}
    things = f"/apis/{group}/v1/namespaces/{tenant}/things"
    eventually(lambda: controlled.api.get(things).must())
    spec = Spec(controlled, tenant).apply([resource(thing)])
    spec.wait("True")
    old["served"] = False
    controlled.api.apply(f"{path}/things.{group}", json.dumps(crd), "other").must()
    eventually(lambda: controlled.api.get(f"/apis/{group}/v1beta1").code == 404)
    time.sleep(1.5)  # what the controller knows of the server is a second old at most
    spec.delete()
    assert controlled.api.get(things).must().object["items"] == []
    controlled.api.delete(f"{path}/things.{group}").must()
