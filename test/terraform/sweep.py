#!/usr/bin/python3
"""Cases by chance, through our engine and through OpenTofu (README.md).

sweep.py MIRROR TOFU [COUNT]

KUSION_TEST_SEED   of the cases (else the time's)
KUSION_TEST_FROM   number of the first one
KUSION_TEST_CASE   one case alone, as JSON, as it was printed

Prints each case that does not go the same way, shrunk. The exit status is 0 if there is none. SIGTERM and
SIGINT end it."""

import json
import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from kusion_terraform.generate import case  # noqa: E402
from kusion_terraform.play import Stage  # noqa: E402
from kusion_terraform.shrink import tell  # noqa: E402

COUNT, ROUND = 300, 20


class Count:
    cases = steps = found = 0

    def text(self):
        return f"{self.cases} cases, {self.steps} steps, {self.found} found"


def chosen(seed, first, count):
    """Rounds of (where, case)."""
    if "KUSION_TEST_CASE" in os.environ:
        return [[("KUSION_TEST_CASE", json.loads(os.environ["KUSION_TEST_CASE"]))]]
    cases = [(f"seed {seed}, case {number}", case(seed, number)) for number in range(first, first + count)]
    return [cases[at:at + ROUND] for at in range(0, len(cases), ROUND)]


def run(stage, rounds, count):
    for one in rounds:
        for (where, steps), differences in zip(one, stage.play([steps for _, steps in one])):
            count.cases, count.steps = count.cases + 1, count.steps + len(steps)
            if differences:
                count.found += 1
                print(tell(stage, where, steps, differences), flush=True)
        print(f"  {count.text()}", file=sys.stderr, flush=True)


def main():
    seed = int(os.environ.get("KUSION_TEST_SEED", time.time()))
    first = int(os.environ.get("KUSION_TEST_FROM", "0"))
    print(f"terraform: KUSION_TEST_SEED={seed} KUSION_TEST_FROM={first}", flush=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    stage, count, status = Stage(sys.argv[1], sys.argv[2]), Count(), None
    try:
        run(stage, chosen(seed, first, int(sys.argv[3]) if len(sys.argv) > 3 else COUNT), count)
        status = stage.close()
        if status:
            count.found += 1
            print(f"FOUND that the driver ended with {status}", flush=True)
    except KeyboardInterrupt:
        pass
    finally:
        if status is None:
            stage.close()
        print(f"terraform: {count.text()}; to go on: KUSION_TEST_SEED={seed} KUSION_TEST_FROM={first + count.cases} "
              "hack/soak terraform", flush=True)
    sys.exit(count.found > 0)


if __name__ == "__main__":
    main()
