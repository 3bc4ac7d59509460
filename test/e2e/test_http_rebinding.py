"""HTTP resources and DNS that changes its mind, on loopback: the list allows 127.0.0.2 alone, where a server
listens; another one at 127.0.0.1 must never be connected to."""

import json
import shutil
import socket
import struct
import subprocess
import threading
import time

import pytest

from kusion_e2e.canary_server import Canary, one
from kusion_e2e.controller import PROGRAM, Controller
from kusion_e2e.long import takes_long
from kusion_e2e.specs import Spec
from kusion_e2e.wait import eventually


class Names:
    """A DNS server, at 127.0.0.53: each question for A gets the next answer of its list."""

    def __init__(self, address):
        self.answers, self.asked = {}, []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, 53))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                question, sender = self.socket.recvfrom(512)
            except OSError:
                return
            at, labels = 12, []
            while question[at]:
                labels.append(question[at + 1:at + 1 + question[at]].decode())
                at += 1 + question[at]
            name, kind = ".".join(labels), struct.unpack(">H", question[at + 1:at + 3])[0]
            addresses = []
            if kind == 1 and self.answers.get(name):
                many = self.answers[name]
                addresses = many.pop(0) if len(many) > 1 else many[0]
                self.asked.append((name, addresses))
            answer = question[:2] + b"\x81\x80" + struct.pack(">HHHH", 1, len(addresses), 0, 0) + question[12:at + 5]
            for address in addresses:
                answer += b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 0, 4) + socket.inet_aton(address)
            self.socket.sendto(answer, sender)

    def close(self):
        self.socket.close()


@pytest.fixture
def names():
    try:
        server = Names("127.0.0.53")
    except OSError as error:
        pytest.skip(f"no DNS server of our own: {error}")
    yield server
    server.close()


@pytest.fixture
def resolving(names, tmp_path):
    """A program that is the operator, with that DNS server."""
    conf, hosts, program = (tmp_path / name for name in ("resolv.conf", "nsswitch.conf", "operator"))
    conf.write_text("nameserver 127.0.0.53\noptions timeout:2 attempts:1\n")
    hosts.write_text("hosts: files dns\n")
    program.write_text("#!/bin/sh\nexec unshare --mount sh -c '"
                       f"mount --bind {conf} /etc/resolv.conf && mount --bind {hosts} /etc/nsswitch.conf && "
                       f"exec {shutil.which(PROGRAM) or PROGRAM} \"$@\"' sh \"$@\"\n")
    program.chmod(0o755)
    tried = subprocess.run(["unshare", "--mount", "mount", "--bind", conf, "/etc/resolv.conf"], check=False,
                           stderr=subprocess.PIPE, text=True)
    if tried.returncode:
        pytest.skip(f"no mount namespace: {tried.stderr.strip()}")
    return str(program)


@takes_long
def test_a_name_whose_address_changes_between_two_connections(state_namespace, tenant, names, resolving):
    """The first connection is to the address that the list allows; later ones would be to 127.0.0.1."""
    allowed = Canary("127.0.0.2")
    inner = Canary("127.0.0.1", allowed.port)
    names.answers = {"a.rebind.test": [["127.0.0.2"], ["127.0.0.1"]],
                     "b.rebind.test": [["127.0.0.1", "127.0.0.2"]],
                     "c.rebind.test": [["127.0.0.1"], ["127.0.0.2"]],
                     "d.rebind.test": [["169.254.169.254"]], "e.rebind.test": [["0.0.0.0"]]}
    controller = Controller(state_namespace, program=resolving, flags=[
        "--http-host", f"http://*.rebind.test:{allowed.port}=127.0.0.2"]).wait_leading()
    spec = Spec(state_namespace, tenant)
    try:
        spec.apply([one(name[0], f"http://{name}:{allowed.port}") for name in names.answers],
                   retryInterval="1s", interval="1s", timeout="10s")
        spec.wait("False")
        eventually(lambda: {name for name, _ in names.asked} == set(names.answers))
        assert allowed.visits  # it did connect, where it may
        time.sleep(65)  # curl keeps an address for a minute
        spec.apply([one(f"again-{name[0]}", f"http://{name}:{allowed.port}") for name in names.answers],
                   retryInterval="1s", timeout="10s")
        eventually(lambda: ("a.rebind.test", ["127.0.0.1"]) in names.asked)
        eventually(lambda: (spec.condition() or {}).get("status") == "False")
        assert not inner.visits, names.asked
        text = json.dumps(spec.get())
        assert "AddressNotAllowed" in text or "not one that may be connected to" in text
    finally:
        controller.stop()
        controller = Controller(state_namespace).wait_leading()
        spec.apply([], deletionPolicy="Orphan")
        spec.delete()
        controller.stop()
        allowed.close()
        inner.close()
