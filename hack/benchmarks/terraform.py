"""Resources of a Terraform provider that does nothing slow (random_id), through the operator on a real
API server, and through OpenTofu in one root module with its state in a file: apply, no change, destroy,
in turns. Eight Specs at once beside eight OpenTofus at once. And the memory of the operator and of its
providers over 20,000 calls.

The aims: 5 times as fast as OpenTofu to apply 100, 6 times 1,000; 8 times where nothing changes. More columns
tell what that is made of. "fsync": the operator, on another API server whose etcd waits for the disk. "engine": the engine alone, without Kubernetes, with its State in files, as
OpenTofu has it. "provider": how many times as fast it would be if only the CPU time of the provider counted,
on all cores."""

import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from _bench import OPERATOR, ROOT, Api, Watch, cluster, median, ratio, report, running_sides, say
from kusion_e2e.terraform import flags, mirror, terraform

SIZES = [100, 1000]
ROUNDS = 3
AT_ONCE = 8
CALLS = 20000
CALLS_OF_A_RESYNC = 2  # for each resource: read, plan
AIMS = {(100, "apply"): 5, (1000, "apply"): 6, (100, "no change"): 8, (1000, "no change"): 8}
RESYNC = "api.kusion.io/reconcile-requested-at"


class Specs:
    """What happens to Specs, as it happens."""

    def __init__(self, side):
        self.side, self._changed, self._now = side, threading.Condition(), {}
        self._local = threading.local()
        Watch(side.plane.kubeconfig, side.specs, self._take)

    @property
    def _api(self):
        """Of this thread."""
        if not hasattr(self._local, "api"):
            self._local.api = Api(self.side.plane.kubeconfig)
        return self._local.api

    def _take(self, kind, spec):
        name = spec["metadata"]["name"]
        with self._changed:
            self._now[name] = None if kind == "DELETED" else spec
            self._changed.notify_all()

    def _wait(self, name, is_reached):
        with self._changed:
            if not self._changed.wait_for(lambda: is_reached(self._now.get(name)), 600):
                raise SystemExit(f"{name}: {json.dumps(self._now.get(name))[:2000]}")
        return time.monotonic()

    def apply(self, name, count):
        """Seconds until it is Ready."""
        self._now.pop(name, None)
        body = {"apiVersion": "api.kusion.io/v1", "kind": "Spec",
                "metadata": {"name": name, "namespace": self.side.namespace},
                "spec": {"serviceAccountName": "deployer", "interval": "1h",
                         "resources": resources(count)}}
        begun = time.monotonic()
        self._api.create(self.side.specs, json.dumps(body)).must()
        return self._wait(name, is_ready) - begun

    def resync(self, name):
        """Seconds until it was read and planned again, and nothing was to be done."""
        token = f"bench-{time.monotonic_ns()}"
        begun = time.monotonic()
        self._api.patch(f"{self.side.specs}/{name}", {"metadata": {"annotations": {RESYNC: token}}}).must()
        return self._wait(name, lambda spec: spec["status"].get("lastHandledReconcileAt") == token) - begun

    def destroy(self, name):
        begun = time.monotonic()
        self._api.delete(f"{self.side.specs}/{name}").must()
        return self._wait(name, lambda spec: not spec) - begun


def resources(count):
    return [terraform("random_id", f"r{i}", byte_length=8) for i in range(count)]


def is_ready(spec):
    conditions = (spec or {}).get("status", {}).get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


class Alone:
    """The engine and its Terraform runtime without Kubernetes."""

    def __init__(self):
        self._folder = tempfile.mkdtemp()
        self._driver = subprocess.Popen([ROOT / "build/release/bin/terraform_driver", mirror()[0],
                                         self._folder, "hashicorp/random"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, name, count):
        """Seconds, with `count` resources in the end."""
        begun = time.monotonic()
        print(json.dumps({"do": "apply", "name": name, "resources": resources(count)}), file=self._driver.stdin,
              flush=True)
        answer = json.loads(self._driver.stdout.readline())
        if answer["error"] or any(one["error"] for one in answer["results"]):
            raise SystemExit(json.dumps(answer)[:2000])
        return time.monotonic() - begun

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._driver.communicate()
        shutil.rmtree(self._folder)


class Tofu:
    """One root module."""

    def __init__(self, program, count):
        self._program = program
        self.folder = Path(tempfile.mkdtemp())
        place, = Path(mirror()[0]).glob("registry.terraform.io/hashicorp/random/*/*")
        (self.folder / "rc").write_text(
            "disable_checkpoint = true\nprovider_installation {\n  dev_overrides {\n"
            f'    "registry.terraform.io/hashicorp/random" = "{place}"\n  }}\n}}\n')
        module = {"terraform": {"required_providers": {"random": {"source": "registry.terraform.io/hashicorp/random"}}},
                  "resource": {"random_id": {f"r{i}": {"byte_length": 8} for i in range(count)}}}
        (self.folder / "main.tf.json").write_text(json.dumps(module))

    def run(self, what):
        """Seconds."""
        begun = time.monotonic()
        done = subprocess.run([self._program, what, "-auto-approve", "-input=false", "-no-color"], cwd=self.folder,
                              env={**os.environ, "TF_CLI_CONFIG_FILE": str(self.folder / "rc"), "TF_IN_AUTOMATION": "1"},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        return time.monotonic() - begun

    def close(self):
        shutil.rmtree(self.folder)


def phases_of_ours(specs, name, count):
    return {"apply": lambda: specs.apply(name, count), "no change": lambda: specs.resync(name),
            "destroy": lambda: specs.destroy(name)}


def life_of_ours(specs, name, count):
    return {phase: run() for phase, run in phases_of_ours(specs, name, count).items()}


def providers_in(specs, name, count):
    """Seconds of the providers alone, on all cores, in such a life."""
    took = {}
    for phase, run in phases_of_ours(specs, name, count).items():
        before = cpu_of_providers(specs.side)
        run()
        took[phase] = (cpu_of_providers(specs.side) - before) / os.cpu_count()
    return took


def life_of_engine(alone, name, count):
    return {"apply": alone.run(name, count), "no change": alone.run(name, count), "destroy": alone.run(name, 0)}


def life_of_theirs(program, count):
    tofu = Tofu(program, count)
    life = {"apply": tofu.run("apply"), "no change": tofu.run("apply"), "destroy": tofu.run("destroy")}
    tofu.close()
    return life


def compare(specs, durable, alone, program, count):
    """Medians: {phase: (the operator, that with fsync, the engine alone, OpenTofu, the provider alone)}."""
    rounds = []
    for number in range(ROUNDS):
        say(f"    {count} resources: round {number + 1} of {ROUNDS}")
        name = f"bench-{count}-{number}"
        rounds.append((life_of_ours(specs, name, count), life_of_ours(durable, name, count),
                       life_of_engine(alone, name, count),
                       life_of_theirs(program, count), providers_in(specs, f"{name}-again", count)))
    return {phase: tuple(median([one[side][phase] for one in rounds]) for side in range(5)) for phase in rounds[0][0]}


def at_once(lives):
    """Seconds until the last has ended."""
    begun = time.monotonic()
    with ThreadPoolExecutor(len(lives)) as pool:
        for done in [pool.submit(*one) for one in lives]:
            done.result()
    return time.monotonic() - begun


def resident(pid):
    """MB of a process; 0: it has ended."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1e3
    except OSError:
        pass
    return 0


def cpu_of(pid):
    """Seconds: of the process, and of its children that have ended. None of one that has ended."""
    try:
        numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0, 0
    user, system, of_children, system_of_children = (int(one) / os.sysconf("SC_CLK_TCK") for one in numbers[11:15])
    return user + system, of_children + system_of_children


def providers_of(side):
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(side.process.pid)], capture_output=True, text=True)
    return found.stdout.split()


def cpu_of_providers(side):
    """Seconds of those that live, and of those that have ended."""
    return sum(cpu_of(pid)[0] for pid in providers_of(side)) + cpu_of(side.process.pid)[1]


class Memory(threading.Thread):
    """The most that the operator, and all of its providers, had."""

    def __init__(self, side):
        super().__init__(daemon=True)
        self.side, self.operator, self.providers, self._is_over = side, 0, 0, threading.Event()
        self.start()

    def run(self):
        while not self._is_over.wait(0.1):
            self.operator = max(self.operator, resident(self.side.process.pid))
            self.providers = max(self.providers, sum(map(resident, providers_of(self.side))))

    def stop(self):
        self._is_over.set()
        self.join()
        return round(self.operator, 1), round(self.providers, 1)


def soak(specs, side):
    """Memory over the first tenth of the calls, and over all."""
    count, found = 1000, []
    specs.apply("soak", count)
    for share in (10, 1):
        memory = Memory(side)
        for _ in range(CALLS // share // (count * CALLS_OF_A_RESYNC) or 1):
            specs.resync("soak")
        found.append(memory.stop())
    specs.destroy("soak")
    return found


def main():
    why_not = mirror()[1]
    if why_not:
        raise SystemExit(why_not)
    program = subprocess.run([ROOT / "hack/controlplane", "tools", "tofu"], check=True, stdout=subprocess.PIPE,
                             text=True).stdout.strip()
    rows, figures, is_ok = [], {}, True
    operators = [("operator", OPERATOR)], flags("hashicorp/random"), False
    with (cluster() as plane, running_sides(plane, *operators) as (side,), cluster("--fsync") as other,
          running_sides(other, *operators) as (durable_side,), Alone() as alone):
        specs, durable = Specs(side), Specs(durable_side)
        life_of_ours(specs, "warm-up", 1)
        life_of_ours(durable, "warm-up", 1)
        life_of_engine(alone, "warm-up", 1)
        for count in SIZES:
            for phase, found in compare(specs, durable, alone, program, count).items():
                ours, fsync, engine, theirs, provider = found
                times, aim = ratio(theirs, ours, 1), AIMS.get((count, phase))
                is_ok = is_ok and (not aim or times >= aim)
                rows.append([f"{phase} {count}", ours, fsync, engine, theirs, times, ratio(theirs, fsync, 1),
                             ratio(theirs, engine, 1), ratio(theirs, provider, 1), aim or ""])
                figures[f"{phase} {count}"] = {"ours": ours, "fsync": fsync, "engine": engine, "tofu": theirs,
                                               "provider": provider}
        ours = at_once([(life_of_ours, specs, f"many-{i}", 100) for i in range(AT_ONCE)])
        theirs = at_once([(life_of_theirs, program, 100) for _ in range(AT_ONCE)])
        rows.append([f"{AT_ONCE} at once, 100 each, all three", round(ours, 2), "", "", round(theirs, 2),
                     ratio(theirs, ours, 1), "", "", "", ""])
        figures["at once"] = {"ours": round(ours, 3), "tofu": round(theirs, 3)}
        first, last = soak(specs, side)
    rows += [[f"MB of {who} over {calls} calls", value, *[""] * 8]
             for calls, found in ((CALLS // 10, first), (CALLS, last))
             for who, value in zip(("the operator", "its providers"), found)]
    heads = ["random_id, seconds", "operator", "fsync", "engine", "tofu", "operator: times", "fsync: times",
             "engine: times", "provider: times", "aim"]
    report(heads, rows,
           {"benchmark": "terraform", **figures, "memory": {"first": first, "all": last}, "ok": is_ok})


if __name__ == "__main__":
    main()
