"""A Preview of 1,000 ConfigMaps against `kubectl diff --server-side` of the same objects, on the same
API server: of objects that do not exist yet, of objects that are as they should be, and of objects of
which a tenth would change. Each in two ways: the Preview of a stored Spec, and one that carries the
resources, as `kubectl kusion convert --preview` makes it (the API server takes some 200 ms of CPU for each write of
so large a Release). Rounds of all in turns, after one that does not count; the ratios are medians of
those of the rounds. The requests are those of the API server's audit log. kubectl's objects are in a
namespace of their own, where kubectl applied them."""

import json
import os
import tempfile
import time
from collections import Counter
from pathlib import Path

from _audit import SETTLED, audit_log, entries, is_operators, size
from _bench import TABLE, Watch, cluster, config_map, median, report, say, sides, spec
from kusion_e2e.api import APPLY

COUNT = int(os.environ.get("BENCH_COUNT", "1000"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
TARGET = 4.0  # times as fast as kubectl
BEFORE_TARGET = 0.9  # two runs of the same program differ by as much
KUBECTL = "bench-kubectl"
NAME = "items"  # of the Spec
ENDED = ("succeeded", "failed", "cancelled")


def no_number(number):
    return False


def tenth_number(number):
    return number % 10 == 0


CASES = {  # which of the objects are changed, and what a Preview has to find
    "nothing exists yet": (no_number, {"create": COUNT}),
    "nothing changed": (no_number, {"unchanged": COUNT}),
    "a tenth changed": (tenth_number, {"update": COUNT // 10, "unchanged": COUNT - COUNT // 10}),
}


def objects(namespace, is_changed=no_number):
    made = [config_map(number, namespace) for number in range(COUNT)]
    for number in filter(is_changed, range(COUNT)):
        made[number]["data"]["text"] = "the quick brown fox sleeps"
    return made


# The operator


class Previews:
    """Of one side. It is told of their ends by a watch of tables, as `kubectl get -w` has it: that costs the API
    server least."""

    def __init__(self, side):
        self.side = side
        self.path = side.specs.replace("/specs", "/releases")
        self._ended = {}  # when, by name
        Watch(side.plane.kubeconfig, self.path, self._take, TABLE)

    def _take(self, kind, table):
        for row in table["rows"]:
            name, phase = row["cells"][0], row["cells"][4]
            if phase in ENDED:
                self._ended.setdefault(name, time.monotonic())

    def _wait(self, name, seconds=180):
        end = time.monotonic() + seconds
        while name not in self._ended:
            if time.monotonic() > end:
                raise SystemExit(f"{self.side.name}: the Preview has not ended after {seconds} s")
            time.sleep(0.002)
        return self._ended[name]

    def store(self, made, suspend=True):
        """The Spec. Suspended, it is there to be previewed only."""
        body = spec(NAME, self.side.namespace, made)
        body["spec"]["suspend"] = suspend
        self.side.plane.api.request("PATCH", f"{self.side.specs}/{NAME}?fieldManager=bench&force=true",
                                    json.dumps(body), APPLY).must()

    def run(self, wanted, carried=None):
        """Seconds from the request until the plan is there."""
        fields = {"serviceAccountName": "deployer", "resources": carried} if carried else {}
        body = json.dumps({
            "apiVersion": "api.kusion.io/v1", "kind": "Release", "metadata": {"generateName": "preview-"},
            "spec": {"specRef": {"name": NAME}, "operation": "Preview", **fields}})
        api, started = self.side.plane.api, time.monotonic()
        name = api.create(self.path, body).must().object["metadata"]["name"]
        took = self._wait(name) - started
        status = api.get(f"{self.path}/{name}").must().object["status"]
        found = {key: count for key, count in status.get("plan", {}).items() if key != "digest" and count}
        if status["phase"] != "succeeded" or found != wanted:
            raise SystemExit(f"{self.side.name}: {status['phase']}, {found}, not {wanted}: {status.get('summary')}")
        api.delete(f"{self.path}/{name}").must()
        return took


# kubectl


def write_list(folder, made):
    file = Path(folder) / "list.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": made}))
    return str(file)


def run_kubectl(plane, file, wanted):
    """Its exit status is that of diff: 1 where there are differences."""
    started = time.monotonic()
    result = plane.kubectl("diff", "--server-side", "-f", file, check=False)
    took = time.monotonic() - started
    if result.returncode != (1 if set(wanted) - {"unchanged"} else 0):
        raise SystemExit(f"kubectl diff: exit status {result.returncode}: {result.stderr[-500:]}")
    return took


# All


def is_kubectls(request):
    return request.agent.startswith("kubectl")


def counted(run, log, is_own):
    """The seconds that it took, and its requests."""
    time.sleep(SETTLED)
    start = size(log)
    took = run()
    time.sleep(SETTLED)
    return took, [request for request in entries(log, start) if is_own(request)]


def run_all(plane, previews, folder, title, number):
    """Of each: the seconds, and the requests."""
    is_changed, wanted = CASES[title]
    log, runs = audit_log(plane), {}
    for one in previews:
        one.store(objects(one.side.namespace, is_changed))
        runs[one.side.name] = counted(lambda one=one: one.run(wanted), log, is_operators)
    carried = spec(NAME, one.side.namespace, objects(one.side.namespace, is_changed))["spec"]["resources"]
    runs["carried"] = counted(lambda: one.run(wanted, carried), log, is_operators)
    file = write_list(folder, objects(KUBECTL, is_changed))
    runs["kubectl"] = counted(lambda: run_kubectl(plane, file, wanted), log, is_kubectls)
    texts = ", ".join(f"{name} {took:.2f} s" for name, (took, _) in runs.items())
    say(f"    {title}, {f'round {number} of {ROUNDS}' if number else 'warm-up'}: {texts}")
    return runs


def make_objects(plane, previews, folder):
    for one in previews:
        one.store(objects(one.side.namespace), suspend=False)
        one.side.readiness.wait(NAME)
    plane.kubectl("apply", "--server-side", "-f", write_list(folder, objects(KUBECTL)))


def measure(plane, running, folder):
    """The rounds of each case."""
    plane.kubectl("create", "namespace", KUBECTL)
    previews, rounds = [Previews(side) for side in running], {}
    for title, (_, wanted) in CASES.items():
        if rounds and wanted == {"unchanged": COUNT}:
            make_objects(plane, previews, folder)
        rounds[title] = [run_all(plane, previews, folder, title, number) for number in range(ROUNDS + 1)][1:]
    return rounds


def speeds_of(rounds, name):
    """How much faster than kubectl."""
    return round(median([one["kubectl"][0] / one[name][0] for one in rounds]), 2)


def figures_of(rounds):
    """By name."""
    figures = {}
    for name in rounds[0]:
        found = rounds[-1][name][1]
        figures[name] = {"seconds": median([one[name][0] for one in rounds]), "speed": speeds_of(rounds, name),
                         "requests": len(found), "dry_runs": sum(request.is_dry for request in found),
                         "by_kind": dict(Counter(request.what for request in found))}
    return figures


def is_ok(figures):
    ours, before = figures["operator"], figures.get("before", {"speed": 0})
    return ours["speed"] >= TARGET and ours["speed"] >= before["speed"] * BEFORE_TARGET


TITLES = {"operator": "Preview of a Spec", "before": "the operator that it is compared with",
          "carried": "Preview that carries the resources", "kubectl": "kubectl diff --server-side"}


def main():
    with cluster("--audit") as plane, sides(plane) as running, tempfile.TemporaryDirectory() as folder:
        figures = {title: figures_of(rounds) for title, rounds in measure(plane, running, folder).items()}
    rows = []
    for title, one in figures.items():
        rows.append([title, "", "", "", ""])
        rows += [[f"  {TITLES[name]}", of["seconds"], of["requests"], of["dry_runs"], of["speed"]]
                 for name, of in one.items()]
    report([f"{COUNT} ConfigMaps", "seconds", "requests", "dry-runs", f"speed (at least {TARGET:.0f})"], rows,
           {"benchmark": "preview", "objects": COUNT, "rounds": ROUNDS, "target": TARGET, "cases": figures,
            "ok": all(map(is_ok, figures.values()))})


if __name__ == "__main__":
    main()
