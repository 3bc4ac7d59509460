"""examples/onprem.yaml over the real servers: PowerDNS, Caddy and sshd (hack/rack)."""

import json
import socket
import struct
import urllib.request
from pathlib import Path

import pytest
import yaml

from kusion_e2e.controller import Controller
from kusion_e2e.long import takes_long
from kusion_e2e.paths import ROOT
from kusion_e2e.rack import host_file, host_secret, python_provider, rack as servers
from kusion_e2e.releases import plan_of
from kusion_e2e.specs import Spec
from kusion_e2e.states import open_text, states
from kusion_e2e.wait import eventually

TEAM = "team-a"
HOST = "rack:host:host_file:web"
CONTEXT = [{"secretRef": {"name": "host"}}]


class Rack:
    """All servers."""

    def __init__(self, environment):
        self.environment = environment
        self.file = Path(environment["KUSION_RACK_HOST_FILES"]) / "web.address"
        self.dns, self.key = environment["KUSION_RACK_DNS"], environment["KUSION_RACK_DNS_KEY"]
        self.dns_port = int(environment["KUSION_RACK_DNS_PORT"])
        self.lb, self.site = environment["KUSION_RACK_LB"], environment["KUSION_RACK_LB_SITE"]

    def ask(self, url, method="GET", body=None):
        """The answer's JSON; None: there is none."""
        request = urllib.request.Request(url, method=method, data=body and json.dumps(body).encode(),
                                         headers={"X-API-Key": self.key, "Content-Type": "application/json"})
        try:
            text = urllib.request.urlopen(request).read()
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            return None
        return json.loads(text) if text else {}

    def zone(self):
        return self.ask(f"{self.dns}/api/v1/servers/localhost/zones/team-a.example.")

    def route(self):
        return self.ask(f"{self.lb}/id/team-a-web")

    def resolve(self, name):
        """The addresses that a client of the DNS server gets."""
        question = struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0)
        question += b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0\0\1\0\1"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(5)
            client.sendto(question, ("127.0.0.1", self.dns_port))
            answer = client.recv(512)
        count, at, found = struct.unpack(">H", answer[6:8])[0], len(question), []
        for _ in range(count):
            found.append(socket.inet_ntoa(answer[at + 12:at + 16]))
            at += 16
        return found


@pytest.fixture(scope="module")
def rack():
    with servers() as environment:
        yield Rack(environment)


@pytest.fixture(scope="module")
def controller(state_namespace, rack):
    flags = [word for url in (rack.dns, rack.lb) for word in ("--http-host", f"{url}=127.0.0.1")]
    provider = f"rack/host@1.0.0={python_provider()}"
    controller = Controller(state_namespace, flags=[*flags, "--terraform-provider", provider])
    yield controller.wait_leading()
    assert controller.stop() == 0


@pytest.fixture(scope="module")
def team(controller, rack):
    cluster = controller.cluster
    namespace = f"/api/v1/namespaces/{TEAM}"  # another file may have had it, and it goes for a while
    eventually(lambda: "deletionTimestamp" not in (cluster.api.get(namespace).object or {}).get("metadata", {}), 120)
    cluster.apply((ROOT / "examples/team-a.yaml").read_text())
    cluster.apply(json.dumps({"apiVersion": "v1", "kind": "Secret", "stringData": {"token": rack.key},
                              "metadata": {"name": "dns", "namespace": TEAM}}))
    cluster.apply(json.dumps(host_secret(rack.environment, TEAM)))
    yield cluster
    cluster.delete_namespace(TEAM)


def resources(rack):
    """Of the example, with the servers' real addresses."""
    text = (ROOT / "examples/onprem.yaml").read_text()
    text = text.replace("http://dns.rack.example:8081", rack.dns).replace("http://lb.rack.example:2019", rack.lb)
    made = {one["id"]: one for one in yaml.safe_load(text)["spec"]["resources"]}
    real = host_file(rack.file.name, rack.environment, made[HOST]["attributes"]["content"])
    made[HOST].update(attributes=real["attributes"], extensions=real["extensions"])
    return made


def test_the_example_has_its_whole_life(team, rack, controller):
    spec = Spec(team, TEAM, "onprem")
    made = resources(rack)

    def apply(**more):
        return spec.apply(list(made.values()), serviceAccountName="deployer", contextFrom=CONTEXT, **more)

    apply(suspend=True)
    spec.wait("Unknown")
    plan = plan_of(team, TEAM, "onprem")
    assert {one["action"] for one in plan.values()} == {"create"} and rack.zone() is None

    apply().wait("True")
    address = team.get_json("service", "web", "-n", TEAM)["spec"]["clusterIP"]
    assert rack.resolve("web.team-a.example") == [address]
    assert rack.route()["handle"][0]["upstreams"] == [{"dial": "web.team-a.example:80"}]
    assert team.get_json("configmap", "rack", "-n", TEAM)["data"] == {
        "zone": "team-a.example.", "host": "web.example.com",
        "file": f"sftp://{rack.environment['KUSION_RACK_HOST']}{rack.file}"}
    assert rack.file.read_text() == address
    assert rack.key not in open_text(team, spec) + controller.log.read_text()

    # Nothing more is to be done.
    plan = plan_of(team, TEAM, "onprem")
    assert {one["action"] for one in plan.values()} == {"unchanged"}, plan

    # Changed in place; with the zone's own records beside them.
    made["rack:dns:web"]["attributes"]["ttl"] = 30
    made["rack:lb:web"]["attributes"]["handle"] = [{"handler": "static_response", "body": "maintenance"}]
    apply().wait("True")
    record, = [one for one in rack.zone()["rrsets"] if one["type"] == "A"]
    assert record["ttl"] == 30 and rack.resolve("web.team-a.example") == [address]
    request = urllib.request.Request(rack.site, headers={"Host": "web.example.com"})
    assert urllib.request.urlopen(request).read() == b"maintenance"

    # Somebody else's change is changed back.
    rack.ask(f"{rack.lb}/id/team-a-web/handle/0/body", "PATCH", "theirs")
    apply(interval="2s")
    eventually(lambda: rack.route()["handle"][0]["body"] == "maintenance")

    # One of them is renamed, and one leaves.
    made["rack:dns:web"]["attributes"]["name"] = "www.team-a.example."
    del made["rack:lb:web"], made["v1:ConfigMap:team-a:rack"]
    apply().wait("True")
    assert rack.route() is None
    assert rack.resolve("web.team-a.example") == [] and rack.resolve("www.team-a.example") == [address]

    spec.delete()
    assert rack.zone() is None and not rack.file.exists() and not states(team, TEAM)


@takes_long
def test_half_way_down_and_mended(team, rack):
    """Caddy is not there yet: all that does not need it is made, and the rest when it is."""
    spec = Spec(team, TEAM, "onprem")
    made = resources(rack)
    right = made["rack:lb:web"]["extensions"]["create"]["path"]
    made["rack:lb:web"]["extensions"]["create"]["path"] = "/config/apps/http/servers/none/routes"
    spec.apply(list(made.values()), serviceAccountName="deployer", contextFrom=CONTEXT, retryInterval="2s",
               timeout="15s")
    ready = spec.wait("False")
    assert "rack:lb:web" in ready["message"], ready
    assert rack.zone() and team.get_json("configmap", "rack", "-n", TEAM) is None
    made["rack:lb:web"]["extensions"]["create"]["path"] = right
    spec.apply(list(made.values()), serviceAccountName="deployer", contextFrom=CONTEXT).wait("True", 150)
    assert rack.route()
    spec.delete()
    assert rack.zone() is None and rack.route() is None
