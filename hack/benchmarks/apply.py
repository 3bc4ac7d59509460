"""From the creation of a Spec of 1,000 ConfigMaps to Ready, against a bare loop of libcurl that
does 1,000 server-side applies with as many in flight (apply.c), and against `kubectl apply
--server-side` of the same objects. Rounds of all three, on the same API server; medians."""

import base64
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import yaml

from _bench import Readiness, SPECS, cluster, config_map, median, operator, report, say, spec

COUNT = 1000
IN_FLIGHT = 10  # the operator's --parallelism
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
BARE = os.environ["BENCH_PROGRAM"]
BARE_TARGET, KUBECTL_TARGET = 0.6, 2.0


def objects(namespace):
    return [config_map(number, namespace) for number in range(COUNT)]


def run_operator(plane, readiness, name, namespace):
    body = spec(name, objects(namespace))
    started = time.monotonic()
    plane.api.create(SPECS, body).must()
    return readiness.wait(name) - started


def write_credentials(plane, folder):
    config = yaml.safe_load(plane.kubeconfig.read_text())
    entries = {"ca.crt": config["clusters"][0]["cluster"]["certificate-authority-data"],
               "client.crt": config["users"][0]["user"]["client-certificate-data"],
               "client.key": config["users"][0]["user"]["client-key-data"]}
    for name, data in entries.items():
        (folder / name).write_bytes(base64.b64decode(data))
    return config["clusters"][0]["cluster"]["server"]


def run_bare(folder, server, namespace):
    (folder / "objects").write_text("".join(json.dumps(o) + "\n" for o in objects(namespace)))
    base = f"{server}/api/v1/namespaces/{namespace}/configmaps"
    command = [BARE, base, "item-", str(folder), str(IN_FLIGHT)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def run_kubectl(plane, folder, namespace):
    file = folder / "list.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects(namespace)}))
    started = time.monotonic()
    plane.kubectl("apply", "--server-side", "-f", str(file))
    return time.monotonic() - started


def measure(plane, folder):
    server = write_credentials(plane, folder)
    times = {"operator": [], "bare": [], "kubectl": []}
    readiness = Readiness(plane)
    for number in range(ROUNDS):
        for who in times:
            namespace = f"{who}-{number}"
            plane.kubectl("create", "namespace", namespace)
            if who == "operator":
                took = run_operator(plane, readiness, namespace, namespace)
            elif who == "bare":
                took = run_bare(folder, server, namespace)
            else:
                took = run_kubectl(plane, folder, namespace)
            times[who].append(took)
            say(f"    round {number + 1} of {ROUNDS}, {who}: {took:.2f} s")
    return {who: median(all_of) for who, all_of in times.items()}


def main():
    with cluster() as plane, operator(plane, "--parallelism", str(IN_FLIGHT)), \
            tempfile.TemporaryDirectory() as folder:
        times = measure(plane, Path(folder))
    ours = times["operator"]
    of_bare, of_kubectl = round(times["bare"] / ours, 2), round(times["kubectl"] / ours, 2)
    report(
        [f"{COUNT} ConfigMaps, {IN_FLIGHT} in flight", "seconds", "per second", "operator's speed", "at least"],
        [
            ["operator, Spec to Ready", ours, round(COUNT / ours), "", ""],
            ["bare libcurl loop", times["bare"], round(COUNT / times["bare"]), of_bare, BARE_TARGET],
            ["kubectl apply --server-side", times["kubectl"], round(COUNT / times["kubectl"]), of_kubectl, KUBECTL_TARGET],
        ],
        {
            "benchmark": "apply", "objects": COUNT, "in_flight": IN_FLIGHT, "rounds": ROUNDS,
            "operator_s": ours, "bare_s": times["bare"], "kubectl_s": times["kubectl"],
            "of_bare": of_bare, "of_kubectl": of_kubectl,
            "ok": of_bare >= BARE_TARGET and of_kubectl >= KUBECTL_TARGET,
        },
    )


if __name__ == "__main__":
    main()
