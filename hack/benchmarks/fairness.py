"""What one tenant's Specs cost another one: the time to Ready of a Spec of one ConfigMap, alone and beside each of
twelve burdens, under the chart's rights and flags. Each burden has a control plane of its own, so that nothing is left
of the one before. Takes half an hour on two cores.

Three things are measured in turns: such a Spec; one that another operator reconciles, on the same cluster, under the
same rights, which has nothing else to do ("apart"); and the creation of a ConfigMap ("write"). What a burden costs
these two, it costs by the API server and the machine, and not by the operator.

BENCH_ONLY: names of burdens; BENCH_PROBES: how many are measured of each, alone and beside it (100)."""

import json
import os
import tempfile
import time
from pathlib import Path

from _bench import AGAINST, OPERATOR, Readiness, config_map, ratio, report, say, spec
from kusion_e2e.starvation import Failing, Hanging, Large, Other, Previews, References, Unhealthy
from kusion_e2e.storms import Annotated, HangingProviders, Huge, Looks, New, Storm, Wide
from kusion_e2e.tenancy import Operator, Tenancy

PROBES = int(os.environ.get("BENCH_PROBES", "100"))
FEWEST = 20  # of a burden that is over before
PATIENCE = 60  # seconds after which a Spec counts as one that is never Ready
MOST = 180  # seconds for the probes beside a burden
AIM = 0.2  # seconds that the 99th percentile may be above that of those alone
ONLY = os.environ.get("BENCH_ONLY", "").split()
LABEL = "bench"

# Name, what it is, how it is made, and whether another's Preview is waited for in place of a Spec.
BURDENS = [
    ("unhealthy", "36 Specs that never get healthy", lambda t: Unhealthy(t, 36), False),
    ("large", "4 of 70 KB that never get healthy", lambda t: Large(t, 4), False),
    ("failing", "1,000 that fail, tried each second", lambda t: Failing(t, 1000), False),
    ("hanging", "20 whose webhook hangs", lambda t: Hanging(t, 20), False),
    ("references", "4 of 12,000 references to secrets", lambda t: References(t, 4), False),
    ("previews", "10 Previews of 1,500 resources", lambda t: Previews(t, 10, 1500), True),
    ("annotations", "100 requests a second to reconcile", lambda t: Annotated(t, 20), False),
    ("new", "5,000 new Specs", lambda t: New(t, 5000), False),
    ("looks", "5,000 Previews", lambda t: Looks(t, 5000), False),
    ("huge", "50 new Specs of 1 MiB", lambda t: Huge(t, 50), False),
    ("wide", "a Spec of 3,000 resources that change", lambda t: Wide(t, 3000), False),
    ("providers", "20 whose Terraform providers hang", lambda t: HangingProviders(t, 20), False),
]


class Tenant:
    """The other one, of the operator or of that apart."""

    def __init__(self, tenancy, name):
        self._tenant = tenancy.tenant(name).allow("", "configmaps")
        self._specs = f"/apis/api.kusion.io/v1/namespaces/{self._tenant.namespace}/specs"
        self._label = name
        self._readiness = Readiness(tenancy.cluster, self._specs)
        self._number = 0

    def probe(self):
        """Seconds from the creation of one more Spec to Ready; PATIENCE, if it never is."""
        self._number += 1
        body = spec(f"one-{self._number}", self._tenant.namespace,
                    [config_map(self._number, self._tenant.namespace)])
        body["metadata"]["labels"] = {LABEL: self._label}
        started = time.monotonic()
        self._tenant.api.create(self._specs, json.dumps(body)).must()
        try:
            return self._readiness.wait(body["metadata"]["name"], PATIENCE) - started
        except SystemExit:
            return PATIENCE

    def write(self):
        """Seconds in which the API server creates a ConfigMap."""
        namespace = self._tenant.namespace
        body = json.dumps({"metadata": {"name": f"write-{time.monotonic_ns()}"}, "data": {"a": "b"}})
        started = time.monotonic()
        self._tenant.api.create(f"/api/v1/namespaces/{namespace}/configmaps", body)
        return time.monotonic() - started


class Site:
    """A cluster with the operator, that apart, and those who are not the burden."""

    def __init__(self, directory, binary, flags):
        self.tenancy = Tenancy(f"bench-{os.getpid()}", Path(directory))
        try:
            self.tenancy.run("--watch-label-selector", f"{LABEL}!=apart", *flags, program=binary)
            self._apart = Operator(self.tenancy.cluster, self.tenancy.directory, [
                "--watch-label-selector", f"{LABEL}=apart", "--lease-name", "apart"]).wait_leading()
            self._operators = [self.tenancy.operator, self._apart]
            self.other, self.apart = Tenant(self.tenancy, "other"), Tenant(self.tenancy, "apart")
            self.previewing = Other(self.tenancy)
            for one in (self.other, self.apart, self.previewing):
                one.probe()  # the first costs more
        except BaseException:
            self.close()
            raise

    def measure(self, is_preview, is_over):
        """Seconds of each, in turns; fewer where nothing is left of the burden, or it takes too long."""
        took = {"spec": [], "apart": [], "write": []}
        end = time.monotonic() + MOST
        while (count := len(took["spec"])) < PROBES and (count < FEWEST or not is_over()):
            took["spec"].append(self.previewing.preview(PATIENCE) if is_preview else self.other.probe())
            took["apart"].append(self.apart.probe())
            took["write"].append(self.other.write())
            if time.monotonic() > end:
                break
        return took

    def has_ended(self):
        return self.tenancy.operator.process.poll() is not None

    def close(self):
        for one in filter(None, [self.tenancy.operator, getattr(self, "_apart", None)]):
            one.kill9()
            one.log.unlink()
        self.tenancy.cluster.down()


def percentile(values, share):
    """The smallest that so many are not above."""
    return sorted(values)[max(0, -(-len(values) * share // 100) - 1)]


def figures_of(took):
    return {name: {"n": len(values), "p50": round(percentile(values, 50), 3), "p99": round(percentile(values, 99), 3)}
            for name, values in took.items()}


def begin(name, burden):
    started = time.monotonic()
    try:
        burden.begin()
    except AssertionError:
        say(f"    {name}: not all of it is begun after {time.monotonic() - started:.0f} s")


def run(name, binary, make, is_preview):
    flags = HangingProviders.flags() if name == "providers" else ()
    with tempfile.TemporaryDirectory() as directory:
        site, burden = Site(directory, binary, flags), None
        try:
            alone = figures_of(site.measure(is_preview, lambda: False))
            burden = make(site.tenancy)
            begin(name, burden)
            is_over = burden.is_over if isinstance(burden, Storm) else lambda: False
            beside = figures_of(site.measure(is_preview, is_over))
            ended = site.has_ended()
        finally:
            if isinstance(burden, Storm):
                burden.end()
            if isinstance(burden, Hanging):
                burden.webhook.end()
            site.close()
    say(f"    {name}: alone {alone}\n    {name}: beside {beside}"
        + (f", {burden.done} done" if isinstance(burden, Storm) else ""))
    beyond = {who: round(beside[who]["p99"] - alone[who]["p99"], 3) for who in alone}
    return {"alone": alone, "beside": beside, "beyond_p99": beyond, "ended": ended}


def row(title, ours, before):
    alone, beside, beyond = ours["alone"], ours["beside"], ours["beyond_p99"]
    note = "the operator ended" if ours["ended"] else ""
    return [title, alone["spec"]["p50"], alone["spec"]["p99"], beside["spec"]["p50"], beside["spec"]["p99"],
            beyond["spec"], beyond["apart"], beyond["write"], beside["spec"]["n"],
            ratio(before["beside"]["spec"]["p99"], beside["spec"]["p99"]) if before else "", note]


HEADS = ["seconds, beside", "alone p50", "p99", "beside p50", "p99", "beyond, p99", "of that apart", "of a write", "n",
         "before to now", ""]


def is_ok(one):
    return one["beyond_p99"]["spec"] <= AIM and not one["ended"]


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
    report(HEADS, rows, {"benchmark": "fairness", "probes": PROBES, "aim_s": AIM, **figures,
                         "ok": all(is_ok(one["operator"]) for one in figures.values())})


if __name__ == "__main__":
    main()
