"""What a person waits for kubectl-kusion: `validate` of a file with 1,000 resources, which asks nobody,
and `status -A` of 1,000 Specs with 10 resources each, beside `kubectl get specs -A`."""

import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import yaml
from _bench import ROOT, cluster, config_map, ratio, report, tool

CLI = os.environ.get("KUSION_CLI", str(ROOT / "build/release/bin/kubectl-kusion"))
COUNT, RESOURCES, RUNS = 1000, 10, 15
SPECS = "/apis/api.kusion.io/v1/namespaces/bench/specs"
STATUS = yaml.safe_load((ROOT / "test/e2e/objects/spec-every-field.yaml").read_text())["status"]
BOUNDS = {"validate": 50, "status": 300}  # ms


def spec(name, count):
    maps = [config_map(n, "bench") for n in range(count)]
    return {"apiVersion": "api.kusion.io/v1", "kind": "Spec", "metadata": {"name": name, "namespace": "bench"},
            "spec": {"serviceAccountName": "deployer", "suspend": True, "resources": [
                {"id": f"v1:ConfigMap:bench:{one['metadata']['name']}", "type": "Kubernetes", "attributes": one,
                 **({"dependsOn": [f"v1:ConfigMap:bench:item-{n - 1:04}"]} if n else {})}
                for n, one in enumerate(maps)]}}


def fill(plane):
    plane.kubectl("create", "namespace", "bench")
    for n in range(COUNT):
        plane.api.create(SPECS, spec(f"web-{n:04}", RESOURCES)).must()
        plane.api.patch(f"{SPECS}/web-{n:04}/status", {"status": STATUS}).must()


def timed(command, environment):
    """The least and the median ms."""
    took = []
    for _ in range(RUNS):
        begun = time.monotonic()
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        took.append((time.monotonic() - begun) * 1000)
    return {"least": round(min(took), 1), "median": round(statistics.median(took), 1)}


def main():
    with tempfile.TemporaryDirectory() as folder, cluster() as plane:
        file = Path(folder) / "large.yaml"
        file.write_text(yaml.safe_dump(spec("large", COUNT)))
        environment = {**os.environ, "KUBECONFIG": str(plane.kubeconfig)}
        fill(plane)
        took = {"validate": timed([CLI, "validate", "-f", file], environment),
                "status": timed([CLI, "status", "-A"], environment),
                "kubectl": timed([tool("kubectl"), "get", "specs", "-A"], environment)}
    report(["ms", "least", "median", "bound", "median to kubectl"],
           [[f"validate, {COUNT} resources", *took["validate"].values(), BOUNDS["validate"], ""],
            [f"status -A, {COUNT} Specs", *took["status"].values(), BOUNDS["status"],
             ratio(took["status"]["median"], took["kubectl"]["median"])],
            [f"kubectl get specs -A, {COUNT} Specs", *took["kubectl"].values(), "", ""]],
           {"benchmark": "cli", **took, "ok": all(took[name]["median"] <= bound for name, bound in BOUNDS.items())})


if __name__ == "__main__":
    main()
