"""What one tenant's Specs cost another one: the time to Ready of a Spec of one ConfigMap, alone and
beside each of six burdens, under the chart's rights and flags. Each burden has a control plane of its
own, so that nothing is left of the one before."""

import os
import tempfile
import time
from pathlib import Path

from _bench import AGAINST, OPERATOR, median, ratio, report, say
from kusion_e2e.starvation import Failing, Hanging, Large, Other, Previews, References, Unhealthy
from kusion_e2e.tenancy import Tenancy

PROBES = int(os.environ.get("BENCH_PROBES", "6"))
PATIENCE = 120  # seconds after which a Spec counts as one that is never Ready
BEYOND = 1.0  # seconds that the worst may take more than the worst alone
ONLY = os.environ.get("BENCH_ONLY", "").split()

# Name, what it is, how it is made, and whether another's Preview is waited for in place of a Spec.
BURDENS = [
    ("unhealthy", "36 Specs that never get healthy", lambda t: Unhealthy(t, 36), False),
    ("large", "4 of 70 KB that never get healthy", lambda t: Large(t, 4), False),
    ("failing", "1,000 that fail, tried each second", lambda t: Failing(t, 1000), False),
    ("hanging", "20 whose webhook hangs", lambda t: Hanging(t, 20), False),
    ("references", "4 of 12,000 references to secrets", lambda t: References(t, 4), False),
    ("previews", "10 Previews of 1,500 resources", lambda t: Previews(t, 10, 1500), True),
]


def measure(other, is_preview):
    """Seconds of one after the other; fewer where the first is never done."""
    took = []
    while len(took) < PROBES and (not took or took[-1] < PATIENCE):
        took.append(other.preview(PATIENCE) if is_preview else other.probe(PATIENCE))
    return took


def run(name, binary, make, is_preview):
    with tempfile.TemporaryDirectory() as directory:
        tenancy = Tenancy(f"bench-{os.getpid()}", Path(directory))
        burden = None
        try:
            tenancy.run(program=binary)
            other = Other(tenancy)
            other.probe()  # the first costs more
            alone = measure(other, is_preview)
            burden = make(tenancy)
            started = time.monotonic()
            try:
                burden.begin()
            except AssertionError:
                say(f"    {name}: not all of it is begun after {time.monotonic() - started:.0f} s")
            beside = measure(other, is_preview)
            ended = tenancy.operator.process.poll()
        finally:
            if isinstance(burden, Hanging):
                burden.webhook.end()
            if tenancy.operator:
                tenancy.operator.kill9()
                tenancy.operator.log.unlink()
            tenancy.cluster.down()
    say(f"    {name}: alone {[round(one, 2) for one in alone]}, beside {[round(one, 2) for one in beside]}")
    return {"alone_s": median(alone), "beside_s": median(beside), "worst_s": round(max(beside), 3),
            "beyond_s": round(max(beside) - max(alone), 3), "ended": ended}


def row(title, ours, before):
    beside = f"≥ {PATIENCE}" if ours["beside_s"] >= PATIENCE else ours["beside_s"]
    note = "" if ours["ended"] is None else "the operator ended"
    return [title, ours["alone_s"], beside, ours["worst_s"], ours["beyond_s"],
            ratio(before.get("beside_s"), ours["beside_s"]) if before else "", note]


def main():
    figures, rows = {}, []
    for name, title, make, is_preview in BURDENS:
        if ONLY and name not in ONLY:
            continue
        say(f"  {title}")
        before = run(name, AGAINST, make, is_preview) if AGAINST else {}
        ours = run(name, OPERATOR, make, is_preview)
        figures[name] = {"operator": ours, **({"before": before} if before else {})}
        rows.append(row(title, ours, before))
    is_ok = all(one["operator"]["beyond_s"] <= BEYOND and one["operator"]["ended"] is None
                for one in figures.values())
    report(["beside", "alone, s", "beside it, s", "worst, s", "beyond worst alone, s", "before to now", ""], rows,
           {"benchmark": "fairness", "probes": PROBES, **figures, "ok": is_ok})


if __name__ == "__main__":
    main()
