"""What waiting costs: 1,000 Specs, each with a Deployment that does not get ready. The process's
threads, CPU and requests meanwhile, and the time to Ready of one more Spec beside those of an
operator that has nothing to do. Then the Deployments roll out: how often the operator looks at them
for each event of its watch, and what else it asks for (a plan would begin with a LIST or a read of the
ServiceAccount). An operator that begins no further Spec while others wait is told to stop there: it has
no figures for one more Spec."""

import json
import os
import threading
import time
from collections import Counter

from _audit import SETTLED, audit_log, entries, requests, size
from _bench import OPERATOR, cluster, config_map, median, ratio, report, say, sides
from kusion_e2e.api import Api

COUNT = int(os.environ.get("BENCH_COUNT", "1000"))
REPLICAS = 2
QUIET = 30  # seconds that are watched
PROBES = 15  # Specs beside them, of each operator
PATIENCE = 900  # seconds for the Deployments' controllers
STALLED = 60  # seconds without another pod, after which no further Spec is begun
WORKERS = 4  # connections
CAUSED = 3  # seconds within which a look follows what it is caused by
PODS = "/api/v1/namespaces/{}/pods"


def deployment(number, namespace):
    """Its pods stay Pending until somebody takes the label kwok-hold from them (hack/lib/kwok.yaml)."""
    labels = {"app": f"app-{number:04}"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": f"app-{number:04}", "namespace": namespace},
        "spec": {"replicas": REPLICAS, "progressDeadlineSeconds": 86400, "selector": {"matchLabels": labels},
                 "template": {"metadata": {"labels": {**labels, "kwok-hold": "true"}},
                              "spec": {"containers": [{"name": "main", "image": "none"}]}}},
    }


def in_parallel(side, items, do):
    """do(api, item) for all, on a few connections."""
    def work(share):
        api = Api(side.plane.kubeconfig)
        for item in share:
            do(api, item)
        api.close()

    threads = [threading.Thread(target=work, args=(items[i::WORKERS],)) for i in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def list_names(side, path):
    answer = side.plane.api.get(path.format(side.namespace) + "?resourceVersion=0").must().object
    return [item["metadata"]["name"] for item in answer["items"]]


def begin_waiting(side):
    """How many of the Specs were begun."""
    for number in range(COUNT):
        side.create(f"wait-{number:04}", [deployment(number, side.namespace)])
    pods, grew = 0, time.monotonic()
    while pods < COUNT * REPLICAS and time.monotonic() - grew < STALLED:
        time.sleep(5)
        before, pods = pods, len(list_names(side, PODS))
        if pods > before:
            grew = time.monotonic()
        say(f"    {pods} of {COUNT * REPLICAS} pods are there")
    time.sleep(10)
    return pods // REPLICAS


def tell(found):
    say("    requests: " + ", ".join(f"{count} {what}" for what, count in Counter(r.what for r in found).items()))


def look_at_quiet(side, log):
    start, worked = size(log), side.cpu()
    time.sleep(QUIET)
    found = requests(log, start)
    tell(found)
    return {"threads": int(side.status("Threads")), "resident_mb": side.resident(),
            "cpu_percent": round((side.cpu() - worked) / QUIET * 100, 2),
            "requests_per_minute": round(len(found) * 60 / QUIET),
            "writes_per_minute": round(sum(r.is_write and not r.is_event for r in found) * 60 / QUIET)}


def probe(side, idle):
    """Seconds until one more Spec is Ready: beside those that wait, and where nothing does."""
    took = {side.name: [], idle.name: []}
    first = sum(map(ord, side.name)) * PROBES  # objects of their own, in the idle one's namespace as well
    for number in range(first, first + PROBES):
        for each in (side, idle):
            took[each.name].append(each.run(f"probe-{side.name}-{number}", [config_map(number, each.namespace)]))
    return median(took[side.name]), median(took[idle.name])


def release_pods(side, names):
    hold = json.dumps({"metadata": {"labels": {"kwok-hold": None}}})
    path = PODS.format(side.namespace)
    in_parallel(side, names, lambda api, name: api.patch(f"{path}/{name}", hold).must())


def changes_of(found):
    """When each Deployment was changed by its controllers, as a watch tells of it."""
    changed = {}
    for r in found:
        if r.resource == "deployments" and r.is_write and r.code == 200:
            changed.setdefault(r.name, []).append(r.ended)
    return changed


def follows(request, changed):
    """Whether a look at a Deployment has a change of it shortly before; else it is one of those now and then."""
    return any(0 <= request.ended - at <= CAUSED for at in changed.get(request.name, ()))


def roll(side, log):
    """All become ready, a pod after another."""
    start, before = size(log), len(side.readiness)
    began = time.monotonic()
    release_pods(side, list_names(side, PODS))
    took = side.readiness.wait_for(before + COUNT, PATIENCE) - began
    time.sleep(SETTLED + 3)
    changed, found = changes_of(entries(log, start)), requests(log, start)
    events = sum(map(len, changed.values()))
    looks = [r for r in found if r.verb == "get" and r.resource == "deployments"]
    caused = sum(follows(r, changed) for r in looks)
    plans = sum(r.resource == "serviceaccounts" or (r.verb == "list" and r.resource == "deployments")
                for r in found)
    tell(found)
    return {"seconds": round(took, 1), "events": events, "gets_for_events": caused,
            "gets_now_and_then": len(looks) - caused, "gets_per_event": ratio(caused, events), "plans": plans}


def main():
    with cluster("--audit") as plane, sides(plane, others=[("idle", OPERATOR)]) as running:
        log = audit_log(plane)
        idle = running.pop()
        figures = {}
        for side in running:
            say(f"  {side.name}")
            begun = begin_waiting(side)
            quiet = {"begun": begun, "threads_idle": int(idle.status("Threads"))} | look_at_quiet(side, log)
            say(f"    {quiet}")
            figures[side.name] = quiet
            if begun < COUNT:
                continue
            beside, alone = probe(side, idle)
            figures[side.name] |= {"one_more_s": beside, "one_more_idle_s": alone,
                                   "one_more_ratio": ratio(beside, alone)} | roll(side, log)
    ours, before = figures["operator"], figures.get("before", {})
    is_ok = (ours["begun"] == COUNT and ours["gets_per_event"] <= 1 and not ours["plans"]
             and ours["one_more_ratio"] <= 1.2)
    report([f"{COUNT} Specs that wait for a Deployment each", "now", "before", "now to before"],
           [[key, value, before.get(key, ""), ratio(value, before.get(key))] for key, value in ours.items()],
           {"benchmark": "waiting", "specs": COUNT, **figures, "ok": is_ok})


if __name__ == "__main__":
    main()
