"""A State of 10,000 resources in each store beside the least that its bytes cost there (stores.c); and
1,000 Specs of one ConfigMap each until all are Ready, with State in ConfigMaps, in PostgreSQL and in S3."""

import json
import os
import shlex
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from _audit import SETTLED, audit_log, requests, size
from _bench import OPERATOR, ROOT, cluster, median, ratio, report, running_sides, say
from specs import COUNT, ROUNDS, create_all

SERVERS = {"postgres": "KUSION_TEST_POSTGRES", "s3": "KUSION_TEST_S3"}
AIM = 1.5  # times as fast with PostgreSQL as with ConfigMaps


@contextmanager
def servers():
    """Their places, by the variables of hack/stores."""
    name = f"bench-{os.getpid()}"
    hack = str(ROOT / "hack/stores")
    try:
        subprocess.run([hack, "up", name, "postgres", "s3", "apache"], check=True, stdout=subprocess.DEVNULL)
        words = shlex.split(subprocess.run([hack, "env", name], check=True, capture_output=True, text=True).stdout)
        yield dict(word.split("=", 1) for word in words if "=" in word)
    finally:
        subprocess.run([hack, "down", name], check=False)


def key_folder(folder):
    for name, content in (("k1", os.urandom(32)), ("current", b"k1")):
        path = Path(folder, name)
        path.write_bytes(content)
        path.chmod(0o400)
    return folder


def run(side, number, log):
    start, worked = size(log), side.cpu()
    began = create_all(side, number)
    took = side.readiness.wait_for((number + 1) * COUNT + 1) - began
    worked = side.cpu() - worked
    time.sleep(SETTLED)
    found = requests(log, start)
    say(f"    round {number}: {side.name}: {took:.1f} s, {worked:.1f} s of CPU")
    return {"seconds": took, "cpu_s": worked, "requests": len(found), "writes": sum(r.is_write for r in found)}


def many_specs(places, keys):
    flags = {"configmap": (), **{kind: (f"--state-backend={places[variable]}", f"--state-key=file:{keys}")
                                 for kind, variable in SERVERS.items()}}
    with cluster("--audit") as plane:
        log = audit_log(plane)
        rounds = {kind: [] for kind in flags}
        with running_sides(plane, [(kind, OPERATOR, *more) for kind, more in flags.items()]) as running:
            for number in range(ROUNDS):
                for side in running if number % 2 else reversed(running):
                    rounds[side.name].append(run(side, number, log))
    return {name: {key: median([one[key] for one in ones]) for key in ones[0]} for name, ones in rounds.items()}


def main():
    with servers() as places, tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([os.environ["BENCH_PROGRAM"]], env=os.environ | places, check=True,
                              stdout=subprocess.PIPE, text=True)
        *table, parts = done.stdout.splitlines()
        print("\n".join(table))
        figures = many_specs(places, key_folder(folder))
    before = figures["configmap"]
    rows = [[key, *[one[key] for one in figures.values()],
             *[ratio(before[key], figures[kind][key]) for kind in SERVERS]] for key in before]
    gain = ratio(before["seconds"], figures["postgres"]["seconds"])
    report([f"{COUNT} Specs of a ConfigMap, until all are Ready", *figures, *[f"gain of {kind}" for kind in SERVERS]],
           rows, json.loads(parts) | {"specs": COUNT, "until_ready": figures, "gain": gain, "ok": gain >= AIM})


if __name__ == "__main__":
    main()
