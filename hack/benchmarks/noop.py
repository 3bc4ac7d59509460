"""What a resync costs when there is nothing to do: the requests that the API server's audit log
has of the operator, for one Spec of 1,000 ConfigMaps in two namespaces. It should be one paged LIST
of metadata for each kind and namespace, no dry-run and no write."""

import json
import subprocess
import time
from collections import Counter

from _bench import Readiness, SPECS, cluster, config_map, operator, report, spec
from kusion_e2e.paths import CONTROLPLANE

COUNT = 1000
NAMESPACES = ("noop-a", "noop-b")
WRITES = ("create", "update", "patch", "delete", "deletecollection")
SETTLED = 3  # seconds after which a resync of this size is over


def audit_log(plane):
    answer = subprocess.run([CONTROLPLANE, "audit", plane.name], check=True, capture_output=True, text=True)
    return answer.stdout.strip()


def requests(path, start):
    """The operator's, from an offset in the log; without those for the Lease, and watches that
    were going on."""
    found = []
    with open(path, encoding="utf-8") as log:
        log.seek(start)
        for line in log:
            entry = json.loads(line)
            reference = entry.get("objectRef", {})
            if not entry.get("userAgent", "").startswith("kusion-operator"):
                continue
            if reference.get("resource") == "leases" or entry["verb"] == "watch":
                continue
            found.append(entry)
    return found


def size(path):
    with open(path, encoding="utf-8") as log:
        return log.seek(0, 2)


def resync(plane, log):
    """The requests of one resync, asked for by annotation."""
    start = size(log)
    annotation = {"metadata": {"annotations": {"api.kusion.io/reconcile-requested-at": "bench"}}}
    plane.api.patch(f"{SPECS}/noop", annotation).must()
    time.sleep(SETTLED)
    return requests(log, start)


def what(entry):
    reference = entry.get("objectRef", {})
    dry = " (dry-run)" if "dryRun" in entry["requestURI"] else ""
    place = f" in {reference['namespace']}" if reference.get("namespace") else ""
    return f"{entry['verb']} {reference.get('resource', entry['requestURI'].split('?')[0])}{place}{dry}"


def main():
    with cluster("--audit") as plane, operator(plane):
        for namespace in NAMESPACES:
            plane.kubectl("create", "namespace", namespace)
        objects = [config_map(n, NAMESPACES[n % len(NAMESPACES)]) for n in range(COUNT)]
        readiness = Readiness(plane)
        plane.api.create(SPECS, spec("noop", objects)).must()
        readiness.wait("noop")
        time.sleep(SETTLED)
        found = resync(plane, audit_log(plane))
    writes = sum(e["verb"] in WRITES for e in found)
    dry_runs = sum("dryRun" in e["requestURI"] for e in found)
    lists = [e for e in found if e["verb"] == "list" and e["objectRef"]["resource"] == "configmaps"
             and e["objectRef"]["namespace"] in NAMESPACES]
    pages = sum("continue=" in e["requestURI"] for e in lists)
    begun, allowed = len(lists) - pages, len(NAMESPACES)
    rows = [[name, count, round(count / COUNT, 4)] for name, count in sorted(Counter(map(what, found)).items())]
    rows.append(["all", len(found), round(len(found) / COUNT, 4)])
    rows.append([f"  LISTs of the objects, without further pages (at most {allowed})", begun, round(begun / allowed, 2)])
    rows.append(["  writes and dry-runs (none)", writes, round(writes / COUNT, 4)])
    report([f"resync of {COUNT} ConfigMaps, nothing to do", "requests", "ratio"], rows,
           {"benchmark": "noop", "objects": COUNT, "requests": len(found), "lists": begun, "pages": pages,
            "writes": writes, "dry_runs": dry_runs, "requests_per_object": round(len(found) / COUNT, 4),
            "ok": 0 < begun <= allowed and not writes and not dry_runs})


if __name__ == "__main__":
    main()
