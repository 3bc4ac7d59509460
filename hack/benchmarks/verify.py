"""A verification of the values of 10,000 ConfigMaps in one Spec (paged LISTs, and a digest of each object), as
`--verify-interval` has it and as a request for a reconcile does, against client-go: a dry-run of each object, four at
once, and Flux's way, which reads each object before."""

import json
import os
import time

from _audit import SETTLED, audit_log, requests, size
from _bench import client_go, cluster, config_map, median, report, say, sides
from apply10k import apply, check

COUNT = int(os.environ.get("BENCH_COUNT", "10000"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
TARGET = 10.0  # times as fast as the dry-runs
NAME = "verify"


def verify(plane, side):
    """Seconds, the operator's CPU, and its requests."""
    log = audit_log(plane)
    start = size(log)
    took, cpu = check(plane, side, NAME)
    time.sleep(SETTLED)
    found = requests(log, start)
    return {"verify": took, "cpu": cpu, "requests": len(found), "lists": sum(r.verb == "list" for r in found),
            "dry_runs": sum(r.is_dry for r in found)}


def main():
    text = "".join(json.dumps(config_map(number, NAME)) + "\n" for number in range(COUNT))
    with cluster("--audit") as plane, sides(plane, "--log-level", "warn") as (*_, side):
        apply(plane, side, NAME, COUNT)
        rounds = []
        for _ in range(ROUNDS):
            rounds.append({**verify(plane, side), "dry-run": client_go(plane, "dry-run", text=text)["seconds"],
                           "flux": client_go(plane, "dry-run", "read", text=text)["seconds"]})
            say("    " + ", ".join(f"{what} {took:.2f}" for what, took in rounds[-1].items()))
    took = {what: median([one[what] for one in rounds]) for what in rounds[0]}
    times = {what: median([one[what] / one["verify"] for one in rounds]) for what in ("dry-run", "flux")}
    report([f"values of {COUNT} ConfigMaps", "seconds", "times the operator's", "requests"],
           [["the operator", took["verify"], "", took["requests"]],
            ["  its CPU", took["cpu"], "", ""],
            ["a dry-run of each", took["dry-run"], times["dry-run"], COUNT],
            ["a read and a dry-run of each, as Flux", took["flux"], times["flux"], 2 * COUNT]],
           {"benchmark": "verify", "objects": COUNT, "rounds": ROUNDS, **took, "times": times,
            "ok": times["dry-run"] >= TARGET and not took["dry_runs"]})


if __name__ == "__main__":
    main()
