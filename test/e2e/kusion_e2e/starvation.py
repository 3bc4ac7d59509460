"""What one tenant does so that the operator has no time for another, and how long the other waits.
For test_tenants_fairness.py and `hack/bench fairness`."""

import time

from kusion_e2e.api import Api
from kusion_e2e.kinds import new_release, path_of
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.tenancy import DEPLOYER
from kusion_e2e.wait import eventually
from kusion_e2e.webhook import Webhook

BEGUN = 120  # seconds in which the operator has to have begun with all of it
LARGE = 70_000  # bytes of a Spec that the operator takes for large
FOR_EVER = "9999h"


def _apply(tenant, name, resources, **fields):
    spec = Spec(tenant, tenant.namespace, name)
    return spec.apply(resources, serviceAccountName=DEPLOYER, **fields)


def balancer(namespace, name):
    """Nobody gives an address to it: it never gets healthy."""
    return resource({"apiVersion": "v1", "kind": "Service",
                     "metadata": {"name": name, "namespace": namespace},
                     "spec": {"type": "LoadBalancer", "ports": [{"port": 1}]}})


class Burden:
    """Begun in a namespace of its own. `begin` returns when the operator has come to all of it."""

    def __init__(self, tenancy, count):
        self.tenancy, self.count = tenancy, count
        self.tenant = None

    def begin(self):
        self.tenant = self.tenancy.tenant("burden").allow("", "configmaps", "services", "secrets")
        for number in range(self.count):
            self.add(number)
        eventually(self.is_begun, BEGUN, every=0.5)

    def add(self, number):
        raise NotImplementedError

    def is_begun(self):
        """All Specs have a status. (A list at any version is one that etcd is not asked for.)"""
        path = path_of("Spec", self.tenant.namespace) + "?resourceVersion=0"
        found = self.tenancy.cluster.api.get(path).must().object["items"]
        return sum("conditions" in one.get("status", {}) for one in found) >= self.count

    def ready(self):
        """The names of its Specs that are Ready."""
        found = self.tenancy.cluster.api.get(path_of("Spec", self.tenant.namespace)).must().object["items"]
        return [spec["metadata"]["name"] for spec in found
                for one in spec.get("status", {}).get("conditions", [])
                if (one["type"], one["status"]) == ("Ready", "True")]

    def end(self):
        """Its Specs go, where there is an operator that lets them."""
        if self.tenant is None or self.tenancy.operator.process.poll() is not None:
            return
        path = path_of("Spec", self.tenant.namespace)
        self.tenancy.cluster.api.delete(path).must()
        eventually(lambda: not self.tenancy.cluster.api.get(path).must().object["items"], 300,
                   every=0.5)


class Unhealthy(Burden):
    """Specs that wait for ever."""

    def add(self, number):
        thing = balancer(self.tenant.namespace, f"s-{number}")
        _apply(self.tenant, f"wait-{number}", [thing], timeout=FOR_EVER)


class Large(Burden):
    """The same, of a size that is not kept in memory lightly."""

    def add(self, number):
        namespace = self.tenant.namespace
        things = [config_map(f"c-{number}-{i}", namespace, {"text": "x" * 1000})
                  for i in range(LARGE // 1000)]
        things.append(balancer(namespace, f"s-{number}"))
        _apply(self.tenant, f"large-{number}", things, timeout=FOR_EVER)


class Failing(Burden):
    """Specs that are refused, and want to be tried again each second."""

    def add(self, number):
        thing = resource({"apiVersion": "v1", "kind": "Service",
                          "metadata": {"name": f"s-{number}", "namespace": self.tenant.namespace},
                          "spec": {"type": "None", "ports": [{"port": 1}]}})
        _apply(self.tenant, f"fail-{number}", [thing], retryInterval="1s")


class Hanging(Burden):
    """Specs whose objects an admission webhook does not answer for."""

    def __init__(self, tenancy, count):
        super().__init__(tenancy, count)
        self.webhook = Webhook(tenancy.directory, lambda request: None)

    def add(self, number):
        namespace = self.tenant.namespace
        if number == 0:
            self.webhook.register(self.tenancy.cluster, "hangs", namespace, ["configmaps"])
            time.sleep(2)  # it is at work some time after it was made
        things = [config_map(f"c-{number}-{i}", namespace) for i in range(20)]
        _apply(self.tenant, f"hang-{number}", things)

    def is_begun(self):
        return self.webhook.requests >= self.count

    def end(self):
        self.webhook.unregister(self.tenancy.cluster, "hangs")
        self.webhook.end()  # it lets go of those that it holds
        super().end()


class Previews(Burden):
    """Previews of one Spec of many resources."""

    def __init__(self, tenancy, count, resources):
        super().__init__(tenancy, count)
        self.resources = resources

    def add(self, number):
        namespace = self.tenant.namespace
        if number == 0:
            things = [config_map(f"c-{i}", namespace) for i in range(self.resources)]
            _apply(self.tenant, "many", things, suspend=True)
        body = new_release(f"look-{number}", operation="Preview", specRef={"name": "many"})
        self.tenant.api.create(path_of("Release", namespace), body).must()

    def is_begun(self):
        return True


class References(Burden):
    """Specs of many references to secrets."""

    REFERENCES = 12_000
    OF_ONE = 2_000

    def add(self, number):
        namespace = self.tenant.namespace
        secret = resource({"apiVersion": "v1", "kind": "Secret",
                           "metadata": {"name": f"s-{number}", "namespace": namespace},
                           "data": {"p": "cHBw"}})
        value = f"$kusion_path.{secret['id']}.data.p"
        data = {str(key): value for key in range(self.OF_ONE)}
        things = [config_map(f"c-{number}-{i}", namespace, data)
                  for i in range(self.REFERENCES // self.OF_ONE)]
        _apply(self.tenant, f"refer-{number}", [secret, *things], interval="1s")


class Other:
    """The other tenant, whose Specs are of one ConfigMap."""

    def __init__(self, tenancy):
        self._tenancy = tenancy
        self._tenant = tenancy.tenant("other").allow("", "configmaps")
        self._api = Api(tenancy.cluster.kubeconfig)
        self._number = 0

    def _until(self, path, is_there, patience):
        """Seconds from now on; those that it was waited for if it never is."""
        started = time.monotonic()
        while (took := time.monotonic() - started) < patience:
            if is_there(self._api.get(path).must().object.get("status", {})):
                return took
            time.sleep(0.02)
        return took

    def probe(self, patience=60):
        """From the creation of one more Spec to Ready."""
        self._number += 1
        name, namespace = f"one-{self._number}", self._tenant.namespace
        started = time.monotonic()
        spec = _apply(self._tenant, name, [config_map(name, namespace)])
        applied = time.monotonic() - started
        return applied + self._until(spec.path, lambda status: any(
            one["type"] == "Ready" and one["status"] == "True"
            for one in status.get("conditions", [])), patience)

    def preview(self, patience=180):
        """From the creation of a Preview of the Spec that was made last, to its end."""
        namespace, name = self._tenant.namespace, f"look-{self._number}-{time.monotonic_ns()}"
        body = new_release(name, operation="Preview", specRef={"name": f"one-{self._number}"})
        self._tenant.api.create(path_of("Release", namespace), body).must()
        return self._until(path_of("Release", namespace, name),
                           lambda status: status.get("phase") == "succeeded", patience)
