"""A Spec whose namespace is deleted, and with it the ServiceAccount that it acts as."""

from kusion_e2e.rights import account, wait_until_may
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.states import states
from kusion_e2e.wait import eventually


def is_gone(cluster, path):
    return cluster.api.get(path).code == 404


def test_the_namespace_goes_and_state_with_it(controlled, tenant):
    spec = Spec(controlled, tenant).apply([config_map("a", tenant), config_map("b", tenant)])
    spec.wait("True")
    controlled.api.delete(f"/api/v1/namespaces/{tenant}").must()
    eventually(lambda: is_gone(controlled, f"/api/v1/namespaces/{tenant}"), seconds=150)
    assert states(controlled, tenant) == []


def test_objects_elsewhere_go_too(controlled, tenant):
    other = controlled.new_namespace("other")
    try:
        spec = Spec(controlled, tenant).apply(
            [config_map("here", tenant), config_map("there", other)])
        spec.wait("True")
        controlled.api.delete(f"/api/v1/namespaces/{tenant}").must()
        eventually(lambda: is_gone(controlled, f"/api/v1/namespaces/{tenant}"), seconds=150)
        assert is_gone(controlled, f"/api/v1/namespaces/{other}/configmaps/there")
        assert states(controlled, tenant) == []
    finally:
        controlled.delete_namespace(other)


def test_rights_that_go_with_the_namespace_do_not_hold_it(controlled):
    """As most tenants have it: a RoleBinding in their namespace, which is deleted right away."""
    name = controlled.new_namespace("bound")
    controlled.kubectl("create", "rolebinding", "deployer", "-n", name, "--clusterrole=admin",
                       f"--serviceaccount={name}:default")
    wait_until_may(controlled, account(name), "create", "configmaps", name)
    implied = config_map("b", name, id="v1:ConfigMap:b")
    del implied["attributes"]["metadata"]["namespace"]  # the Spec's own
    spec = Spec(controlled, name).apply([config_map("a", name), implied])
    spec.wait("True")
    controlled.api.delete(f"/api/v1/namespaces/{name}").must()
    eventually(lambda: is_gone(controlled, f"/api/v1/namespaces/{name}"), seconds=150)
    assert states(controlled, name) == []
