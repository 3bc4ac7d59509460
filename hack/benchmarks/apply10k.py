"""From the creation of a Spec of 10,000 ConfigMaps in one source (`resourcesFrom`, gzipped) to Ready,
against `kubectl apply --server-side` of the same objects, and against a Spec of 1,000: what grows
with the square shows in the growth. Then what a check of it costs, and its deletion; and the
operator's memory, which has to stay within the chart's limit."""

import base64
import gzip
import json
import os
import time

from _bench import cluster, config_map, median, report, say, sides

SMALL, LARGE = 1000, 10000
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "2"))
GROWTH_TARGET = 11.0
KUBECTL_TARGET = 1.0
MEMORY_TARGET = 512 * 1.048576  # MB: the chart's resources.limits.memory


def stream(count, namespace):
    return "".join("---\n" + json.dumps(config_map(number, namespace)) + "\n" for number in range(count))


def make_source(plane, side, name, count, target):
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": side.namespace},
            "binaryData": {"all": base64.b64encode(gzip.compress(stream(count, target).encode())).decode()}}
    plane.api.create(f"/api/v1/namespaces/{side.namespace}/configmaps", json.dumps(body)).must()


def spec(side, name):
    return {"apiVersion": "api.kusion.io/v1", "kind": "Spec", "metadata": {"name": name, "namespace": side.namespace},
            "spec": {"serviceAccountName": "deployer", "timeout": "30m", "interval": "1h",
                     "resourcesFrom": [{"kind": "ConfigMap", "name": name, "key": "all"}]}}


def apply(plane, side, name, count):
    """Seconds until Ready."""
    plane.kubectl("create", "namespace", name)
    make_source(plane, side, name, count, name)
    started = time.monotonic()
    plane.api.create(side.specs, json.dumps(spec(side, name))).must()
    return side.readiness.wait(name, 1800) - started


def check(plane, side, name):
    """Seconds, and seconds of the operator's CPU, of a look at it."""
    path, mark = f"{side.specs}/{name}", str(time.time())
    began, cpu = time.monotonic(), side.cpu()
    plane.api.patch(path, {"metadata": {"annotations": {"api.kusion.io/reconcile-requested-at": mark}}}).must()
    while plane.api.get(path).must().object["status"].get("lastHandledReconcileAt") != mark:
        time.sleep(0.05)
    return time.monotonic() - began, side.cpu() - cpu


def delete(plane, side, name):
    path, began = f"{side.specs}/{name}", time.monotonic()
    plane.api.delete(path).must()
    while plane.api.get(path).code != 404:
        time.sleep(0.1)
    return time.monotonic() - began


def run_kubectl(plane, name):
    plane.kubectl("create", "namespace", name)
    began = time.monotonic()
    plane.kubectl("apply", "--server-side", "-f", "-", input=stream(LARGE, name))
    return time.monotonic() - began


def measure(plane, side, number):
    times = {"small": apply(plane, side, f"small-{number}", SMALL), "large": apply(plane, side, f"large-{number}", LARGE)}
    times["check"], times["check cpu"] = check(plane, side, f"large-{number}")
    times["delete"] = delete(plane, side, f"large-{number}")
    times["kubectl"] = run_kubectl(plane, f"kubectl-{number}")
    times["memory"] = side.resident("VmHWM")
    say("    " + ", ".join(f"{what} {took:.2f}" for what, took in times.items()))
    return times


def main():
    with cluster() as plane, sides(plane) as running:
        rounds = [measure(plane, running[-1], number) for number in range(ROUNDS)]
    took = {what: median([times[what] for times in rounds]) for what in rounds[0]}
    growth = median([times["large"] / times["small"] for times in rounds])
    against = median([times["kubectl"] / times["large"] for times in rounds])
    ok = growth <= GROWTH_TARGET and against >= KUBECTL_TARGET and took["memory"] <= MEMORY_TARGET
    report(
        [f"{LARGE} ConfigMaps in one Spec", "seconds", "bound"],
        [[f"Spec of {SMALL} to Ready", took["small"], ""],
         [f"Spec of {LARGE} to Ready", took["large"], ""],
         ["growth, times", growth, f"at most {GROWTH_TARGET}"],
         ["kubectl apply --server-side", took["kubectl"], ""],
         ["operator's speed", against, f"at least {KUBECTL_TARGET}"],
         ["a check", took["check"], ""],
         ["a check, CPU of the operator", took["check cpu"], ""],
         ["deletion", took["delete"], ""],
         ["memory, MB at most", took["memory"], f"at most {MEMORY_TARGET:.0f}"]],
        {"benchmark": "apply10k", "objects": LARGE, "rounds": ROUNDS, "seconds": took, "growth": growth,
         "against_kubectl": against, "ok": ok},
    )


if __name__ == "__main__":
    main()
