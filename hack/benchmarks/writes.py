"""What a new Spec asks of the API server, from its audit log: every request for a Spec of one
ConfigMap; and for one of 1,000 ConfigMaps, how the time goes by from its creation to Ready. In turns
with an operator on another control plane, whose etcd waits for the disk ("fsync")."""

import os
import time
from collections import Counter

from _audit import SETTLED, audit_log, entries, is_operators, size
from _bench import OPERATOR, cluster, config_map, median, ratio, report, running_sides, say, sides

COUNT = 1000
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
WRITES_TARGET = 7  # beside Events
FIRST_TARGET, LAST_TARGET = 150, 50  # ms before the first object is sent, and after the last
HEADS = ["now", "fsync", "before", "now to before", "target"]


def run(side, name, objects, log):
    """The operator's requests in their order, and when the Spec was there."""
    start = size(log)
    side.run(name, objects)
    time.sleep(SETTLED)
    found = entries(log, start)
    created = next(r.ended for r in found if r.what == "create specs")
    return sorted(filter(is_operators, found), key=lambda r: r.begun), created


def is_object(request):
    """One of a Spec's own."""
    return request.verb == "patch" and request.resource == "configmaps"


def show(side, title, found, created):
    say(f"  {side.name}: {title}")
    for r in found:
        at, took = (r.begun - created) * 1000, (r.ended - r.begun) * 1000
        say(f"    {at:8.1f} ms +{took:6.1f} ms  {r.code}  {r.what}  {r.namespace or ''} {r.name or ''}")


def run_small(side, number, log):
    found, created = run(side, f"small-{number}", [config_map(number, side.namespace)], log)
    if number == ROUNDS - 1:
        show(side, "a Spec of one ConfigMap", found, created)
    writes = [r for r in found if r.is_write and not r.is_event]
    ready = max(r.ended for r in found if r.what == "update specs/status")
    return {"requests": len(found), "writes": len(writes), "events": sum(r.is_event for r in found),
            "whole": (ready - created) * 1000,
            "kinds": dict(Counter(r.what for r in writes))}


def run_large(side, number, log):
    namespace = f"{side.namespace}-{number}"
    side.plane.kubectl("create", "namespace", namespace)
    found, created = run(side, f"large-{number}", [config_map(n, namespace) for n in range(COUNT)], log)
    sent = [r for r in found if is_object(r)]
    others = [r for r in found if not is_object(r)]
    if number == ROUNDS - 1:
        show(side, f"a Spec of {COUNT} ConfigMaps, all but these", others, created)
    first, last = min(r.begun for r in sent), max(r.ended for r in sent)
    ready = max(r.ended for r in others if r.what == "update specs/status")
    return {"before_first": (first - created) * 1000, "objects": (last - first) * 1000,
            "after_last": (ready - last) * 1000, "whole": (ready - created) * 1000,
            "writes": sum(r.is_write and not r.is_event for r in others)}


def measure(running, run_one):
    logs = {side.name: audit_log(side.plane) for side in running}
    rounds = {side.name: [] for side in running}
    for number in range(ROUNDS):
        for side in running:
            rounds[side.name].append(run_one(side, number, logs[side.name]))
    return rounds


def medians(rounds, name, keys):
    ones = rounds.get(name, [])
    return {key: round(median([one[key] for one in ones]), 1) if ones else None for key in keys}


def rows_of(titles, rounds, targets):
    ours, durable, before = (medians(rounds, name, titles) for name in ("operator", "fsync", "before"))
    return [[title, ours[key], durable[key], "" if before[key] is None else before[key],
             ratio(ours[key], before[key]), targets.get(key, "")] for key, title in titles.items()]


def main():
    with (cluster("--audit") as plane, sides(plane) as running, cluster("--audit", "--fsync") as durable,
          running_sides(durable, [("fsync", OPERATOR)]) as more):
        small = measure([*running, *more], run_small)
        large = measure([*running, *more], run_large)
    small_titles = {"writes": "a Spec of one ConfigMap: writes", "events": "  Events beside them",
                    "requests": "  requests", "whole": "  ms: created to Ready"}
    kinds = small["operator"][-1]["kinds"]
    large_titles = {"before_first": f"{COUNT} ConfigMaps, ms: created to first object sent",
                    "objects": "  to last object answered", "after_last": "  to Ready", "whole": "  together",
                    "writes": "  writes beside them, Events not counted"}
    targets = {"before_first": FIRST_TARGET, "after_last": LAST_TARGET}
    rows = rows_of(small_titles, small, {"writes": WRITES_TARGET})
    rows += [[f"    {what}", count, "", "", "", ""] for what, count in kinds.items()]
    rows += rows_of(large_titles, large, targets)
    figures = {name: {"small": medians(small, name, small_titles), "large": medians(large, name, large_titles)}
               for name in small}
    ours = figures["operator"]
    report(["what a new Spec costs", *HEADS], rows,
           {"benchmark": "writes", "rounds": ROUNDS, **figures,
            "ok": (ours["small"]["writes"] <= WRITES_TARGET and ours["large"]["before_first"] <= FIRST_TARGET
                   and ours["large"]["after_last"] <= LAST_TARGET)})


if __name__ == "__main__":
    main()
