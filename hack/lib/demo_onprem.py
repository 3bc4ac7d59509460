"""What `hack/demo onprem` shows: examples/onprem.yaml, Kubernetes objects and what stands in racks (PowerDNS, Caddy, a
host with sshd; hack/rack) in one graph. It is applied while the host is down, and the host comes back. Exit status 1
where something is not as it should be."""

import base64
import json
import os
import socket
import struct
import sys
import urllib.error
import urllib.request
from pathlib import Path

import yaml

from demo import GREEN, DemoFailed, paint, read_arguments, row, run
from demo_commands import CommandDemo
from kubewatch import ROOT

RACK = {"DNS": os.environ["KUSION_RACK_DNS"], "DNS_KEY": os.environ["KUSION_RACK_DNS_KEY"],
        "DNS_PORT": os.environ["KUSION_RACK_DNS_PORT"], "LB": os.environ["KUSION_RACK_LB"],
        "HOST": os.environ["KUSION_RACK_HOST"], "HOST_USER": os.environ["KUSION_RACK_HOST_USER"],
        "HOST_KEY": os.environ["KUSION_RACK_HOST_KEY"], "HOST_FILES": os.environ["KUSION_RACK_HOST_FILES"],
        "HOST_IDENTITY": os.environ["KUSION_RACK_HOST_IDENTITY"]}
FILE = Path(RACK["HOST_FILES"]) / "web.address"


def with_addresses(text):
    """The example, with the addresses of the servers here."""
    text = text.replace("http://dns.rack.example:8081", RACK["DNS"]).replace("http://lb.rack.example:2019", RACK["LB"])
    manifest = yaml.safe_load(text)
    manifest["spec"].update(retryInterval="2s", timeout="30s")
    for one in manifest["spec"]["resources"]:
        if one["type"] == "Terraform":
            one["attributes"]["path"] = str(FILE)
            one["extensions"]["providerMeta"] = {"address": RACK["HOST"], "user": RACK["HOST_USER"],
                                                 "host_key": RACK["HOST_KEY"]}
    return manifest


def ask(url, **headers):
    """The answer's JSON; None: there is none."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        return None


def resolve(name):
    """The address that a client of the DNS server gets; None: none."""
    question = struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0)
    question += b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0\0\1\0\1"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(10)
        client.sendto(question, ("127.0.0.1", int(RACK["DNS_PORT"])))
        answer = client.recv(512)
    start = len(question) + 12
    return socket.inet_ntoa(answer[start:start + 4]) if struct.unpack(">H", answer[6:8])[0] else None


class OnPremDemo(CommandDemo):
    example = ROOT / "examples" / "onprem.yaml"

    # What is so

    def zone(self):
        return ask(f"{RACK['DNS']}/api/v1/servers/localhost/zones/team-a.example.", **{"X-API-Key": RACK["DNS_KEY"]})

    def route(self):
        return ask(f"{RACK['LB']}/id/team-a-web")

    def address(self):
        return self.resources["v1:Service:team-a:web"].live["spec"]["clusterIP"]

    def results(self):
        """Of the last apply: by id."""
        last = {}
        for release in self.releases.values():
            status = release.get("status", {})
            if release["spec"]["operation"] != "Preview" and status.get("revision", 0) >= last.get("revision", 0):
                last = status
        return {one["id"]: one for one in last.get("results", [])}

    def has_failed(self):
        return self.results().get("rack:host:host_file:web", {}).get("outcome") == "failed"

    def expect(self, what, is_so):
        if not is_so:
            raise DemoFailed(f"it is not so: {what}")
        print(f"  {paint(GREEN, what)}", flush=True)

    # The acts

    def prepare(self):
        self.act("What is needed first: two Secrets, with the key of PowerDNS and the one that the host knows")
        key = Path(RACK["HOST_IDENTITY"]).read_bytes()
        for name, data in (("dns", {"token": RACK["DNS_KEY"].encode()}), ("host", {"SSH_KEY": key})):
            body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
                    "data": {one: base64.b64encode(value).decode() for one, value in data.items()}}
            self.api.create(f"/api/v1/namespaces/{self.namespace}/secrets", body).must()
            row("Secret", name, ", ".join(data))

    def preview(self):
        self.act("It is previewed, while it is suspended: the plans of four platforms in one")
        self.write({**self.manifest, "spec": {**self.manifest["spec"], "suspend": True}},
                   "a copy of examples/onprem.yaml, with the addresses of hack/rack, and suspend: true")
        self.type_apply()
        self.follow(lambda: self._ready()[0] == "Unknown")
        release = self.create_release(operation="Preview")
        self.follow(lambda: self.has_ended(release))
        self.show_plan(release)

    def fail(self):
        self.act("The host is down when it is applied")
        self.type_in(f"hack/rack kill {self.plane} sshd")
        self.write({**self.manifest, "spec": {**self.manifest["spec"], "suspend": False}}, "suspend: false")
        self.type_apply()
        self.follow(self.has_failed)
        print(flush=True)
        for one in self.results().values():
            row(one["outcome"], one["id"], "")
        print(f"\n  {self.results()['rack:host:host_file:web'].get('message', '')}\n", flush=True)
        self.follow(lambda: resolve("web.team-a.example") and self.route())
        self.expect("What does not need the host is made: the zone, its record, the route.", self.zone())
        self.expect("The ConfigMap, which refers to the file, waits.",
                    not self.resources["v1:ConfigMap:team-a:rack"].live)

    def mend(self):
        self.act("The host comes back: the operator tries again by itself")
        self.type_in(f"hack/rack run {self.plane} sshd")
        self.follow(lambda: self._ready()[0] == "True")
        address = self.address()
        print(flush=True)
        self.expect(f"PowerDNS answers {address} for web.team-a.example.", resolve("web.team-a.example") == address)
        self.expect("Caddy has the route.", self.route())
        self.expect(f"And the host has the file: {FILE.name}.", FILE.read_text() == address)
        told = self.resources["v1:ConfigMap:team-a:rack"].live["data"]
        for name, value in told.items():
            row("ConfigMap", name, value)

    def end(self):
        self.delete()
        self.expect("In the rack nothing is left.", not self.zone() and not self.route() and not FILE.exists())


def show(demo):
    demo.prepare()
    demo.preview()
    demo.fail()
    demo.mend()


def main():
    arguments = read_arguments()
    demo = OnPremDemo(with_addresses(OnPremDemo.example.read_text()), arguments.plane, arguments.operator)
    demo.watch()
    return run(show, demo, arguments.once)


if __name__ == "__main__":
    sys.exit(main())
