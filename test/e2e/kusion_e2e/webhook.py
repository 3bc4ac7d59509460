"""An admission webhook, as an API server calls it: over TLS, on this machine."""

import base64
import json
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GROUP = "admissionregistration.k8s.io/v1"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests += 1
        said = self.server.judge(review["request"])
        if said is None:
            self.server.ended.wait()
            return
        body = json.dumps({"apiVersion": review["apiVersion"], "kind": review["kind"],
                           "response": {"uid": review["request"]["uid"], **said}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Webhook:
    """judge gets an AdmissionRequest, and gives what the answer has beside its uid; None: it hangs
    until the webhook ends."""

    kind = "Validating"

    def __init__(self, directory, judge):
        certificate, key = directory / "webhook.crt", directory / "webhook.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                        "/CN=webhook", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key,
                        "-out", certificate],
                       check=True, capture_output=True)
        self._ca = base64.b64encode(certificate.read_bytes()).decode()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._server.judge, self._server.requests = judge, 0
        self._server.ended = threading.Event()
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True,
                                                  do_handshake_on_connect=False)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def requests(self):
        return self._server.requests

    def register(self, cluster, name, namespace, resources, seconds=30):
        """For creates and updates of these, of the core group, in one namespace."""
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
                "resources": resources, "scope": "Namespaced"}
        only = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
        port = self._server.server_address[1]
        cluster.api.create(self._path(), {
            "apiVersion": GROUP, "kind": f"{self.kind}WebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": [{"name": f"{name}.example.com", "rules": [rule], "failurePolicy": "Fail",
                          "sideEffects": "None", "admissionReviewVersions": ["v1"],
                          "timeoutSeconds": seconds, "namespaceSelector": only,
                          "clientConfig": {"url": f"https://127.0.0.1:{port}/",
                                           "caBundle": self._ca}}]}).must()

    @classmethod
    def unregister(cls, cluster, name):
        cluster.api.delete(f"{cls._path()}/{name}")

    @classmethod
    def _path(cls):
        return f"/apis/{GROUP}/{cls.kind.lower()}webhookconfigurations"

    def end(self):
        self._server.ended.set()
        self._server.shutdown()
        self._server.server_close()


class Mutating(Webhook):
    """Its answers change what is asked about."""

    kind = "Mutating"
