"""A registry and a network mirror of providers over HTTPS, for finder_stage.c: registry.py FOLDER.

Prints its port. FOLDER gets ca.pem, and requests: one line for each. The provider's namespace says
what is wrong with it ("good": nothing). While FOLDER has a file named down, nothing is served.
"""

import hashlib
import http.server
import json
import pathlib
import platform
import ssl
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "package"))
import packages  # noqa: E402

FOLDER = pathlib.Path(sys.argv[1])
ARCH = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
HERE = f"linux_{ARCH}"
FOR_US = [{"os": "darwin", "arch": "arm64"}, {"os": "linux", "arch": ARCH}]
ARCHIVE = packages.provider()
H1 = packages.h1({packages.PROGRAM: packages.SCRIPT, "LICENSE": b"none"})


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def archive_of(kind):
    if kind == "zip-damaged":
        return ARCHIVE[:-30]
    if kind == "large":
        return packages.pack((packages.program(), bytes(range(256)) * 4096 * 5))
    return ARCHIVE


# ---- The registry ----


def versions(kind):
    def version(text, protocols=("5.0",), platforms=FOR_US):
        return {"version": text, "protocols": list(protocols), "platforms": platforms}

    return {"versions": [
        version("1.0.0"), version("1.1.0", ("6.0", "5.1")), version("0.9.0", ()),
        version("2.0.0", platforms=FOR_US[:1]), version("3.0.0", ("4.0",)), version("4.0.0-rc1"),
        version("nonsense"), {"version": 5}, "text", {"platforms": FOR_US},
    ] if kind != "empty" else []}


def download(kind, version, port):
    name = f"terraform-provider-random_{version}_{HERE}.zip"
    shown = {
        "os": "linux", "arch": ARCH, "protocols": ["5.0"], "filename": name,
        "download_url": f"/files/{kind}/{name}", "shasums_url": f"/files/{kind}/SHA256SUMS",
        "shasum": sha256(archive_of(kind)),
    }
    shown.update({
        "other-platform": {"os": "darwin"},
        "other-protocol": {"protocols": ["4.0"]},
        "no-shasum": {"shasum": None},
        "bad-shasum": {"shasum": "123"},
        "sum-of-another": {"shasum": sha256(b"another")},
        "unlisted": {"filename": "another.zip"},
        "no-list": {"shasums_url": f"https://127.0.0.1:{port}/nowhere"},
        "no-address": {"download_url": None},
        "clear-text": {"download_url": f"http://127.0.0.1:{port}/files/x.zip"},
        "elsewhere": {"download_url": f"https://localhost:{port}/files/good/{name}?secret=1"},
        "with-password": {"download_url": f"https://a:hush@127.0.0.1:{port}/files/x.zip"},
        "redirect-elsewhere": {"download_url": f"/redirect?https://localhost:{port}/files/good/x.zip"},
        "redirect-to-clear-text": {"download_url": f"/redirect?http://127.0.0.1:{port}/files/good/x.zip"},
        "redirect-to-file": {"download_url": "/redirect?file:///etc/passwd"},
        "redirect-for-ever": {"download_url": "/redirect?/redirect-again"},
        "redirect": {"download_url": f"/redirect?/files/good/{name}"},
        "gone": {"download_url": "/nowhere"},
    }.get(kind, {}))
    return shown


# ---- The mirror ----


def mirror_version(kind, version, port):
    zh = f"zh:{sha256(ARCHIVE)}"
    shown = {"url": f"../../../../files/good/{version}.zip", "hashes": [zh, H1]}
    shown.update({
        "h1": {"hashes": [H1]},
        "zh": {"hashes": [zh]},
        "unknown-hash": {"hashes": ["h9:abc", H1]},
        "other-h1": {"hashes": [packages.h1({})]},
        "other-zh": {"hashes": [f"zh:{sha256(b'another')}"]},
        "no-hashes": {"hashes": []},
        "no-address": {"url": None},
        "elsewhere": {"url": f"https://localhost:{port}/files/good/x.zip"},
    }.get(kind, {}))
    return {"archives": {HERE if kind != "other-platform" else "darwin_arm64": shown}}


# ---- Answers ----


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, data, kind="application/json", status=200, length=None, **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data) if length is None else length))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def answer_json(self, value, kind):
        text = json.dumps(value).encode()
        if kind == "huge":
            text = b'{"versions": [' + b'"a",' * (10 << 20 >> 2) + b'"a"]}'
        elif kind == "rubbish":
            text = b"{\"versions\": [\xff\x00"
        elif kind == "list":
            text = b"[[[]]]"
        if kind == "hangs":
            time.sleep(30)
        elif kind == "fails":
            self.answer(b"", status=503)
        elif kind == "forbidden":
            self.answer(b"", status=403)
        elif kind == "missing":
            self.answer(b"", status=404)
        else:
            self.answer(text, "text/html" if kind == "html" else "application/json; charset=utf-8")

    def answer_file(self, kind, name):
        data = archive_of(kind)
        if name == "SHA256SUMS":
            here = f"terraform-provider-random_{{}}_{HERE}.zip"
            lines = [f"{sha256(data)}  {here.format(version)}\n" for version in ("1.0.0", "1.1.0")]
            self.answer("".join([f"{sha256(b'x')}  x.zip\n", *lines]).encode(), "text/plain")
        elif kind == "cut-short":
            self.answer(data[:50], "application/zip", length=len(data))
            self.close_connection = True
        elif kind == "stands-still":
            self.answer(data[:50], "application/zip", length=len(data))
            self.wfile.flush()
            time.sleep(30)
        else:
            if kind == "slow":
                time.sleep(1)
            self.answer(data, "application/zip")

    def do_GET(self):
        path, _, query = self.path.partition("?")
        parts = path.strip("/").split("/")
        port = self.server.server_address[1]
        with self.server.lock, open(FOLDER / "requests", "a") as file:
            file.write(f"{self.path}\n")
        if (FOLDER / "down").exists():
            self.answer(b"", status=503)
        elif path == "/.well-known/terraform.json":
            self.answer_json({"providers.v1": "/v1/providers/", "modules.v1": "/v1"}, None)
        elif parts[:2] == ["v1", "providers"] and parts[-1] == "versions":
            self.answer_json(versions(parts[2]), parts[2])
        elif parts[:2] == ["v1", "providers"]:
            self.answer_json(download(parts[2], parts[4], port), None)
        elif parts[0] == "mirror" and parts[-1] == "index.json":
            self.answer_json({"versions": {"1.0.0": {}, "1.1.0": {}, "2.0.0-rc1": {}, "x": {}}}, parts[2])
        elif parts[0] == "mirror" and parts[2] == "redirect-elsewhere":
            self.answer(b"", status=302, Location=f"https://localhost:{port}/")
        elif parts[0] == "mirror":
            self.answer_json(mirror_version(parts[2], parts[-1].removesuffix(".json"), port), None)
        elif parts[0] == "redirect-again":
            self.answer(b"", status=302, Location="/redirect-again")
        elif parts[0] == "redirect":
            self.answer(b"", status=302, Location=query)
        elif parts[0] == "files":
            self.answer_file(parts[1], parts[-1])
        else:
            self.answer(b"", status=404)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    lock = threading.Lock()

    def handle_error(self, *_):  # connections that clients give up are what is tested
        pass


def make(name, *options):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
         "-days", "2", "-subj", f"/CN={name}", "-keyout", FOLDER / f"{name}.key",
         "-out", FOLDER / f"{name}.pem", *options],
        check=True, capture_output=True)


make("ca")
make("server", "-CA", FOLDER / "ca.pem", "-CAkey", FOLDER / "ca.key", "-addext", "basicConstraints=CA:FALSE",
     "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(FOLDER / "server.pem", FOLDER / "server.key")
server = Server(("127.0.0.1", 0), Handler)
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
threading.Thread(target=server.serve_forever, daemon=True).start()
(FOLDER / "good.zip").write_bytes(ARCHIVE)
print(server.server_address[1], H1, sha256(ARCHIVE), flush=True)
sys.stdin.read()
