"""HTTPS for test_http_tls.c: makes certificates in a folder, serves until its input ends.

Prints two ports: of a server for everybody, and of one that asks for a client certificate.
Answers "HOST SNI CLIENT", with - for what there is not.
"""

import http.server
import pathlib
import ssl
import subprocess
import sys
import threading

FOLDER = pathlib.Path(sys.argv[1])


def make(name, *options):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
         "-days", "2", "-subj", f"/CN={name}", "-keyout", FOLDER / f"{name}.key",
         "-out", FOLDER / f"{name}.pem", *options],
        check=True, capture_output=True)


def make_signed(name, *options):
    make(name, "-CA", FOLDER / "ca.pem", "-CAkey", FOLDER / "ca.key",
         "-addext", "basicConstraints=CA:FALSE", *options)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        certificate = self.connection.getpeercert() or {"subject": [[("", "-")]]}
        name = getattr(self.connection, "asked_name", None)
        body = f"{self.headers['Host']} {name or '-'} {certificate['subject'][0][0][1]}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):  # handshakes that fail are what is tested
        pass


def serve(verify):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(FOLDER / "server.pem", FOLDER / "server.key")
    context.load_verify_locations(FOLDER / "ca.pem")
    context.verify_mode = verify
    context.sni_callback = lambda connection, name, _: setattr(connection, "asked_name", name)
    server = Server(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


make("ca")
make("other")
make_signed("server", "-addext", "subjectAltName=DNS:kubernetes,IP:127.0.0.1")
make_signed("client")
print(serve(ssl.CERT_NONE), serve(ssl.CERT_REQUIRED), flush=True)
sys.stdin.read()
