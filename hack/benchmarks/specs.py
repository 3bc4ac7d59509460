"""1,000 Specs of one ConfigMap each: from the first creation until all are Ready, and what that
asks of the API server. Those of earlier rounds stay: they are not looked at again within ten
minutes."""

import json
import os
import threading
import time

from _audit import SETTLED, audit_log, requests, size
from _bench import cluster, config_map, median, ratio, report, say, sides, spec
from kusion_e2e.api import Api

COUNT = int(os.environ.get("BENCH_COUNT", "1000"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "2"))
CREATORS = 4  # connections
TARGET = 20.0  # seconds, on two cores


def create_all(side, number):
    """When that began."""
    first = number * COUNT  # no object is in two Specs
    bodies = [json.dumps(spec(f"spec-{n:05}", side.namespace, [config_map(n, side.namespace)]))
              for n in range(first, first + COUNT)]

    def create(share):
        api = Api(side.plane.kubeconfig)
        for body in share:
            api.create(side.specs, body).must()
        api.close()

    threads = [threading.Thread(target=create, args=(bodies[i::CREATORS],)) for i in range(CREATORS)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return started


def run(side, number, log):
    start, worked = size(log), side.cpu()
    began = create_all(side, number)
    created = time.monotonic() - began
    took = side.readiness.wait_for((number + 1) * COUNT + 1) - began
    worked = side.cpu() - worked
    time.sleep(SETTLED)
    found = requests(log, start)
    say(f"    round {number}: {side.name}: {took:.1f} s, of that {created:.1f} s until all were created; "
        f"{worked:.1f} s of CPU")
    return {"seconds": took, "cpu_s": worked, "requests": len(found),
            "writes": sum(r.is_write and not r.is_event for r in found),
            "events": sum(r.is_event for r in found)}


def main():
    with cluster("--audit") as plane, sides(plane) as running:
        log = audit_log(plane)
        rounds = {side.name: [] for side in running}
        for number in range(ROUNDS):
            for side in running if number % 2 else reversed(running):
                rounds[side.name].append(run(side, number, log))
    figures = {name: {key: median([one[key] for one in ones]) for key in ones[0]}
               for name, ones in rounds.items()}
    ours, before = figures["operator"], figures.get("before", {})
    rows = [[key, ours[key], before.get(key, ""), ratio(ours[key], before.get(key))] for key in ours]
    report([f"{COUNT} Specs of a ConfigMap, until all are Ready", "now", "before", "now to before"],
           [*rows, [f"seconds, of the target ({TARGET:.0f})", ratio(ours["seconds"], TARGET), "", ""]],
           {"benchmark": "specs", "specs": COUNT, "rounds": ROUNDS, **figures, "target_s": TARGET,
            "ok": ours["seconds"] <= TARGET})


if __name__ == "__main__":
    main()
