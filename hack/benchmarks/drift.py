"""Drift at once: from a patch by somebody else to the operator's look at it, and to the corrected
value, 200 times, each of another field of one of 20 ConfigMaps. Seen: the operator's first request
for the object, in the API server's audit log. The patches come more than a second apart, since
checks of drift are bounded."""

import time

from _audit import SETTLED, audit_log, entries, size
from _bench import Watch, cluster, config_map, report, sides

TIMES = 200
OBJECTS = 20
APART = 1.1  # seconds
SEEN_TARGET, CORRECTED_TARGET = 50, 150  # ms, at p99
WORD = "the quick brown fox jumps over the lazy dog"


def percentile(values, part):
    return round(sorted(values)[min(len(values) - 1, int(len(values) * part))] * 1000, 1) if values else None


class Corrections:
    """When each object was last whole, from a watch."""

    def __init__(self, plane, path):
        self.at = {}
        Watch(plane.kubeconfig, path, self._take)

    def _take(self, kind, item):
        values = {value for key, value in item.get("data", {}).items() if key != "number"}
        if kind != "DELETED" and values == {WORD}:
            self.at[item["metadata"]["name"]] = time.time()


def measure(side):
    maps = [config_map(n, side.namespace) for n in range(OBJECTS)]
    for one in maps:
        one["data"] |= {f"field{n}": WORD for n in range(TIMES // OBJECTS)}
    side.run("drift", maps)
    path = f"/api/v1/namespaces/{side.namespace}/configmaps"
    seen = Corrections(side.plane, path)
    log, took, patched = audit_log(side.plane), [], {}
    start = size(log)
    time.sleep(2)
    for n in range(TIMES):
        name = maps[n % OBJECTS]["metadata"]["name"]
        field = f"field{n // OBJECTS}"
        begun = time.time()
        side.plane.api.patch(f"{path}/{name}", {"data": {field: "drift"}}).must()
        patched.setdefault(name, []).append(begun)
        while seen.at.get(name, 0) < begun and time.time() < begun + 90:
            time.sleep(0.001)
        took.append(seen.at.get(name, begun + 90) - begun)
        time.sleep(max(0, APART - (time.time() - begun)))
    time.sleep(SETTLED)
    return took, looks(entries(log, start), patched)


def looks(found, patched):
    """Seconds from each patch to the first request of the operator for the object."""
    ours = [r for r in found if r.agent.startswith("kusion-operator") and r.resource == "configmaps" and r.verb != "watch"]
    result = []
    for name, times in patched.items():
        for begun in times:
            after = [r.begun - begun for r in ours if r.name == name and r.begun > begun]
            result += [min(after)] if after else []
    return result


def main():
    with cluster("--audit") as plane, sides(plane) as running:
        took, looked = measure(running[-1])
    figures = {"seen_p50": percentile(looked, 0.5), "seen_p99": percentile(looked, 0.99),
               "corrected_p50": percentile(took, 0.5), "corrected_p99": percentile(took, 0.99)}
    targets = {"seen_p99": SEEN_TARGET, "corrected_p99": CORRECTED_TARGET}
    report([f"drift, {TIMES} times, ms", "now", "target"],
           [[key, value, targets.get(key, "")] for key, value in figures.items()],
           {"benchmark": "drift", "times": TIMES, **figures,
            "ok": all(figures[key] <= target for key, target in targets.items())})


if __name__ == "__main__":
    main()
