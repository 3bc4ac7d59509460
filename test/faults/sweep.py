#!/usr/bin/python3
"""Lives of a Spec, each with one fault between the operator and the API server (README.md).

sweep.py CLUSTER [SECONDS]     CLUSTER: a plane of hack/controlplane that is up

KUSION_TEST_SEED   the order of the lives (else the time's)
KUSION_TEST_FROM   number of lives of that order to leave out: those that were done before
KUSION_TEST_LIFE   "KIND VERB PATH #N": that life alone
KUSION_TEST_SCENARIO what the lives are: automatic (if not set); approval: each plan waits for one;
                   wide: sources, dependsOn, ignore, health and drift; remote: the same by a kubeconfig;
                   http: things behind a REST API
KUSION_TEST_AT     a regular expression: at such positions alone
KUSION_TEST_JOBS   lives side by side (2 for each CPU)
KUSION_TEST_LONG the lives in which an answer or an event never comes, in place of all others

Prints each life that violates what must hold, and writes its requests and the operator's log into
build/faults/. The exit status is 0 if there is none. SIGTERM and SIGINT end it as the time does: the
lives that were begun are ended, and what it came to is printed, with the command to go on."""

import os
import re
import sys
import time
from concurrent.futures import FIRST_COMPLETED, wait
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from kusion_faults.paths import ROOT  # noqa: E402
from kusion_faults.sweep import Sweep, plan  # noqa: E402
from kusion_e2e.cluster import Cluster  # noqa: E402
from kusion_e2e.deadline import Deadline  # noqa: E402


SCENARIO = os.environ.get("KUSION_TEST_SCENARIO", "automatic")
COMMAND = "hack/soak faults" if SCENARIO == "automatic" else f"KUSION_TEST_SCENARIO={SCENARIO} hack/soak faults"
AT = os.environ.get("KUSION_TEST_AT", "")


def tell(result):
    """Prints what a life violated, and keeps what it did."""
    folder = ROOT / "build" / "faults"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"life-{time.time_ns() // 1_000_000}.txt"
    lines = [f"{one['seconds']:8.3f} {position} {one['code']} {one['rule']}"
             for one, position in zip(result.requests, result.positions)]
    file.write_text("\n".join([*result.violations, *lines, result.log]))
    print(f"FOUND {result.kind} at {result.position} ({result.seconds:.1f} s)")
    for violation in result.violations:
        print(f"  {violation[:600]}")
    print(f"  again:  KUSION_TEST_LIFE='{result.kind} {result.position}' {COMMAND}")
    print(f"  keeps:  {file.relative_to(ROOT)}", flush=True)


SILENT = 60  # seconds until it is said again how far it is


class Count:
    lives = fired = found = 0
    told = time.monotonic()

    def tell(self):
        if time.monotonic() - self.told > SILENT:
            self.told = time.monotonic()
            print(f"faults: {self.lives} lives so far, {self.found} found", file=sys.stderr, flush=True)

    def add(self, result):
        self.lives += 1
        self.fired += result.fired
        if result.violations:
            self.found += 1
            tell(result)


def run(sweep, pairs, deadline, jobs, count):
    """Lives, until the time is over; those that were begun are ended."""
    running = set()
    pairs = iter(pairs)
    while True:
        while len(running) < jobs and not deadline.is_over():
            pair = next(pairs, None)
            if pair is None:
                break
            running.add(sweep.executor.submit(sweep.live, *pair, SCENARIO))
        if not running:
            return
        done, running = wait(running, return_when=FIRST_COMPLETED)
        for one in done:
            count.add(one.result())
        count.tell()


def tell_all(count, total, seed, first):
    print(f"faults: {count.lives} lives of {total}, {count.fired} faults, {count.found} found; to go on: "
          f"KUSION_TEST_SEED={seed} KUSION_TEST_FROM={first + count.lives} {COMMAND}", flush=True)


def main():
    cluster, seconds = Cluster(sys.argv[1]), int((*sys.argv, "60")[2])
    count, pairs = Count(), []
    seed = int(os.environ.get("KUSION_TEST_SEED", time.time()))
    first = int(os.environ.get("KUSION_TEST_FROM", "0"))
    jobs = int(os.environ.get("KUSION_TEST_JOBS", 2 * (os.cpu_count() or 1)))
    deadline = Deadline(seconds, "faults", "life")
    sweep = Sweep(cluster, jobs)
    try:
        if "KUSION_TEST_LIFE" in os.environ:
            kind, _, position = os.environ["KUSION_TEST_LIFE"].partition(" ")
            pairs = [(position, kind)]
        else:
            found = [one for one in sweep.positions(SCENARIO) if re.search(AT, one)]
            pairs = plan(found, seed, "KUSION_TEST_LONG" in os.environ)
        run(sweep, pairs[first:], deadline, jobs, count)
    finally:
        sweep.close()
        if pairs:
            tell_all(count, len(pairs), seed, first)
    sys.exit(count.found > 0)


if __name__ == "__main__":
    main()
