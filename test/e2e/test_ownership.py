"""Objects of others: the condition says whose they are, and its commands hand them over as typed."""

from pathlib import Path

import pytest

from kusion_e2e.cluster import tool
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.wait import eventually

LABEL = "api.kusion.io/owner"


def type_command(cluster, message):
    """The commands that a message gives before it says when it is tried again, as a person types
    them."""
    command = message[message.index("kubectl"):].partition("\nnext try within ")[0]
    path = f"{Path(tool('kubectl')).parent}:/usr/bin:/bin"
    cluster.run("env", f"PATH={path}", f"KUBECONFIG={cluster.kubeconfig}", "sh", "-ec", command)


def data(cluster, namespace):
    return cluster.get_json("configmap", "a", "-n", namespace)["data"]


def refused(spec, resources):
    """What the condition says of an object that is another's."""
    spec.apply(resources, retryInterval="1s")
    ready = spec.wait("False")
    assert ready["reason"] == "ConflictDetected" and spec.condition("Stalled"), ready
    return ready["message"]


def test_from_one_spec_to_another(controlled, tenant):
    first = Spec(controlled, tenant, "first").apply([config_map("a", tenant)])
    first.wait("True")
    second = Spec(controlled, tenant, "second")
    message = refused(second, [config_map("a", tenant, {"a": "second"})])
    assert f'it belongs to the Spec "first" (label {LABEL}): remove it from one of the two' in message
    first.apply([config_map("a", tenant)], prune=False)
    first.wait("True")
    first.apply([], prune=False)
    first.wait("True")
    type_command(controlled, message)
    second.wait("True")
    assert data(controlled, tenant) == {"a": "second"}
    first.delete()
    assert data(controlled, tenant) == {"a": "second"}
    second.delete()


def test_from_a_spec_that_is_gone(controlled, tenant):
    first = Spec(controlled, tenant, "first").apply([config_map("a", tenant)],
                                                    deletionPolicy="Orphan")
    first.wait("True")
    first.delete()
    second = Spec(controlled, tenant, "second")
    message = refused(second, [config_map("a", tenant, {"a": "second"})])
    assert 'it belonged to the Spec "first", which does not exist any more' in message
    assert data(controlled, tenant) == {"a": "b"}
    type_command(controlled, message)
    second.wait("True")
    assert data(controlled, tenant) == {"a": "second"}
    second.delete()


def test_the_spec_of_another_tenant_is_not_named(controlled, tenant):
    """Its name is in an annotation of the object, for all who may read that."""
    other = controlled.new_namespace("other")
    first = Spec(controlled, tenant, "secret-plan").apply([config_map("a", other)])
    first.wait("True")
    second = Spec(controlled, other)
    controlled.kubectl("create", "rolebinding", "edit", "--clusterrole=edit", "-n", other,
                       f"--serviceaccount={other}:default")
    eventually(lambda: "belongs to" in refused(second, [config_map("a", other, {"a": "x"})]))
    message = second.condition()["message"]
    assert "it belongs to a Spec of another namespace" in message
    assert "secret-plan" not in message and tenant not in message
    second.delete()
    first.delete()
    controlled.delete_namespace(other)


@pytest.mark.parametrize("marks, tool_name", [
    ({"labels": {"app.kubernetes.io/managed-by": "Helm"},
      "annotations": {"meta.helm.sh/release-name": "foo"}}, "Helm"),
    ({"labels": {"kustomize.toolkit.fluxcd.io/name": "apps"}}, "Flux"),
    ({"annotations": {"argocd.argoproj.io/tracking-id": "web:/ConfigMap:x/a"}}, "Argo CD"),
], ids=["Helm", "Flux", "Argo CD"])
def test_from_another_tool(controlled, tenant, marks, tool_name):
    controlled.api.create(f"/api/v1/namespaces/{tenant}/configmaps", {
        "metadata": {"name": "a", **marks}, "data": {"a": "theirs"}}).must()
    spec = Spec(controlled, tenant)
    message = refused(spec, [config_map("a", tenant, {"a": "ours"})])
    assert f"it exists, and is managed by {tool_name} (" in message
    for part in marks.values():
        for key, value in part.items():
            assert f"{key}={value}" in message
    assert data(controlled, tenant) == {"a": "theirs"}
    type_command(controlled, message)
    spec.wait("True")
    assert data(controlled, tenant) == {"a": "ours"}
    spec.delete()
