"""What the operator asked of the API server, and when: from the audit log of a control plane."""

import json
import subprocess
from datetime import datetime

from _bench import ROOT

WRITES = ("create", "update", "patch", "delete", "deletecollection")
SETTLED = 1.5  # seconds after which the API server has written down what it answered


def audit_log(plane):
    command = [ROOT / "hack/controlplane", "audit", plane.name]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def size(path):
    with open(path, encoding="utf-8") as log:
        return log.seek(0, 2)


def time_of(text):
    return datetime.fromisoformat(text).timestamp()


class Request:
    """One of them. Times are seconds since 1970, to the microsecond."""

    def __init__(self, entry):
        reference = entry.get("objectRef", {})
        self.verb = entry["verb"]
        self.uri = entry["requestURI"]
        self.resource = reference.get("resource", self.uri.split("?")[0])
        self.subresource = reference.get("subresource")
        self.namespace = reference.get("namespace")
        self.name = reference.get("name")
        self.code = entry.get("responseStatus", {}).get("code")
        self.agent = entry.get("userAgent", "")
        self.begun = time_of(entry["requestReceivedTimestamp"])
        self.ended = time_of(entry["stageTimestamp"])
        self.is_dry = "dryRun" in self.uri

    @property
    def is_write(self):
        return self.verb in WRITES and not self.is_dry

    @property
    def is_event(self):
        return self.resource == "events"

    @property
    def what(self):
        kind = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        return f"{self.verb} {kind}" + (" (dry-run)" if self.is_dry else "")


def entries(path, start):
    with open(path, encoding="utf-8") as log:
        log.seek(start)
        return [Request(json.loads(line)) for line in log]


def is_operators(request):
    """Without what is asked for the Lease, and watches that were going on."""
    return (request.agent.startswith("kusion-operator") and request.resource != "leases"
            and request.verb != "watch")


def requests(path, start):
    """The operator's, from an offset in the log, in the order in which they came."""
    return sorted(filter(is_operators, entries(path, start)), key=lambda request: request.begun)
