"""How much memory it takes to follow objects: 10,000 Specs of a ConfigMap each, and 59,000 ConfigMaps in 60 Specs. The
operator's is all that it has resident more than when it was idle: Specs, what is followed, and what the allocator keeps
after the applies. Beside it client-go's metadata informer of the same objects, as controllers have it."""

import base64
import gzip
import json
import os
import time

from _bench import client_go, cluster, config_map, ratio, report, say, sides

SPECS = int(os.environ.get("BENCH_SPECS", "10000"))
TRACKED = int(os.environ.get("BENCH_TRACKED", "59000"))
TRACKING = 60  # Specs
SHARE = 0.2  # of the informer's
SETTLED = 10  # seconds


def small(plane, side):
    """A ConfigMap in each Spec."""
    for number in range(SPECS):
        side.create(f"spec-{number:05}", [config_map(number, side.namespace)])
    side.readiness.wait_for(SPECS, 7200)


def large(plane, side):
    """Many ConfigMaps in few Specs, from sources."""
    for number in range(TRACKING):
        name = f"large-{number:02}"
        objects = [config_map(n, side.namespace) for n in range(number, TRACKED, TRACKING)]
        text = "".join("---\n" + json.dumps(one) + "\n" for one in objects)
        source = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": side.namespace},
                  "binaryData": {"all": base64.b64encode(gzip.compress(text.encode())).decode()}}
        plane.api.create(f"/api/v1/namespaces/{side.namespace}/configmaps", json.dumps(source)).must()
        body = {"apiVersion": "api.kusion.io/v1", "kind": "Spec", "metadata": {"name": name, "namespace": side.namespace},
                "spec": {"serviceAccountName": "deployer", "timeout": "30m", "interval": "1h",
                         "resourcesFrom": [{"kind": "ConfigMap", "name": name, "key": "all"}]}}
        plane.api.create(side.specs, json.dumps(body)).must()
    side.readiness.wait_for(TRACKING, 7200)


def informer(plane, namespace):
    """MB: what it has more after its list."""
    found = client_go(plane, "informer", namespace)
    return {"objects": found["objects"], "informer": round((found["after"] - found["before"]) / 1e6, 1),
            "informer_highest": round((found["highest"] - found["before"]) / 1e6, 1)}


def measure(apply):
    with cluster() as plane, sides(plane, "--log-level", "warn", warm=False) as (*_, side):
        time.sleep(SETTLED)
        idle = side.resident()
        apply(plane, side)
        time.sleep(SETTLED)
        figures = {"operator": round(side.resident() - idle, 1), "operator_highest": round(side.resident("VmHWM") - idle, 1),
                   **informer(plane, side.namespace)}
    figures["share"] = ratio(figures["operator"], figures["informer"])
    figures["bytes_each"] = round(figures["operator"] * 1e6 / figures["objects"])
    say(f"    {figures}")
    return figures


def main():
    cases = {f"{SPECS} Specs of one object": measure(small), f"{TRACKED} objects in {TRACKING} Specs": measure(large)}
    rows = [[title, one["objects"], one["operator"], one["operator_highest"], one["bytes_each"], one["informer"],
             one["informer_highest"], one["share"]] for title, one in cases.items()]
    report(["memory beside that of an idle process, MB", "objects", "operator", "highest", "bytes each", "informer",
            "highest", "of it"],
           rows, {"benchmark": "following", "cases": cases, "ok": all(one["share"] <= SHARE for one in cases.values())})


if __name__ == "__main__":
    main()
