"""Vault itself (hack/tools/vault), behind the door of the server that tests have every day: it counts the requests,
and can be broken. Everything else is Vault's: accounts by TokenReview, policies, KV version 2 at `secret` and 1 at
`plain`."""

import base64
import http.client
import json
import os
import socket
import subprocess
from urllib.parse import quote, urlencode

import yaml

from kusion_e2e.controller import STATE
from kusion_e2e.vault import Vault
from kusion_e2e.wait import eventually

PROGRAM = os.environ.get("KUSION_VAULT")
REVIEWER = "vault-reviewer"


class RealVault(Vault):
    def __init__(self, cluster):
        self.granted = {}  # role -> (user, paths)
        self._may_look = True
        self.cluster = cluster
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.start()
        super().__init__(cluster)

    # ---- The process ----

    def start(self):
        """Again, too: it keeps everything in memory, and roles and policies are made anew."""
        self.process = subprocess.Popen([PROGRAM, f"127.0.0.1:{self.port}"], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        made = json.loads(self.process.stdout.readline())
        self.root, self.key = made["root_token"], made["key"]
        eventually(self._is_up)
        self.must("POST", "sys/mounts/secret", {"type": "kv", "options": {"version": "2"}})
        self.must("POST", "sys/mounts/plain", {"type": "kv", "options": {"version": "1"}})
        # It makes itself ready for versions, and answers 400 until it has.
        eventually(lambda: self.ask("GET", "secret/config")[0] == 200)
        self.must("POST", "sys/auth/kubernetes", {"type": "kubernetes"})
        self._configure()
        for role in self.granted:
            self._grant(role)

    def _is_up(self):
        try:
            return self.ask("GET", "sys/health")[0] == 200
        except OSError:
            return False

    def _configure(self):
        api = self.cluster.api
        account = {"kind": "ServiceAccount", "name": REVIEWER, "namespace": STATE}
        accounts = f"/api/v1/namespaces/{STATE}/serviceaccounts"
        api.apply(f"{accounts}/{REVIEWER}", {"apiVersion": "v1", "kind": "ServiceAccount",
                                             "metadata": {"name": REVIEWER}}).must()
        api.apply(f"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{REVIEWER}", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": REVIEWER},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:auth-delegator"},
            "subjects": [account]}).must()
        token = api.create(f"{accounts}/{REVIEWER}/token", {"spec": {}}).must().object["status"]["token"]
        server = yaml.safe_load(self.cluster.kubeconfig.read_text())["clusters"][0]["cluster"]
        self.must("POST", "auth/kubernetes/config", {
            "kubernetes_host": server["server"], "token_reviewer_jwt": token,
            "kubernetes_ca_cert": base64.b64decode(server["certificate-authority-data"]).decode()})

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def seal(self):
        self.must("PUT", "sys/seal")

    def unseal(self):
        self.must("PUT", "sys/unseal", {"key": self.key})
        eventually(self._is_up)

    def close(self):
        super().close()
        self.stop()

    # ---- Requests ----

    def ask(self, method, path, body=None, token=None, query=None):
        """Gives the status and the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, f"/v1/{quote(path)}" + (f"?{urlencode(query, doseq=True)}" if query else ""),
                               None if body is None else json.dumps(body), {"X-Vault-Token": token or self.root})
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text else {}
        finally:
            connection.close()

    def must(self, method, path, body=None):
        status, answer = self.ask(method, path, body)
        assert status < 300, (method, path, status, answer)
        return answer

    # ---- As the server of every day ----

    def put(self, path, **data):
        mount, _, name = path.partition("/")
        if mount == "plain":
            return self.must("POST", path, data)
        return self.must("POST", f"{mount}/data/{name}", {"data": data})["data"]["version"]

    def allow(self, role, user, *paths, **fields):
        self.granted[role] = (user, paths, fields)
        self._grant(role)

    def _grant(self, role):
        user, paths, fields = self.granted[role]
        kinds = ("data", "metadata") if self._may_look else ("data",)
        rules = [f"secret/{kind}/{path.partition('/')[2] if path else '*'}" for kind in kinds
                 for path in paths or (None,)] + ["plain/*"]
        self.must("POST", f"sys/policies/acl/{role}", {
            "policy": "\n".join(f'path "{rule}" {{ capabilities = ["read"] }}' for rule in rules)})
        _, _, namespace, name = user.split(":")
        self.must("POST", f"auth/kubernetes/role/{role}", {
            "bound_service_account_names": [name], "bound_service_account_namespaces": [namespace],
            "audience": "vault", "token_policies": [role], "token_ttl": "10m", **fields})

    @property
    def may_look(self):
        return self._may_look

    @may_look.setter
    def may_look(self, value):
        if value != self._may_look:
            self._may_look = value
            for role in self.granted:
                self._grant(role)

    def _behind(self, *arguments, **more):
        try:
            return self.ask(*arguments, **more)
        except (OSError, http.client.HTTPException):
            return 502, {}  # it is down

    def log_in(self, body):
        asked = json.loads(body)
        self.seen_tokens.append(asked["jwt"])
        status, answer = self._behind("POST", "auth/kubernetes/login", asked, token="none")
        if status == 200:
            self.tokens[answer["auth"]["client_token"]] = (asked["role"], ())
        return status, answer

    def get(self, path, query, token):
        if self.broken:
            return self.broken, {"errors": ["down"]}
        return self._behind("GET", path.removeprefix("/v1/"), token=token or "none", query=query)


def vault_of(cluster):
    """The real one where hack/soak secrets says so."""
    return RealVault(cluster) if PROGRAM else Vault(cluster)
