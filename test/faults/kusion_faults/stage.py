"""What a scenario works with: a room, a lane of the proxy, and an operator behind it."""

import time

from kusion_faults import paths  # noqa: F401
from kusion_faults.faults import exactly
from kusion_faults.life import new_mark
from kusion_faults.operator import Operator
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.wait import eventually


class Stage:
    def __init__(self, proxy, room):
        self.proxy, self.room = proxy, room
        self.api, self.tenant = room.api, room.tenant
        self._lanes, self.operators = [], []

    def lane(self, **options):
        self._lanes.append(self.proxy.lane(**options))
        return self._lanes[-1]

    def operator(self, lane, *flags, **options):
        """A new one; the first one leads when this returns."""
        made = Operator(self.room, lane, self.room, flags, **options)
        self.operators.append(made)
        return made if len(self.operators) > 1 else made.wait_leading()

    def spec(self):
        """A new one."""
        return Spec(self.room, self.tenant, f"spec-{new_mark()}")

    def config(self, name, value="1", **more):
        return config_map(name, self.tenant, {"value": value}, **more)

    def path(self, name="", kind="configmaps"):
        return f"/api/v1/namespaces/{self.tenant}/{kind}" + (f"/{name}" if name else "")

    def on(self, name, query=False):
        """A regular expression for the requests for one ConfigMap."""
        return exactly(self.path(name))[:-1] + (r"\?" if query else r"(\?|$)")

    def of(self, spec, subresource=""):
        """A regular expression for the requests for a Spec."""
        return exactly(spec.path + subresource)[:-1] + r"(\?|$)"

    def value(self, name):
        """What a ConfigMap has; None: it is not there."""
        answer = self.api.get(self.path(name))
        return answer.object["data"]["value"] if answer.ok else None

    def ours(self):
        """The names of the ConfigMaps with the label of an owner."""
        found = self.api.get(self.path() + "?labelSelector=api.kusion.io/owner").must().object["items"]
        return sorted(one["metadata"]["name"] for one in found)

    def gone(self, spec, seconds=60):
        """Waits until a Spec is, and State with it."""
        eventually(lambda: self.api.get(spec.path).code == 404, seconds)
        assert self.room.kept() == []

    def ready(self, spec, seconds=60):
        return spec.wait("True", seconds)

    def phases(self, spec):
        return [one.get("status", {}).get("phase") for one in spec.releases()]

    def close(self):
        """Ends the operators. Gives what was wrong with them."""
        crashes = [text for one in self.operators for text in one.stop()]
        for one in self.operators:
            one.log.unlink(missing_ok=True)
        for lane in self._lanes:
            lane.close()
        return crashes


def stays(check, seconds):
    """It is so, all the time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert check()
        time.sleep(0.05)
