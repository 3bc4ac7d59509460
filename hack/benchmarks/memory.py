"""How much memory the operator has resident: idle, at its highest while it applies 1,000 Specs of
a ConfigMap each, and with all of them Ready."""

import time
from pathlib import Path

from _bench import NAMESPACE, Readiness, SPECS, cluster, config_map, operator, report, say, spec

COUNT = 1000
IDLE_TARGET, FULL_TARGET = 12.0, 24.0  # MB
SETTLED = 5  # seconds
LONGEST = 900  # seconds until all are Ready


def resident(process, field="VmRSS"):
    """MB."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return round(int(line.split()[1]) * 1024 / 1e6, 1)
    raise SystemExit("the operator has ended")


def wait_for_all(readiness):
    end = told = time.monotonic()
    end += LONGEST
    while len(readiness) < COUNT:
        if time.monotonic() > end:
            raise SystemExit(f"{len(readiness)} of {COUNT} Specs are Ready after {LONGEST} s")
        if time.monotonic() - told > 10:
            told = time.monotonic()
            say(f"    {len(readiness)} of {COUNT} Specs are Ready")
        time.sleep(0.1)


def main():
    with cluster() as plane, operator(plane) as process:
        time.sleep(SETTLED)
        idle, idle_own = resident(process), resident(process, "RssAnon")
        readiness = Readiness(plane)
        for number in range(COUNT):
            plane.api.create(SPECS, spec(f"spec-{number:04}", [config_map(number, NAMESPACE)])).must()
        wait_for_all(readiness)
        time.sleep(SETTLED)
        full, full_own, highest = (resident(process, f) for f in ("VmRSS", "RssAnon", "VmHWM"))
    report(["resident memory", "MB", "of what is allowed"],
           [["idle", idle, round(idle / IDLE_TARGET, 2)],
            [f"with {COUNT} Specs Ready", full, round(full / FULL_TARGET, 2)],
            ["highest meanwhile", highest, ""],
            ["of it not of files, idle", idle_own, ""],
            [f"of it not of files, with {COUNT} Specs", full_own, ""]],
           {"benchmark": "memory", "specs": COUNT, "idle_mb": idle, "full_mb": full, "highest_mb": highest,
            "idle_anonymous_mb": idle_own, "full_anonymous_mb": full_own,
            "idle_of_target": round(idle / IDLE_TARGET, 2), "full_of_target": round(full / FULL_TARGET, 2),
            "ok": idle < IDLE_TARGET and full < FULL_TARGET})


if __name__ == "__main__":
    main()
