"""What checks cost when there is nothing to do: the requests that the API server's audit log has
of the operator, for one Spec of 1,000 ConfigMaps in two namespaces. Regular checks should have no
request at all. One that is asked for should have one paged LIST for each kind and namespace, no
dry-run, and one write: that it was carried out (status.lastHandledReconcileAt). Beside it, what the
same check takes client-go in Flux's way, a read and a dry-run of each object."""

import json
import time
from collections import Counter

from _audit import WRITES, audit_log, requests, size
from _bench import client_go, cluster, config_map, ratio, report, sides

COUNT = 1000
SETTLED = 3  # seconds after which a resync of this size is over
LASTS = 20  # seconds of regular checks, one each second
PATIENCE = 300
STORE = "kusion-store"  # the process looks each 30 s whether the store is still the one that it was


def namespaces(side):
    return [f"{side.namespace}-{letter}" for letter in "ab"]


def prepare(side):
    """A Spec that is Ready, in two namespaces."""
    for namespace in namespaces(side):
        side.plane.kubectl("create", "namespace", namespace)
    side.run("noop", [config_map(n, namespaces(side)[n % 2]) for n in range(COUNT)])
    time.sleep(SETTLED)


def checks(side):
    """How many reconciles of the Spec there were."""
    side._log.seek(0)
    return sum(b'"reconciled"' in line and b"/noop" in line for line in side._log)


def apply_change(side, change):
    """Until the Spec is Ready in its new generation."""
    path = f"{side.specs}/noop"
    generation = side.plane.api.patch(path, change).must().object["metadata"]["generation"]
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        status = side.plane.api.get(path).must().object["status"]
        ready = next(one for one in status["conditions"] if one["type"] == "Ready")
        if ready["status"] == "True" and ready.get("observedGeneration") == generation:
            return
        time.sleep(0.2)
    raise SystemExit(f"the Spec is not Ready after {PATIENCE} s: {ready}")


def regular(side, log):
    """What the operator asks for while regular checks go on, and ms of CPU for each check."""
    apply_change(side, {"spec": {"interval": "1s"}})
    time.sleep(2 * SETTLED)
    start, worked, begun = size(log), side.cpu(), checks(side)
    time.sleep(LASTS)
    worked, count = side.cpu() - worked, checks(side) - begun
    found = [request for request in requests(log, start) if not (request.name or "").startswith(STORE)]
    return {"checks": count, "requests_of_all": len(found), "writes_of_all": sum(r.is_write for r in found),
            "asked": ", ".join(sorted({f"{what(r)}: {r.name}" for r in found})) or "nothing",
            "cpu_ms_each": round(worked * 1000 / max(count, 1), 2)}


def resync(side, log):
    """The requests of one resync, asked for by annotation, and the CPU that it took."""
    start, worked = size(log), side.cpu()
    annotation = {"metadata": {"annotations": {"api.kusion.io/reconcile-requested-at": "bench"}}}
    side.plane.api.patch(f"{side.specs}/noop", annotation).must()
    time.sleep(SETTLED)
    return requests(log, start), side.cpu() - worked


def what(request):
    return f"{request.what} in {request.namespace}" if request.namespace else request.what


def is_list_of_objects(side, request):
    return (request.verb == "list" and request.resource == "configmaps"
            and request.namespace in namespaces(side))


def counts(side, found, worked):
    lists = [r for r in found if is_list_of_objects(side, r)]
    pages = sum("continue=" in r.uri for r in lists)
    return {"requests": len(found), "lists": len(lists) - pages, "pages": pages,
            "writes": sum(r.verb in WRITES and not r.is_dry for r in found),
            "dry_runs": sum(r.is_dry for r in found), "cpu_ms": round(worked * 1000)}


def main():
    figures, rows = {}, []
    with cluster("--audit") as plane, sides(plane, "--min-interval", "1s", "--log-level", "debug") as running:
        for side in running:
            prepare(side)
        for side in running:
            found, worked = resync(side, audit_log(plane))
            figures[side.name] = counts(side, found, worked)
            figures[side.name]["regular"] = regular(side, audit_log(plane))
            if side.name == "operator":
                text = "".join(json.dumps(config_map(n, namespaces(side)[n % 2])) + "\n" for n in range(COUNT))
                flux = client_go(plane, "dry-run", "read", text=text)["seconds"]
                rows = [[f"  {name}", count, "", ""] for name, count in sorted(Counter(map(what, found)).items())]
    ours, before = figures["operator"], figures.get("before", {})
    now, then = ours.pop("regular"), before.pop("regular", {})
    rows = [[f"regular checks: {key}", value, then.get(key, ""), "" if key == "asked" else ratio(value, then.get(key))]
            for key, value in now.items()] + rows
    rows.append(["a read and a dry-run of each, as Flux: requests", 2 * COUNT, "", ""])
    rows.append(["  seconds", round(flux, 2), "", ""])
    rows += [[key, value, before.get(key, ""), ratio(value, before.get(key))] for key, value in ours.items()]
    report([f"resync of {COUNT} ConfigMaps, nothing to do", "now", "before", "now to before"], rows,
           {"benchmark": "noop", "objects": COUNT, **figures, "regular": now, "flux_s": round(flux, 2),
            "ok": now["checks"] >= LASTS // 2 and not now["requests_of_all"] and now["cpu_ms_each"] <= 10 and 0 < ours["lists"] <= 2 and ours["writes"] <= 1 and not ours["dry_runs"]})


if __name__ == "__main__":
    main()
