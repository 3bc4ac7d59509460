"""The operator's Pods on a real node (hack/node), as this machine sees them, and as its tests and
hack/demo need them."""

import os
import time
from pathlib import Path

from kusion_e2e.paths import ROOT

LABELS = "app.kubernetes.io/name=kusion-operator"
PAGE = "localhost/kusion-page:1"  # an image that hack/node has; it serves a page
NODE = ROOT / "hack" / "node"
IMAGE = ROOT / "build" / "image" / "kusion-operator.tar"
RESTRICTED = "pod-security.kubernetes.io/enforce=restricted"


def process_of(pod):
    """The id of the process of the operator's container; None where there is none."""
    container = pod["status"]["containerStatuses"][0]["containerID"].rpartition("/")[2]
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if container in (folder / "cgroup").read_text() and \
                    (folder / "exe").readlink().name == "kusion-operator":
                return int(folder.name)
        except OSError:
            pass
    return None


def resident(process):
    """MB."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    return None


def started(process):
    """When, in seconds since 1970, to a hundredth."""
    ticks = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19])
    up = float(Path("/proc/uptime").read_text().split()[0])
    return time.time() - up + ticks / os.sysconf("SC_CLK_TCK")


def use_page(spec):
    """Puts PAGE into all containers of a Spec's Deployments: no registry is asked."""
    for resource in spec["spec"]["resources"]:
        if resource["attributes"]["kind"] == "Deployment":
            for container in resource["attributes"]["spec"]["template"]["spec"]["containers"]:
                container["image"] = PAGE
    return spec
