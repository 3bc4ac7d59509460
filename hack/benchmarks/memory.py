"""How much memory the operator has resident: idle, at its highest while it applies 1,000 Specs of
a ConfigMap each, and with all of them Ready. And what a plan of 100,000 unchanged resources takes
(memory.c)."""

import json
import os
import subprocess
import time

from _bench import cluster, config_map, ratio, report, sides

COUNT = 1000
IDLE_TARGET, FULL_TARGET, PLAN_TARGET = 12.0, 24.0, 64.0  # MB
SETTLED = 5  # seconds
TITLES = {"idle": "idle", "full": f"with {COUNT} Specs Ready", "highest": "highest meanwhile",
          "idle_own": "of it not of files, idle", "full_own": f"of it not of files, with {COUNT} Specs",
          "plan": "plan of 100,000 unchanged resources, beside the values",
          "plan_highest": "  highest while it was made"}


def measure(side):
    figures = {"idle": side.resident(), "idle_own": side.resident("RssAnon")}
    for number in range(COUNT):
        side.create(f"spec-{number:04}", [config_map(number, side.namespace)])
    side.readiness.wait_for(COUNT)
    time.sleep(SETTLED)
    return figures | {"full": side.resident(), "full_own": side.resident("RssAnon"), "highest": side.resident("VmHWM")}


def measure_plan():
    output = subprocess.run([os.environ["BENCH_PROGRAM"]], check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])


def main():
    plan = measure_plan()
    with cluster() as plane, sides(plane, warm=False) as running:
        time.sleep(SETTLED)
        figures = {side.name: measure(side) for side in running}
    ours, before = figures["operator"], figures.get("before", {})
    ours |= {"plan": plan["plan_mb"], "plan_highest": plan["highest_mb"]}
    targets = {"idle": IDLE_TARGET, "full": FULL_TARGET, "plan": PLAN_TARGET}
    report(["resident memory, MB", "now", "before", "now to before", "target"],
           [[title, ours[key], before.get(key, ""), ratio(ours[key], before.get(key)), targets.get(key, "")]
            for key, title in TITLES.items()],
           {"benchmark": "memory", "specs": COUNT, **figures, "plan": plan,
            "ok": all(ours[key] <= target for key, target in targets.items())})


if __name__ == "__main__":
    main()
