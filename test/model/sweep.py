#!/usr/bin/python3
"""Sequences of changes by chance, compared with the model (README.md).

sweep.py CLUSTER [SECONDS]     CLUSTER: a plane of hack/controlplane that is up. Without SECONDS: 500
                               sequences.

KUSION_TEST_SEED      of the sequences (else the time's)
KUSION_TEST_FROM      number of the first one
KUSION_TEST_SEQUENCE  one sequence alone, as JSON, as it was printed
KUSION_TEST_JOBS      sequences side by side (8 for each CPU)

Prints each sequence that does not end as the model says, shrunk to the shortest that still fails. The
exit status is 0 if there is none. SIGTERM and SIGINT end it as the time does: the sequences that were
begun are ended."""

import itertools
import json
import os
import sys
import time
from concurrent.futures import FIRST_COMPLETED, wait
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from kusion_model.finding import tell  # noqa: E402
from kusion_model.generate import sequence  # noqa: E402
from kusion_model.party import JOBS, Party  # noqa: E402
from kusion_model.real import Trouble  # noqa: E402
from kusion_model.shrink import actions_of  # noqa: E402
from kusion_e2e.cluster import Cluster  # noqa: E402
from kusion_e2e.deadline import Deadline  # noqa: E402

COUNT = 500


class Count:
    sequences = actions = found = 0

    def add(self, party, future, where):
        self.sequences += 1
        try:
            outcome = future.result()
        except (Trouble, AssertionError, OSError) as trouble:
            self.found += 1
            print(f"FOUND {where}: {type(trouble).__name__}: {str(trouble)[:1000]}", flush=True)
            return
        self.actions += actions_of(outcome.steps)
        if not outcome:
            self.found += 1
            print(tell(party, outcome, where), flush=True)


def run(party, sequences, deadline, jobs, count):
    """Until they or the time are over; those that were begun are ended."""
    running = {}
    while True:
        while len(running) < jobs and not deadline.is_over():
            where, steps = next(sequences, (None, None))
            if steps is None:
                break
            running[party.submit(steps, where)] = where
        if not running:
            return
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for one in done:
            count.add(party, one, running.pop(one))


def chosen(seed, first, count):
    if "KUSION_TEST_SEQUENCE" in os.environ:
        return iter([("KUSION_TEST_SEQUENCE", json.loads(os.environ["KUSION_TEST_SEQUENCE"]))])
    numbers = itertools.islice(itertools.count(first), count)
    return ((f"seed {seed}, sequence {number}", sequence(seed, number))
            for number in numbers)


def main():
    seconds = sys.argv[2] if len(sys.argv) > 2 else ""
    seed = int(os.environ.get("KUSION_TEST_SEED", time.time()))
    first = int(os.environ.get("KUSION_TEST_FROM", "0"))
    jobs = int(os.environ.get("KUSION_TEST_JOBS", JOBS))
    deadline, count = Deadline(float(seconds or "inf"), "model", "sequence"), Count()
    print(f"model: KUSION_TEST_SEED={seed} KUSION_TEST_FROM={first}", flush=True)
    party = Party(Cluster(sys.argv[1]), jobs)
    try:
        run(party, chosen(seed, first, None if seconds else COUNT), deadline, jobs, count)
    finally:
        party.close()
        print(f"model: {count.sequences} sequences, {count.actions} actions, {party.kills} kills, "
              f"{count.found} found; to go on: KUSION_TEST_SEED={seed} "
              f"KUSION_TEST_FROM={first + count.sequences} hack/soak model", flush=True)
    sys.exit(count.found > 0)


if __name__ == "__main__":
    main()
