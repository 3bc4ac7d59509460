"""A thousand resources of type HTTP, through the operator on a real API server, beside a bare loop that sends
the same requests and keeps nothing, and beside Terraform's way: as many resources of a provider that sends
nothing (random_id), by the same operator. Apply, no change, destroy, in turns.

The aims: an apply at 0.7 of the bare loop's speed; no change in 1/5 of the time of the apply; faster than
Terraform's way."""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

from _bench import OPERATOR, Api, Watch, cluster, median, ratio, report, running_sides, say
from kusion_e2e.terraform import flags, mirror, terraform

COUNT = 1000
ROUNDS = 3
RESYNC = "api.kusion.io/reconcile-requested-at"
REST = Path(__file__).with_name("_rest.py")
LOOP_AIM, NO_CHANGE_AIM = 0.7, 5


def things(port):
    path = "/things/{/name}"
    return [{"id": f"thing-{i}", "type": "HTTP", "attributes": {"name": f"n{i}", "text": "the quick brown fox"},
             "extensions": {"connection": {"url": f"http://127.0.0.1:{port}"}, "read": {"path": path},
                            "create": {"method": "PUT", "path": path}, "update": {"method": "PUT", "path": path},
                            "delete": {"method": "DELETE", "path": path}}} for i in range(COUNT)]


class Life:
    """Of a Spec with these resources."""

    def __init__(self, side, resources):
        self.side, self.resources = side, resources
        self._changed, self._now = threading.Condition(), {}
        self._api = Api(side.plane.kubeconfig)
        Watch(side.plane.kubeconfig, side.specs, self._take)

    def _take(self, kind, spec):
        with self._changed:
            self._now[spec["metadata"]["name"]] = None if kind == "DELETED" else spec
            self._changed.notify_all()

    def _wait(self, name, is_reached):
        with self._changed:
            if not self._changed.wait_for(lambda: is_reached(self._now.get(name)), 600):
                raise SystemExit(f"{name}: {json.dumps(self._now.get(name))[:2000]}")

    def run(self, name):
        """Seconds of each phase."""
        body = {"apiVersion": "api.kusion.io/v1", "kind": "Spec",
                "metadata": {"name": name, "namespace": self.side.namespace},
                "spec": {"serviceAccountName": "deployer", "interval": "1h", "resources": self.resources}}
        took, begun, worked = {}, time.monotonic(), self.side.cpu()

        def note(phase):
            nonlocal begun, worked
            now, cpu = time.monotonic(), self.side.cpu()
            took[phase], took[f"{phase}, CPU"], begun, worked = now - begun, cpu - worked, now, cpu

        self._api.create(self.side.specs, json.dumps(body)).must()
        self._wait(name, is_ready)
        note("apply")
        token = f"bench-{time.monotonic_ns()}"
        self._api.patch(f"{self.side.specs}/{name}", {"metadata": {"annotations": {RESYNC: token}}}).must()
        self._wait(name, lambda spec: spec["status"].get("lastHandledReconcileAt") == token)
        note("no change")
        self._api.delete(f"{self.side.specs}/{name}").must()
        self._wait(name, lambda spec: not spec)
        note("destroy")
        return took


def is_ready(spec):
    conditions = (spec or {}).get("status", {}).get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def bare_loop(port):
    return {phase: float(subprocess.run([sys.executable, REST, "loop", str(port), str(COUNT), phase], check=True,
                                        stdout=subprocess.PIPE, text=True).stdout)
            for phase in ("apply", "no change", "destroy")}


def main():
    server = subprocess.Popen([sys.executable, REST, "serve"], stdout=subprocess.PIPE, text=True)
    port = int(server.stdout.readline())
    has_providers = not mirror()[1]
    more = flags("hashicorp/random") if has_providers else []
    rounds = []
    try:
        with (cluster() as plane,
              running_sides(plane, [("operator", OPERATOR)],
                            ["--http-host", f"http://127.0.0.1:{port}=127.0.0.1", *more]) as (side,)):
            ours = Life(side, things(port))
            theirs = Life(side, [terraform("random_id", f"r{i}", byte_length=8) for i in range(COUNT)])
            for number in range(ROUNDS):
                say(f"    round {number + 1} of {ROUNDS}")
                rounds.append((ours.run(f"http-{number}"), bare_loop(port),
                               theirs.run(f"terraform-{number}") if has_providers else {}))
    finally:
        server.kill()
    rows, figures = [], {}
    for phase in ("apply", "no change", "destroy"):
        cpu = median([one[0][f"{phase}, CPU"] for one in rounds])
        found = [median([one[side].get(phase, 0) for one in rounds]) for side in range(3)]
        figures[phase] = {**dict(zip(("ours", "loop", "terraform"), found)), "cpu": cpu}
        rows.append([phase, *found, ratio(found[1], found[0], 2), ratio(found[2], found[0], 1), cpu])
    no_change = figures["apply"]["ours"] / figures["no change"]["ours"]
    is_ok = figures["apply"]["loop"] / figures["apply"]["ours"] >= LOOP_AIM and no_change >= NO_CHANGE_AIM
    rows.append(["apply / no change", round(no_change, 1), "", "", "", "", ""])
    report([f"{COUNT} things, seconds", "operator", "bare loop", "random_id", "of the loop's speed", "times random_id",
            "the operator's CPU"],
           rows, {"benchmark": "http", **figures, "ok": is_ok})


if __name__ == "__main__":
    main()
