"""Asks an API server who may do what."""

from contextlib import contextmanager

from kusion_e2e.wait import eventually

PATH = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


def account(namespace, name="default"):
    """The user that a ServiceAccount is."""
    return f"system:serviceaccount:{namespace}:{name}"


def groups_of(user):
    """Those that the API server gives to it."""
    prefix, _, account = user.rpartition("serviceaccount:")
    if prefix != "system:":
        return ["system:authenticated"]
    namespace = account.partition(":")[0]
    service_accounts = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
    return [*service_accounts, "system:authenticated"]


def may(cluster, user, verb, group, resource, namespace, name=""):
    """Whether the user may do it. The namespace is empty for all, and for what has none."""
    resource, _, subresource = resource.partition("/")
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": user,
            "groups": groups_of(user),
            "resourceAttributes": {
                "verb": verb,
                "group": group,
                "resource": resource,
                "subresource": subresource,
                "namespace": namespace,
                "name": name,
            },
        },
    }
    return cluster.api.create(PATH, review).must().object["status"]["allowed"]


BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"


@contextmanager
def bound(cluster, name, role, namespace):
    """A ClusterRoleBinding: to the default ServiceAccount of a namespace."""
    cluster.api.create(BINDINGS, {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": namespace}]}).must()
    yield
    cluster.api.delete(f"{BINDINGS}/{name}").must()


def wait_until_may(cluster, user, verb, resource, namespace="", group=""):
    """A right is there some time after its binding: the API server decides by what it watches."""
    eventually(lambda: may(cluster, user, verb, group, resource, namespace))
