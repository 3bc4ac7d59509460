"""The controller in its Pod: the chart with the image, on a real node (KUSION_E2E_POD). Stands in for a
Controller where a test only wants one at work.

The cluster's other nodes stay: Pods of tests only look alive there, as ever. The real node is the
operator's alone, by a taint."""

import os
import subprocess

from kusion_e2e.chart import OWN, RELEASE
from kusion_e2e.paths import CHART
from kusion_e2e.pod import IMAGE, LABELS, NODE, RESTRICTED
from kusion_e2e.wait import eventually

IS_ASKED_FOR = bool(os.environ.get("KUSION_E2E_POD"))
TAINT = "kusion.io/node"
VALUES = [
    "crds.enabled=false",  # tests install them with kubectl
    "nodeSelector.kubernetes\\.io/hostname=node-0",
    f"tolerations[0].key={TAINT}", "tolerations[0].operator=Exists",
    # As Controller has them.
    "controller.minInterval=1s", "controller.extraArgs[0]=--api-request-timeout=2s",
]

# By file: why its tests cannot have the controller in a Pod. Those of other files that do not use it
# need no controller at all.
REASONS = {
    "test_chart_controller": "runs the program with the chart's rights, on this machine",
    "test_check": "starts and kills several processes",
    "test_configuration": "runs the program with flags and variables that a Pod does not have",
    "test_crash": "kills processes at chosen moments; test/node kills the one in the Pod",
    "test_idle": "wants a control plane with an audit log, and an operator of its own there",
    "test_leader": "freezes and kills several processes",
    "test_second_runtime": "the image has no second runtime",
    "test_second_runtime_calls": "the image has no second runtime",
}
TENANCY = "reads the log, the limits and the files of a process on this machine"


def reason_to_skip(file, fixtures):
    """None for tests that can have it."""
    if "controlled" in fixtures:
        return None
    return f"not in a Pod: {REASONS.get(file) or (TENANCY if 'tenancy' in fixtures else 'it needs no controller')}"


class PodController:
    def __init__(self, cluster):
        self.cluster = cluster
        # Once for a cluster; it goes with it.
        subprocess.run([NODE, "up", cluster.name, IMAGE], check=True)
        cluster.kubectl("taint", "node", "node-0", f"{TAINT}=:NoSchedule", "--overwrite")
        cluster.kubectl("label", "namespace", OWN, RESTRICTED, "--overwrite")
        cluster.helm("install", RELEASE, CHART, "-n", OWN, *(f"--set={value}" for value in VALUES))

    def wait_leading(self):
        self.cluster.kubectl("rollout", "status", "deployment", "-n", OWN, "-l", LABELS, "--timeout=120s")
        return self

    def logged(self):
        return self.cluster.kubectl("logs", "-n", OWN, "-l", LABELS, "--tail=-1").stdout

    def stop(self):
        """Gives the number of times that its container was started again: an operator does not end."""
        pods = self.cluster.get_json("pods", "-n", OWN, "-l", LABELS)["items"]
        restarts = sum(one["restartCount"] for pod in pods for one in pod["status"]["containerStatuses"])
        self.cluster.helm("uninstall", RELEASE, "-n", OWN, "--wait")
        eventually(lambda: self.cluster.get_json("pods", "-n", OWN, "-l", LABELS) is None)
        return restarts
