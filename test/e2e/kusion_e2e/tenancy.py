"""A cluster that several tenants share: a control plane with an audit log, the chart as it is, and
the operator with exactly the rights and the flags that the chart gives to it. A tenant may write
Specs, Releases and ServiceAccounts of one namespace, and has an account there that its Specs act
as."""

import json
import socket
import urllib.error
import urllib.request

import yaml

from kusion_e2e.api import Api
from kusion_e2e.audit import Audit
from kusion_e2e.chart import NAME, OWN, Chart
from kusion_e2e.cluster import Cluster
from kusion_e2e.controller import Controller
from kusion_e2e.kinds import path_of
from kusion_e2e.rights import account, wait_until_may
from kusion_e2e.wait import eventually

DEPLOYER = "deployer"
EVERYTHING = ["get", "list", "watch", "create", "update", "patch", "delete"]
RBAC = "rbac.authorization.k8s.io"

# What a tenant may do itself.
OF_TENANTS = [
    {"apiGroups": ["api.kusion.io"], "resources": ["specs", "releases"], "verbs": EVERYTHING},
    {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": EVERYTHING},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["get", "list"]},
]


def free_address():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{one.getsockname()[1]}"


def fetch(address, path, timeout=10):
    """Status code and body of what the operator serves."""
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=timeout) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class ApiAs(Api):
    """The API server, as another user."""

    def __init__(self, kubeconfig, user):
        super().__init__(kubeconfig)
        self._headers["Impersonate-User"] = user


def forge_record(tenant_api, cluster, namespace, release):
    """A Release that looks like one of the operator's own. The chart's policy refuses it; it is
    there all the same, as without that policy, which works some time after it was made."""
    path = path_of("Release", namespace)
    eventually(lambda: not tenant_api.create(f"{path}?dryRun=All", release).ok)
    answer = tenant_api.create(path, release)
    assert not answer.ok and "is for the operator's own Releases" in answer.message, answer
    return cluster.api.create(path, release).must().object


class Operator(Controller):
    """What the chart's Deployment runs, with its token. flags come after the chart's."""

    def __init__(self, cluster, directory, flags=(), **more):
        self.health, self.metrics = free_address(), free_address()
        given = [word.replace("$(POD_NAMESPACE)", OWN) for word in self._container(cluster)["args"]]
        super().__init__(cluster, self._kubeconfig(cluster, directory), OWN, [
            *given, "--health-bind-address", self.health, "--metrics-bind-address", self.metrics,
            *flags], **more)

    @staticmethod
    def _container(cluster):
        deployment = cluster.get_json("deployment", NAME, "-n", OWN)
        return deployment["spec"]["template"]["spec"]["containers"][0]

    @staticmethod
    def _kubeconfig(cluster, directory):
        token = cluster.kubectl("create", "token", NAME, "-n", OWN, "--duration=4h").stdout.strip()
        config = yaml.safe_load(cluster.kubeconfig.read_text())
        for user in config["users"]:
            user["user"] = {"token": token}
        path = directory / "kubeconfig"
        path.write_text(yaml.safe_dump(config))
        return path


class Tenant:
    """Stands in for a Cluster where a Spec wants one: its api is the tenant's."""

    def __init__(self, cluster, name):
        self.cluster, self.user = cluster, f"{name}@example.com"
        self.namespace = cluster.new_namespace(name)
        self.account = account(self.namespace, DEPLOYER)
        self.api = ApiAs(cluster.kubeconfig, self.user)
        self._give("author", OF_TENANTS, {"kind": "User", "name": self.user, "apiGroup": RBAC})
        cluster.kubectl("create", "serviceaccount", DEPLOYER, "-n", self.namespace)
        wait_until_may(cluster, self.user, "create", "specs", self.namespace, "api.kusion.io")

    def allow(self, group, *resources, verbs=("get", "list", "watch", "create", "patch", "delete")):
        """The account that its Specs act as, in its own namespace."""
        rule = {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
        subject = {"kind": "ServiceAccount", "name": DEPLOYER, "namespace": self.namespace}
        self._give("-".join([DEPLOYER, group.replace(".", "-"), *resources]).replace("/", "-"),
                   [rule], subject)
        wait_until_may(self.cluster, self.account, verbs[0], resources[-1], self.namespace, group)
        return self

    def _give(self, name, rules, subject):
        metadata = {"name": name, "namespace": self.namespace}
        self.cluster.apply("---\n".join(json.dumps(one) + "\n" for one in (
            {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": rules},
            {"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding", "metadata": metadata,
             "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name}, "subjects": [subject]})))


class Tenancy:
    """The cluster, and who is on it. The operator is started by `run`, and ends with it all."""

    def __init__(self, name, directory):
        self.cluster = Cluster.up(name, "--audit")
        self.directory = directory
        self.audit = Audit(name)
        self.operator = None
        try:
            self.cluster.kubectl("create", "namespace", OWN)
            Chart(self.cluster).install()
            self.cluster.wait_for_crds()
        except BaseException:
            self.cluster.down()
            raise

    def run(self, *flags, **more):
        self.operator = Operator(self.cluster, self.directory, flags, **more).wait_leading()
        return self.operator

    def tenant(self, name):
        return Tenant(self.cluster, name)

    def is_served(self, path):
        return fetch(self.operator.health, path)[0] == 200

    def down(self):
        """It must end well, unless it was starved of its Lease: that is for a test to say."""
        try:
            if self.operator:
                is_lost = '"the Lease is lost"' in self.operator.log.read_text()
                status = self.operator.stop()
                assert status == 0 or is_lost, status
        finally:
            self.cluster.down()
