#!/usr/bin/python3
"""Cases by chance, through our engine and through OpenTofu (README.md).

sweep.py MIRROR TOFU [COUNT]

KUSION_TEST_SEED   of the cases (else the time's)
KUSION_TEST_FROM   number of the first one
KUSION_TEST_CASE   one case alone, as JSON, as it was printed

Prints each case that does not go the same way, shrunk. The exit status is 0 if there is none."""

import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from kusion_terraform.generate import case  # noqa: E402
from kusion_terraform.play import Stage  # noqa: E402
from kusion_terraform.shrink import tell  # noqa: E402

COUNT, ROUND = 300, 20


def main():
    count = int(sys.argv[3]) if len(sys.argv) > 3 else COUNT
    seed = int(os.environ.get("KUSION_TEST_SEED", time.time()))
    first = int(os.environ.get("KUSION_TEST_FROM", "0"))
    print(f"terraform: KUSION_TEST_SEED={seed} KUSION_TEST_FROM={first}", flush=True)
    if "KUSION_TEST_CASE" in os.environ:
        rounds = [[("KUSION_TEST_CASE", json.loads(os.environ["KUSION_TEST_CASE"]))]]
    else:
        numbers = range(first, first + count)
        cases = [(f"seed {seed}, case {number}", case(seed, number)) for number in numbers]
        rounds = [cases[at:at + ROUND] for at in range(0, len(cases), ROUND)]
    stage, found, steps = Stage(sys.argv[1], sys.argv[2]), 0, 0
    for one in rounds:
        for (where, steps_of), differences in zip(one, stage.play([steps for _, steps in one])):
            steps += len(steps_of)
            if differences:
                found += 1
                print(tell(stage, where, steps_of, differences), flush=True)
    status = stage.close()
    print(f"terraform: {sum(map(len, rounds))} cases, {steps} steps, {found} found; the driver ended with {status}; "
          f"KUSION_TEST_SEED={seed}", flush=True)
    sys.exit(found > 0 or status != 0)


if __name__ == "__main__":
    main()
