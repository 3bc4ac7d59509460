"""What a resync costs when there is nothing to do: the requests that the API server's audit log
has of the operator, for one Spec of 1,000 ConfigMaps in two namespaces. It should be one paged LIST
of metadata for each kind and namespace, no dry-run, and one write: that the resync was carried out
(status.lastHandledReconcileAt), which only one that was asked for has."""

import time
from collections import Counter

from _audit import WRITES, audit_log, requests, size
from _bench import cluster, config_map, ratio, report, sides

COUNT = 1000
SETTLED = 3  # seconds after which a resync of this size is over


def namespaces(side):
    return [f"{side.namespace}-{letter}" for letter in "ab"]


def prepare(side):
    """A Spec that is Ready, in two namespaces."""
    for namespace in namespaces(side):
        side.plane.kubectl("create", "namespace", namespace)
    side.run("noop", [config_map(n, namespaces(side)[n % 2]) for n in range(COUNT)])
    time.sleep(SETTLED)


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
    with cluster("--audit") as plane, sides(plane) as running:
        for side in running:
            prepare(side)
        for side in running:
            found, worked = resync(side, audit_log(plane))
            figures[side.name] = counts(side, found, worked)
            if side.name == "operator":
                rows = [[f"  {name}", count, "", ""] for name, count in sorted(Counter(map(what, found)).items())]
    ours, before = figures["operator"], figures.get("before", {})
    rows += [[key, value, before.get(key, ""), ratio(value, before.get(key))] for key, value in ours.items()]
    report([f"resync of {COUNT} ConfigMaps, nothing to do", "now", "before", "now to before"], rows,
           {"benchmark": "noop", "objects": COUNT, **figures,
            "ok": 0 < ours["lists"] <= 2 and ours["writes"] <= 1 and not ours["dry_runs"]})


if __name__ == "__main__":
    main()
