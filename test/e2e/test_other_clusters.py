"""kubeConfig: Specs of one control plane, whose objects are in another."""

import base64
import http.server
import itertools
import os
import threading
from urllib.parse import urlsplit

import pytest
import yaml

from kusion_e2e.cluster import Cluster
from kusion_e2e.controller import Controller
from kusion_e2e.forwarder import Forwarder
from kusion_e2e.long import sampled
from kusion_e2e.releases import ask
from kusion_e2e.rights import account, wait_until_may
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.wait import eventually

SECRET = "/api/v1/namespaces/{}/secrets/{}"
QUICK = {"retryInterval": "1s", "timeout": "3s"}


def port_of(cluster):
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    return urlsplit(config["clusters"][0]["cluster"]["server"]).port


def kubeconfig_of(plane, port=None, token=None, **changes):
    """Of its administrator, or of who has the token; by way of a port."""
    config = yaml.safe_load(plane.kubeconfig.read_text())
    server = config["clusters"][0]["cluster"]
    server["server"] = f"https://127.0.0.1:{port or port_of(plane)}"
    if token:
        config["users"][0]["user"] = {"token": token}
    server.update(changes.get("cluster", {}))
    for key, value in changes.get("user", {}).items():
        config["users"][0]["user"][key] = value
    for key in changes.get("drop", ()):
        server.pop(key, None)
    if "namespace" in changes:
        config["contexts"][0]["context"]["namespace"] = changes["namespace"]
    return yaml.safe_dump(config)


def put_secret(cluster, namespace, text, name="there", key="value"):
    data = {key: base64.b64encode(text.encode()).decode()}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data}
    cluster.api.apply(SECRET.format(namespace, name), yaml.safe_dump(body)).must()


def at(name="there", key=None):
    ref = {"name": name, **({"key": key} if key else {})}
    return {"kubeConfig": {"secretRef": ref}}


def failure(spec, reason, text=""):
    """The message of its condition, which says so."""
    ready = spec.get()["status"]["conditions"][0]
    assert ready["status"] == "False" and ready["reason"] == reason, ready
    assert text in ready["message"], ready
    return ready["message"]


def fails(spec, reason, text="", seconds=60):
    """Until its condition says so. Gives the message."""
    return eventually(lambda: failure(spec, reason, text), seconds)


def notices(spec, reason, text=""):
    """The same, at checks that are requested: a Spec that is Ready and followed makes none by itself."""

    def looked():
        ask(spec)
        return failure(spec, reason, text)

    return eventually(looked)


def get(cluster, name, namespace):
    answer = cluster.api.get(f"/api/v1/namespaces/{namespace}/configmaps/{name}")
    return answer.object if answer.ok else None


@pytest.fixture(scope="module")
def there():
    """The other control plane."""
    with_own = Cluster.up(f"e2e-there-{os.getpid()}")
    yield with_own
    with_own.down()


@pytest.fixture(scope="module")
def operator(state_namespace):
    controller = Controller(state_namespace, flags=["--allow-cluster-address", "127.0.0.1"]).wait_leading()
    yield controller
    assert controller.stop() == 0


@pytest.fixture
def home(state_namespace, operator):
    return state_namespace


@pytest.fixture
def far(there):
    """A namespace of the other control plane."""
    name = there.new_namespace("far")
    yield name
    there.leave_namespace(name)


@pytest.fixture
def address(there):
    forwarder = Forwarder(port_of(there))
    yield forwarder
    forwarder.close()


def token_of(cluster, namespace, name, role="edit"):
    """Of a new ServiceAccount that may do in its namespace what the role says."""
    cluster.kubectl("create", "serviceaccount", name, "-n", namespace)
    cluster.kubectl("create", "rolebinding", name, f"--clusterrole={role}", "-n", namespace,
                    f"--serviceaccount={namespace}:{name}")
    wait_until_may(cluster, account(namespace, name), "create", "configmaps", namespace)
    return cluster.kubectl("create", "token", name, "-n", namespace).stdout.strip()


def test_objects_are_there_and_not_here(home, there, tenant, far):
    put_secret(home, tenant, kubeconfig_of(there))
    first = config_map("a", far)
    second = config_map("b", far, {"uid": f"$kusion_path.{first['id']}.metadata.uid"})
    spec = Spec(home, tenant).apply([first, second], **at(), interval="1s")
    spec.wait("True")
    assert get(there, "b", far)["data"]["uid"] == get(there, "a", far)["metadata"]["uid"]
    assert home.api.get(f"/api/v1/namespaces/{far}").code == 404
    # State and Releases stay at home; drift is corrected, and what leaves is pruned.
    assert spec.state() and spec.releases()
    there.api.patch(f"/api/v1/namespaces/{far}/configmaps/a", {"data": {"a": "x"}}).must()
    eventually(lambda: get(there, "a", far)["data"] == {"a": "b"})
    there.api.delete(f"/api/v1/namespaces/{far}/configmaps/a").must()
    eventually(lambda: get(there, "a", far))
    spec.apply([first], **at())
    spec.wait("True")
    assert get(there, "a", far) and not get(there, "b", far)
    spec.delete()
    assert not get(there, "a", far)


@pytest.mark.parametrize("key, asked", [("value", None), ("value.yaml", None), ("config", "config")])
def test_keys_of_the_secret(home, there, tenant, far, key, asked):
    put_secret(home, tenant, kubeconfig_of(there), key=key)
    spec = Spec(home, tenant).apply([config_map("a", far)], **at(key=asked))
    spec.wait("True")
    spec.delete()


def test_with_an_account_it_is_impersonated_there(home, there, tenant, far):
    """The account of that namespace and name, in the other cluster."""
    put_secret(home, tenant, kubeconfig_of(there))
    home.kubectl("create", "serviceaccount", "robot", "-n", tenant)
    home.kubectl("create", "rolebinding", "robot", "--clusterrole=edit", "-n", tenant,
                 f"--serviceaccount={tenant}:robot")
    wait_until_may(home, account(tenant, "robot"), "get", "secrets", tenant)
    spec = Spec(home, tenant).apply([config_map("a", far)], **at(), **QUICK, serviceAccountName="robot")
    message = fails(spec, "AccessDenied", account(tenant, "robot"))
    assert "the rights are those that the kubeConfig has in its cluster" in message
    assert "kubectl create role" not in message
    there.kubectl("create", "rolebinding", "robot", "--clusterrole=edit", "-n", far,
                  f"--serviceaccount={tenant}:robot")
    spec.wait("True")
    spec.delete()


def test_who_may_not_impersonate_is_told(home, there, tenant, far):
    put_secret(home, tenant, kubeconfig_of(there, token=token_of(there, far, "small")))
    home.kubectl("create", "serviceaccount", "robot", "-n", tenant)
    home.kubectl("create", "rolebinding", "robot", "--clusterrole=edit", "-n", tenant,
                 f"--serviceaccount={tenant}:robot")
    wait_until_may(home, account(tenant, "robot"), "get", "secrets", tenant)
    spec = Spec(home, tenant).apply([config_map("a", far)], **at(), **QUICK, serviceAccountName="robot")
    fails(spec, "AccessDenied", "cannot impersonate")
    spec.apply([config_map("a", far)], **at(), **QUICK)  # default, which may read the Secret
    spec.wait("True")
    spec.delete()


class TestTheSecret:
    def test_it_is_read_with_the_rights_of_the_account(self, home, there, namespace, far):
        """There, or not: who may not read it does not learn it."""
        put_secret(home, namespace, kubeconfig_of(there), "mine")
        messages = set()
        for name in ("mine", "none"):
            spec = Spec(home, namespace, name).apply([config_map("a", far)], **at(name), **QUICK)
            messages.add(fails(spec, "AccessDenied", "secrets").partition("\n")[0].replace(name, "NAME"))
            spec.delete()
        assert len(messages) == 1, messages
        assert not get(there, "a", far)

    def test_one_that_is_not_there(self, home, tenant):
        spec = Spec(home, tenant).apply([config_map("a", tenant)], **at(), **QUICK)
        fails(spec, "KubeConfigNotFound", f'there is no Secret "there" in namespace "{tenant}"')
        put_secret(home, tenant, "x", key="other")
        fails(spec, "KubeConfigNotFound", 'the Secret "there" has no key "value", nor "value.yaml"')
        spec.delete()

    @pytest.mark.parametrize("changes, text", [
        ({"user": {"exec": {"command": "sh", "apiVersion": "client.authentication.k8s.io/v1"}}}, "exec"),
        ({"user": {"auth-provider": {"name": "gcp"}}}, "auth-provider"),
        ({"user": {"tokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token"}}, "tokenFile"),
        ({"user": {"client-key": "/etc/key"}, "token": "x"}, "client-key"),
        ({"user": {"username": "a", "password": "canary-secret"}}, "username"),
        ({"user": {"as": "system:admin"}}, "as"),
        ({"cluster": {"certificate-authority": "/etc/ca"}, "drop": ["certificate-authority-data"]},
         "certificate-authority"),
        ({"drop": ["certificate-authority-data"]}, "certificate-authority-data"),
        ({"cluster": {"insecure-skip-tls-verify": True}}, "insecure-skip-tls-verify"),
        ({"cluster": {"proxy-url": "http://10.0.0.1:3128"}}, "proxy-url"),
        ({"cluster": {"server": "http://127.0.0.1:8080"}}, "https://"),
        ({"cluster": {"server": "file:///etc/passwd"}}, "https://"),
    ], ids=lambda value: value if isinstance(value, str) else "")
    @sampled
    def test_what_it_may_not_have(self, home, there, tenant, changes, text):
        put_secret(home, tenant, kubeconfig_of(there, **changes))
        spec = Spec(home, tenant).apply([config_map("a", tenant)], **at(), **QUICK)
        message = fails(spec, "InvalidKubeConfig", text)
        assert "canary-secret" not in message and "PRIVATE KEY" not in message
        assert not get(there, "a", tenant)
        spec.delete()

    @pytest.mark.parametrize("text", ["", "{", "a: b", "current-context: x", "\x00", "- 1"])
    def test_what_is_none(self, home, tenant, text):
        put_secret(home, tenant, text)
        spec = Spec(home, tenant).apply([config_map("a", tenant)], **at(), **QUICK)
        fails(spec, "InvalidKubeConfig", 'the kubeconfig in the Secret "there"')
        spec.delete()


class TestAddresses:
    @pytest.mark.parametrize("server", [
        "https://127.0.0.2:6443", "https://[::1]:6443", "https://169.254.169.254",
        "https://0.0.0.0:6443", "https://[::ffff:127.0.0.3]:6443", "https://[fe80::1]"])
    def test_some_are_not_connected_to(self, home, there, tenant, server):
        """127.0.0.1 alone is allowed."""
        put_secret(home, tenant, kubeconfig_of(there, cluster={"server": server}))
        spec = Spec(home, tenant).apply([config_map("a", tenant)], **at(), **QUICK)
        message = fails(spec, "AddressNotAllowed", "--allow-cluster-address")
        assert "refused" not in message.lower()
        spec.delete()

    def plain_port(self):
        """Of a server that speaks HTTP without TLS."""
        server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server.server_address[1]

    def test_what_does_not_answer_reads_the_same(self, home, there, tenant):
        """A port that is shut, one that says nothing, and one that speaks something else."""
        silent, plain = Forwarder(), Forwarder(self.plain_port())
        shut = Forwarder()
        shut.close()
        messages = {}
        for name, port in (("shut", shut.port), ("silent", silent.port), ("plain", plain.port)):
            put_secret(home, tenant, kubeconfig_of(there, port=port), name)
            spec = Spec(home, tenant, name).apply([config_map("a", tenant)], **at(name), **QUICK)
            message = fails(spec, "ClusterUnreachable").partition("\n")[0]
            assert str(port) not in message
            messages[name] = message.rpartition("the cluster of the kubeConfig: ")[2]
            spec.delete()
        assert len(set(messages.values())) == 1, messages
        assert messages["shut"] == "the cluster's server does not answer"
        silent.close()
        plain.close()


class TestWhatBecomesOfIt:
    def test_it_goes_away_and_comes_back(self, home, there, tenant, far, address):
        put_secret(home, tenant, kubeconfig_of(there, address.port))
        spec = Spec(home, tenant).apply([config_map("a", far)], **at(), **QUICK, interval="1s")
        spec.wait("True")
        uid = get(there, "a", far)["metadata"]["uid"]
        address.close()
        fails(spec, "ClusterUnreachable")
        there.api.patch(f"/api/v1/namespaces/{far}/configmaps/a", {"data": {"a": "x"}}).must()
        address.open()
        spec.wait("True")
        eventually(lambda: get(there, "a", far)["data"] == {"a": "b"})
        assert get(there, "a", far)["metadata"]["uid"] == uid
        spec.delete()

    def test_one_that_does_not_answer_delays_nobody_else(self, home, there, tenant, far):
        silent = Forwarder()
        put_secret(home, tenant, kubeconfig_of(there, silent.port))
        dead = [Spec(home, tenant, f"dead-{i}").apply([config_map(f"d{k}", far) for k in range(12)],
                                                      **at(), **QUICK) for i in range(12)]
        live, numbers = Spec(home, tenant, "live"), itertools.count()

        def overtakes():
            """Some that waited before it wait still when it is ready."""
            before = silent.waiting()
            live.apply([config_map("live", tenant, {"n": str(next(numbers))})])
            live.wait("True")
            return before & silent.waiting()

        eventually(overtakes)
        for spec in dead:
            fails(spec, "ClusterUnreachable")
            spec.apply([], **at(), deletionPolicy="Orphan")
        for spec in (*dead, live):
            spec.delete()
        silent.close()

    def test_credentials_expire_and_are_renewed(self, home, there, tenant, far):
        """An account that is gone has no valid token any more."""
        put_secret(home, tenant, kubeconfig_of(there, token=token_of(there, far, "first"), namespace=far))
        spec = Spec(home, tenant).apply([config_map("a", far)], **at(), **QUICK, interval="1s")
        spec.wait("True")
        there.kubectl("delete", "serviceaccount", "first", "-n", far)
        message = notices(spec, "Unauthorized")
        assert "Bearer" not in message and "eyJ" not in message
        put_secret(home, tenant, kubeconfig_of(there, token=token_of(there, far, "second"), namespace=far))
        eventually(lambda: spec.get()["status"]["conditions"][0]["status"] == "True")
        assert spec.get()["status"]["resources"]["ready"] == 1
        spec.delete()

    def test_a_secret_that_is_gone_holds_a_deletion(self, home, there, tenant, far):
        put_secret(home, tenant, kubeconfig_of(there))
        spec = Spec(home, tenant).apply([config_map("a", far)], **at(), **QUICK)
        spec.wait("True")
        home.api.delete(SECRET.format(tenant, "there")).must()
        home.api.delete(spec.path).must()
        fails(spec, "KubeConfigNotFound", "held (deletionPolicy Orphan would leave what remains)")
        home.api.patch(spec.path, {"spec": {"deletionPolicy": "Orphan"}}).must()
        eventually(lambda: spec.get() is None)
        assert get(there, "a", far)
        there.api.delete(f"/api/v1/namespaces/{far}/configmaps/a").must()

    def test_from_here_to_there_and_back(self, home, there, tenant, far):
        """The objects of a Spec do not move by an edit."""
        put_secret(home, tenant, kubeconfig_of(there))
        here = [config_map("a", tenant), config_map("b", tenant)]
        spec = Spec(home, tenant).apply(here, **QUICK)
        spec.wait("True")
        spec.apply(here, **at(), **QUICK)
        fails(spec, "ClusterChanged", "the Spec's objects are in the cluster of the Spec itself")
        assert get(home, "a", tenant) and get(home, "b", tenant)
        spec.apply([], **QUICK)
        spec.wait("True")
        spec.apply([config_map("a", far)], **at(), **QUICK)
        spec.wait("True")
        spec.apply([config_map("a", far)], **QUICK)
        fails(spec, "ClusterChanged", "in the cluster of a kubeConfig")
        assert get(there, "a", far)
        spec.apply([config_map("a", far)], **at(), **QUICK)
        spec.wait("True")
        spec.delete()

    def test_by_a_kubeconfig_to_the_own_cluster_they_stay(self, home, tenant):
        here = [config_map("a", tenant)]
        spec = Spec(home, tenant).apply(here)
        spec.wait("True")
        uid = get(home, "a", tenant)["metadata"]["uid"]
        put_secret(home, tenant, kubeconfig_of(home))
        spec.apply(here, **at(), **QUICK)
        spec.wait("True")
        spec.apply(here, **QUICK)
        spec.wait("True")
        assert get(home, "a", tenant)["metadata"]["uid"] == uid
        spec.delete()


class TestAnother:
    """Behind the same address there is another one: nothing is made, nor forgotten."""

    @pytest.fixture(params=["admin", "one namespace", "no namespace"])
    def whose(self, request):
        return request.param

    @pytest.fixture(params=[False, True], ids=["another CA", "the same CA"])
    def fresh(self, request, there):
        options = ["--pki", there.name] if request.param else []
        cluster = Cluster.up(f"e2e-fresh-{os.getpid()}", *options)
        yield cluster
        cluster.down()

    def credentials(self, cluster, whose, far, port):
        if whose == "admin":
            return kubeconfig_of(cluster, port)
        role = "edit"
        if whose == "no namespace":
            role = "configmaps"
            rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}
            cluster.api.create("/apis/rbac.authorization.k8s.io/v1/clusterroles",
                               {"metadata": {"name": role}, "rules": [rule]})
        token = token_of(cluster, far, whose.replace(" ", "-"), role)
        return kubeconfig_of(cluster, port, token=token, namespace=far)

    def test_it_is_noticed(self, home, there, tenant, fresh, address):
        specs = {}
        for whose in ("admin", "one namespace", "no namespace"):
            far = f"{tenant}-{whose.replace(' ', '-')}"
            for cluster in (there, fresh):
                cluster.api.create("/api/v1/namespaces", {"metadata": {"name": far}}).must()
            name = whose.replace(" ", "-")
            put_secret(home, tenant, self.credentials(there, whose, far, address.port), name)
            specs[whose] = Spec(home, tenant, name).apply(
                [config_map("a", far), config_map("b", far)], **at(name), **QUICK, interval="1s")
            specs[whose].wait("True")
            assert get(there, "a", far)
        before = {whose: spec.state() for whose, spec in specs.items()}
        address.lead_to(port_of(fresh))
        has_same_ca = "same CA" in os.environ.get("PYTEST_CURRENT_TEST", "")
        if not has_same_ca:
            # The old kubeconfig does not fit: the certificate is of another CA.
            for whose, spec in specs.items():
                notices(spec, "TLSVerification")
        for whose, spec in specs.items():
            far = f"{tenant}-{whose.replace(' ', '-')}"
            put_secret(home, tenant, self.credentials(fresh, whose, far, address.port), spec.name)
        for whose, spec in specs.items():
            message = notices(spec, "ClusterChanged", "set deletionPolicy to Orphan")
            far = f"{tenant}-{whose.replace(' ', '-')}"
            assert not get(fresh, "a", far) and not get(fresh, "b", far), message
            assert spec.state() == before[whose]
        # Nor is it believed where more may be read by now than when its CA was all that was known.
        weak = specs["no namespace"]
        put_secret(home, tenant, kubeconfig_of(fresh, address.port), weak.name)
        notices(weak, "ClusterChanged")
        assert weak.state() == before["no namespace"]
        # A deletion does not take it for gone, either.
        home.api.delete(specs["admin"].path).must()
        fails(specs["admin"], "ClusterChanged", "held (deletionPolicy Orphan would leave what remains)")
        assert specs["admin"].state() == before["admin"]
        # The account of before comes before the old one: with one CA, an administrator is that of both clusters, and
        # the Spec would know the old one from then on by a Namespace that the account may not read.
        far = f"{tenant}-no-namespace"
        token = there.kubectl("create", "token", weak.name, "-n", far).stdout.strip()
        put_secret(home, tenant, kubeconfig_of(there, address.port, token=token, namespace=far), weak.name)
        notices(weak, "Unauthorized" if has_same_ca else "TLSVerification")
        # And it goes on when the old one is back.
        address.lead_to(port_of(there))
        for whose, spec in specs.items():
            far = f"{tenant}-{whose.replace(' ', '-')}"
            if whose == "admin":
                put_secret(home, tenant, kubeconfig_of(there, address.port), spec.name)
                eventually(lambda: spec.get() is None)
                assert not get(there, "a", far)
                continue
            token = there.kubectl("create", "token", spec.name, "-n", far).stdout.strip()
            put_secret(home, tenant, kubeconfig_of(there, address.port, token=token, namespace=far), spec.name)
            eventually(lambda: spec.get()["status"]["conditions"][0]["status"] == "True")
            spec.delete()
