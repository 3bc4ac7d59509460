"""kubeConfig of a server that is no API server, or a hostile one: its tenant pays, nobody else."""

import http.server
import json
import os
import ssl
import threading
import time

import pytest

from kusion_e2e.cluster import Cluster
from kusion_e2e.controller import Controller
from kusion_e2e.long import sampled
from kusion_e2e.specs import Spec, config_map

from test_other_clusters import QUICK, at, fails, get, kubeconfig_of, put_secret

MIB = 1 << 20
HUGE = 48 * MIB
SYSTEM = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "kube-system", "uid": "u"}}
CORE = {"kind": "APIResourceList", "groupVersion": "v1", "resources": [
    {"name": "configmaps", "kind": "ConfigMap", "namespaced": True}]}


class Hostile:
    """Speaks TLS with a certificate of the plane's CA. answers: by path, of GET; else of each
    request: an object, or a function that writes to the connection."""

    def __init__(self, plane, answers):
        pki = plane.kubeconfig.parent / "pki"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pki / "apiserver.crt", pki / "apiserver.key")
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler(answers))
        self.server.daemon_threads = True
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @staticmethod
    def handler(answers):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                found = answers.get(self.path.partition("?")[0], answers[""])
                try:
                    if callable(found):
                        found(self)
                        return
                    body = json.dumps(found).encode()
                    self.send_response(200 if "status" not in found else 404)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    pass

            do_GET = do_PATCH = do_POST = do_DELETE = answer

            def log_message(self, *_):
                pass

        return Handler

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def stream(begin, piece, end, total=HUGE):
    """Answers with pieces until so many bytes are sent."""

    def write(handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.write(begin)
        chunk = piece * (65536 // len(piece) + 1)
        for _ in range(total // len(chunk)):
            handler.wfile.write(chunk)
        handler.wfile.write(end)
        handler.close_connection = True

    return write


def drip(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    for _ in range(600):
        handler.wfile.write(b" ")
        time.sleep(1)


NONE = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound",
        "message": "no", "details": {"name": "a"}}
KINDS = stream(b'{"kind":"APIResourceList","resources":[', b'{"name":"a","kind":"A"},', b'{}]}')
VALUES = stream(b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"x","uid":"1"},"a":[',
                b"{},", b"0]}")
DEEP = stream(b"", b"[", b"")
TEXT = stream(b'{"kind":"Namespace","metadata":{"name":"kube-system","uid":"', b"u", b'"}}')

CASES = {
    "a huge identity": {"": TEXT},
    "a huge Namespace": {"": stream(b'{"kind":"Namespace","metadata":{"name":"kube-system"},"a":[', b"{},", b"0]}")},
    "huge discovery": {"/api/v1/namespaces/kube-system": SYSTEM, "": KINDS},
    "huge objects": {"/api/v1/namespaces/kube-system": SYSTEM, "/api/v1": CORE, "": VALUES},
    "deep objects": {"/api/v1/namespaces/kube-system": SYSTEM, "/api/v1": CORE, "": DEEP},
    "no JSON": {"": stream(b"", b"<html>", b"", 4096)},
    "a list of all": {"/api/v1/namespaces/kube-system": SYSTEM, "/api/v1": CORE,
                      "": stream(b'{"kind":"PartialObjectMetadataList","metadata":{"resourceVersion":"1"},"items":[',
                                 b'{"metadata":{"name":"a","uid":"1"}},', b'{"metadata":{"name":"b","uid":"1"}}]}')},
    "drops": {"": drip},
    "nothing is there": {"/api/v1/namespaces/kube-system": SYSTEM, "/api/v1": CORE, "": NONE},
}


def memory(process):
    """Of the process, in MiB: now, and at most so far."""
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        fields = dict(line.split(":", 1) for line in file)
    return int(fields["VmHWM"].split()[0]) / 1024


@pytest.fixture(scope="module")
def plane():
    cluster = Cluster.up(f"e2e-hostile-{os.getpid()}")
    yield cluster
    cluster.down()


@pytest.fixture(scope="module")
def operator(state_namespace):
    controller = Controller(state_namespace, flags=["--allow-cluster-address", "127.0.0.1"]).wait_leading()
    yield controller
    assert controller.stop() == 0


@pytest.mark.parametrize("case", CASES)
@sampled
def test_the_operator_lives_on(state_namespace, operator, plane, tenant, case):
    home = state_namespace
    server = Hostile(plane, CASES[case])
    put_secret(home, tenant, kubeconfig_of(plane, server.port))
    before = memory(operator.process)
    specs = [Spec(home, tenant, f"evil-{i}").apply([config_map(f"c{k}", tenant) for k in range(20)],
                                                   **at(), **QUICK) for i in range(4)]
    time.sleep(6)
    begun = time.monotonic()
    live = Spec(home, tenant, "live").apply([config_map("live", tenant)])
    live.wait("True", 20)
    assert time.monotonic() - begun < 15
    grown = memory(operator.process) - before
    print(f"{case}: grew by {grown:.0f} MiB")
    assert grown < 400, grown
    assert operator.process.poll() is None
    for spec in specs:
        ready = spec.get()["status"]["conditions"][0]
        assert ready["status"] != "True", ready
        assert len(ready["message"]) < 8000
        spec.apply([], **at(), deletionPolicy="Orphan")
        spec.delete()
    live.delete()
    server.close()
