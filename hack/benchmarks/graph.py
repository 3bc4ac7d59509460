"""From text to the end of a walk (graph.c), in turns with the program of another build where there is one."""

import json
import os
import subprocess
from pathlib import Path

from _bench import AGAINST, median, ratio, report, say

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
STEPS = ("peer_ms", "read_ms", "parse_ms", "relate_ms", "build_ms", "walk_ms", "parse_to_walk_ms",
         "text_to_walk_ms")


def programs():
    """By name, in the order of their turns."""
    known = {"operator": Path(os.environ["BENCH_PROGRAM"])}
    other = Path(AGAINST).parent / known["operator"].name
    if AGAINST and not other.exists():
        say(f"  nothing to compare with: {other} is not there (build its target {other.name}, too)")
    return {"before": other, **known} if AGAINST and other.exists() else known


def run(program):
    output = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])


def best(runs, step):
    """What else the machine does only adds to it. None: that program does not tell of the step."""
    values = [one[step] for one in runs if step in one]
    return min(values) if values else None


def main():
    known = programs()
    runs = {name: [] for name in known}
    for _ in range(ROUNDS):
        for name, program in known.items():
            runs[name].append(run(program))
    ours = {step: best(runs["operator"], step) for step in STEPS}
    before = {step: best(runs.get("before", []), step) for step in STEPS}
    target = runs["operator"][0]["target_ms"]
    report(["100,000 nodes, ms", "now", "of the peer", "before", "now to before"],
           [[step.removesuffix("_ms"), ours[step], ratio(ours[step], ours["peer_ms"]), before[step] or "",
             ratio(ours[step], before[step])] for step in STEPS],
           {"benchmark": "graph", "rounds": ROUNDS, "operator": ours, "before": before, "target_ms": target,
            "ratio": median([one["ratio"] for one in runs["operator"]]),
            "ok": ours["parse_to_walk_ms"] <= target})


if __name__ == "__main__":
    main()
