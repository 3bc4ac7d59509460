"""A registry of Terraform providers and a network mirror, over HTTPS on this machine, with the real
providers of hack/providers, packed."""

import hashlib
import json
import pathlib
import ssl
import subprocess
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from kusion_e2e.terraform import mirror

HOST = "registry.terraform.io"


def unpacked(name):
    """The folder of a provider's package, and its version."""
    versions = pathlib.Path(mirror()[0]) / HOST / "hashicorp" / name
    version, = sorted(versions.iterdir())
    package, = version.iterdir()
    return package, version.name


def platform(name):
    return unpacked(name)[0].name


def pack(name, to):
    """A packed mirror in a folder. Gives the archive's path."""
    package, version = unpacked(name)
    archive = to / HOST / "hashicorp" / name / f"terraform-provider-{name}_{version}_{platform(name)}.zip"
    archive.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for one in sorted(package.iterdir()):
            file.write(one, one.name)
    return archive


def pieces(data, count):
    size = len(data) // count + 1
    return [data[at:at + size] for at in range(0, len(data) or 1, size)]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.requests.append(self.path)
        found = self.server.answer(self.path.strip("/").split("/"))
        body = json.dumps(found).encode() if isinstance(found, dict) else found
        self.send_response(200 if body is not None else 404)
        self.send_header("Content-Type", "application/json" if isinstance(found, dict)
                         else "application/octet-stream")
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        pace = self.server.pace if self.path.endswith(".zip") else 0
        for piece in pieces(body or b"", 20 if pace else 1):
            self.wfile.write(piece)
            time.sleep(pace / 20)

    def log_message(self, *_):
        pass


class Registry:
    """Has hashicorp/NAME, as a registry and at /mirror/. `host`: with its port; `ca`: a file; an
    archive takes `pace` seconds."""

    def __init__(self, directory, name):
        self.archive = pack(name, directory)
        self.name, self.version = name, unpacked(name)[1]
        self.os, self.arch = platform(name).split("_")
        self.sum = hashlib.sha256(self.archive.read_bytes()).hexdigest()
        self.ca, key = directory / "registry.crt", directory / "registry.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                        "/CN=registry", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key,
                        "-out", self.ca], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.ca, key)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._server.answer, self._server.requests, self._server.pace = self._answer, [], 0
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True,
                                                  do_handshake_on_connect=False)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.host = f"127.0.0.1:{self._server.server_address[1]}"
        self.mirror = f"https://{self.host}/mirror/"

    @property
    def requests(self):
        return self._server.requests

    def be_slow(self, pace):
        self._server.pace = pace

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, path):
        """An object of JSON, bytes, or None."""
        file = self.archive.name
        provider = ["hashicorp", self.name]
        return {
            ".well-known/terraform.json": {"providers.v1": "/v1/"},
            "/".join(["v1", *provider, "versions"]): {"versions": [
                {"version": self.version, "protocols": ["5.0"],
                 "platforms": [{"os": self.os, "arch": self.arch}]}]},
            "/".join(["v1", *provider, self.version, "download", self.os, self.arch]): {
                "protocols": ["5.0"], "os": self.os, "arch": self.arch, "filename": file,
                "download_url": f"/files/{file}", "shasums_url": "/files/SHA256SUMS",
                "shasum": self.sum},
            "files/SHA256SUMS": f"{self.sum}  {file}\n".encode(),
            f"files/{file}": self.archive.read_bytes(),
            "/".join(["mirror", HOST, *provider, "index.json"]): {"versions": {self.version: {}}},
            "/".join(["mirror", HOST, *provider, f"{self.version}.json"]): {"archives": {
                f"{self.os}_{self.arch}": {"url": f"/files/{file}", "hashes": [f"zh:{self.sum}"]}}},
        }.get("/".join(path))
