"""From the creation of a Spec of 1,000 ConfigMaps to Ready, against a bare loop of libcurl that
does 1,000 server-side applies with as many in flight (apply.c), and against `kubectl apply
--server-side` of the same objects. Rounds of all three, on the same API server, after one that
does not count (an API server's first seconds are its slowest). The ratios are medians of those of
the rounds: what else the machine does at a time slows all three."""

import base64
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import yaml

from _bench import cluster, config_map, median, report, say, sides

COUNT = 1000
IN_FLIGHT = 10  # the operator's --parallelism
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
BARE = os.environ["BENCH_PROGRAM"]
BARE_TARGET, KUBECTL_TARGET = 0.6, 2.0
BEFORE_TARGET = 0.95  # two runs of the same program differ by as much


def objects(namespace):
    return [config_map(number, namespace) for number in range(COUNT)]


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


def run_all(plane, running, server, folder, number):
    """The seconds of each, in a namespace of its own."""
    runs = {side.name: lambda namespace, side=side: side.run(namespace, objects(namespace)) for side in running}
    runs["bare"] = lambda namespace: run_bare(folder, server, namespace)
    runs["kubectl"] = lambda namespace: run_kubectl(plane, folder, namespace)
    times = {}
    for who, run in runs.items():
        plane.kubectl("create", "namespace", f"{who}-{number}")
        times[who] = run(f"{who}-{number}")
    seconds = ", ".join(f"{who} {took:.2f} s" for who, took in times.items())
    say(f"    round {number} of {ROUNDS}: {seconds}" if number else f"    warm-up: {seconds}")
    return times


def measure(plane, running, folder):
    server = write_credentials(plane, folder)
    rounds = [run_all(plane, running, server, folder, number) for number in range(ROUNDS + 1)]
    return rounds[1:]


def speed(rounds, peer):
    return round(median([times[peer] / times["operator"] for times in rounds]), 2)


def main():
    with cluster() as plane, sides(plane, "--parallelism", str(IN_FLIGHT)) as running, \
            tempfile.TemporaryDirectory() as folder:
        rounds = measure(plane, running, Path(folder))
    took = {who: median([times[who] for times in rounds]) for who in rounds[0]}
    speeds = {who: speed(rounds, who) for who in took if who != "operator"}
    targets = {"bare": BARE_TARGET, "kubectl": KUBECTL_TARGET, "before": BEFORE_TARGET}
    titles = {"operator": "operator, Spec to Ready", "before": "the operator that it is compared with",
              "bare": "bare libcurl loop", "kubectl": "kubectl apply --server-side"}
    report(
        [f"{COUNT} ConfigMaps, {IN_FLIGHT} in flight", "seconds", "per second", "operator's speed", "at least"],
        [[title, took[who], round(COUNT / took[who]), speeds.get(who, ""), targets.get(who, "")]
         for who, title in titles.items() if who in took],
        {
            "benchmark": "apply", "objects": COUNT, "in_flight": IN_FLIGHT, "rounds": ROUNDS,
            "seconds": took, "speeds": speeds,
            "ok": all(value >= targets[who] for who, value in speeds.items()),
        },
    )


if __name__ == "__main__":
    main()
