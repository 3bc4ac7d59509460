"""Who asked an API server for what, from the audit log of a control plane."""

import json
import subprocess
from pathlib import Path

from kusion_e2e.paths import CONTROLPLANE

WRITTEN = 1.5  # seconds after which the API server has written down what it answered


class Entry:
    """One request. acts_as: the user that it was made for, by impersonation; None: for no other."""

    def __init__(self, entry):
        reference = entry.get("objectRef", {})
        self.user = entry["user"]["username"]
        self.impersonated = entry.get("impersonatedUser")
        self.acts_as = (self.impersonated or {}).get("username")
        self.verb, self.uri = entry["verb"], entry["requestURI"]
        self.group = reference.get("apiGroup", "")
        self.resource = reference.get("resource")
        if reference.get("subresource"):
            self.resource += "/" + reference["subresource"]
        self.namespace = reference.get("namespace", "")
        self.name = reference.get("name", "")
        self.code = entry.get("responseStatus", {}).get("code")

    @property
    def was_done(self):
        return self.code is not None and 200 <= self.code < 300

    def __repr__(self):
        return f"<{self.code} {self.verb} {self.uri} as {self.acts_as or self.user}>"


class Audit:
    def __init__(self, plane):
        answer = subprocess.run([CONTROLPLANE, "audit", plane], check=True, capture_output=True,
                                text=True)
        self._path = Path(answer.stdout.strip())

    def now(self):
        """A place in the log: what is written from now on is after it."""
        return self._path.stat().st_size

    def entries(self, since=0, user=None):
        """Those of one user; without one, of all."""
        with self._path.open("rb") as log:
            log.seek(since)
            text = log.read()
        lines = text[:text.rfind(b"\n") + 1].splitlines()
        found = (Entry(json.loads(line)) for line in lines)
        return [one for one in found if user in (None, one.user)]
