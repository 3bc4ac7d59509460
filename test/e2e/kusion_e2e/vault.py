"""A small server that speaks as Vault and OpenBao do: KV version 2 and 1, and the auth method
`kubernetes`, which asks the API server whose token it got (TokenReview). The real one is in hack/soak
secrets.

Every request is kept, so that a test can tell what was asked, by whom, and how often."""

import json
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from kusion_e2e.api import Api

REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"


class Vault:
    """`roles` maps a role to the user that may take it, the paths that it may read, and the uses of its tokens (0: any
    number)."""

    def __init__(self, cluster):
        self.api, self.lock = Api(cluster.kubeconfig), threading.Lock()  # its requests come one at a time
        self.roles = {}
        self.tokens = {}
        self.uses = {}          # of a token that may be used so many times more
        self.kv = {}            # "secret/db" -> [{...} or None (deleted)]
        self.requests = []      # (method, path, role or None)
        self.seen_tokens = []   # tokens of accounts that came
        self.broken = None      # a status, with which all reads are answered
        self.quotes = False     # errors quote the value
        self.may_look = True    # the right to read metadata
        self.upgrading = False  # as a mount that is new, or was of version 1
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def flags(self, prefix=""):
        return ["--secret-store-host", f"{prefix}{self.address}=127.0.0.1"]

    def store(self, role, **more):
        return {"provider": {"vault": {"server": self.address, "path": "secret", "version": "v2", **more}},
                "auth": {"role": role}}

    def put(self, path, **data):
        self.kv.setdefault(path, []).append(data)
        return len(self.kv[path])

    def allow(self, role, user, *paths, token_num_uses=0):
        self.roles[role] = (user, paths, token_num_uses)

    def reads(self, kind="data"):
        return [path for method, path, _ in self.requests if method == "GET" and f"/{kind}/" in path]

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    # ---- What it does ----

    def user_of(self, token):
        with self.lock:
            answer = self.api.create(REVIEWS, {
                "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
                "spec": {"token": token, "audiences": ["vault"]}})
        status = answer.must().object["status"]
        return status["user"]["username"] if status.get("authenticated") else None

    def log_in(self, body):
        asked = json.loads(body)
        self.seen_tokens.append(asked["jwt"])
        user, paths, uses = self.roles.get(asked["role"], (None, (), 0))
        if user is None:
            return 400, {"errors": [f"invalid role name {asked['role']!r}"]}
        if self.user_of(asked["jwt"]) != user:
            return 403, {"errors": ["permission denied"]}
        token = f"hvs.{secrets.token_hex(16)}"
        self.tokens[token] = (asked["role"], paths)
        if uses:
            self.uses[token] = uses
        return 200, {"auth": {"client_token": token, "lease_duration": 600}}

    def get(self, path, query, token):
        role, paths = self.tokens.get(token, (None, ()))
        if token in self.uses:
            self.uses[token] -= 1
            if not self.uses[token]:
                del self.uses[token], self.tokens[token]
        mount, _, rest = path.removeprefix("/v1/").partition("/")
        kind, _, name = rest.partition("/")
        key = f"{mount}/{name}"
        versions = self.kv.get(key)
        quoted = json.dumps(versions[-1]) if self.quotes and versions else "down"
        if self.broken:
            return self.broken, {"errors": [quoted]}
        if self.upgrading:
            return 400, {"errors": ["Upgrading from non-versioned to versioned data. This backend will be unavailable "
                                    "for a brief period and will resume service shortly."]}
        if role is None or (paths and key not in paths) or (kind == "metadata" and not self.may_look):
            return 403, {"errors": [f"1 error occurred:\n\t* permission denied {quoted}"]}
        if not versions:
            return 404, {"errors": []}
        if kind == "metadata":
            return 200, {"data": {"current_version": len(versions), "versions": {
                str(i): {"deletion_time": "" if one is not None else "2026-01-01T00:00:00Z", "destroyed": False}
                for i, one in enumerate(versions, 1)}}}
        number = int(query.get("version", [len(versions)])[0])
        if not 0 < number <= len(versions) or versions[number - 1] is None:
            return 404, {"data": {"data": None, "metadata": {"version": number}}}
        return 200, {"data": {"data": versions[number - 1], "metadata": {"version": number}}}

    def _handler(vault):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _do(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length)
                url = urlsplit(self.path)
                token = self.headers.get("X-Vault-Token")
                vault.requests.append((self.command, self.path, vault.tokens.get(token, (None,))[0]))
                if self.command == "POST" and url.path.startswith("/v1/auth/") and not vault.broken:
                    status, answer = vault.log_in(body)
                elif self.command == "POST":
                    status, answer = vault.broken or 404, {"errors": []}
                else:
                    status, answer = vault.get(unquote(url.path), parse_qs(url.query), token)
                text = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = _do

            def log_message(self, *arguments):
                pass

        return Handler
