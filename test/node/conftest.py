"""Fixtures of the node's tests: the operator's image on a real node (hack/node), installed by Helm from a
packaged chart. hack/image must have built the image. The tests run in order: each goes on where the one
before it ended.

Where no node can be had (hack/node can), they are skipped, with the reason."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "e2e"))
from kusion_e2e.cluster import Cluster  # noqa: E402
from kusion_e2e.paths import CHART  # noqa: E402
from kusion_e2e.pod import IMAGE, LABELS, NODE, use_page  # noqa: E402

OWN, TEAM = "kusion-system", "team-a"


def why_no_node():
    result = subprocess.run([NODE, "can"], capture_output=True, text=True, check=False)
    return result.stderr.strip() if result.returncode else None


@pytest.fixture(scope="session")
def cluster():
    why = why_no_node()
    if why:
        pytest.skip(f"no node can be had here: {why}")
    if not IMAGE.exists():
        pytest.fail("the image is not built: hack/image")
    cluster = Cluster.up(f"node-{os.getpid()}", "--nodes", "0")
    try:
        subprocess.run([NODE, "up", cluster.name, IMAGE], check=True)
        yield cluster
    finally:
        subprocess.run([NODE, "down", cluster.name], check=False)
        cluster.down()


@pytest.fixture(scope="session")
def package(tmp_path_factory, cluster):
    """The chart as it is published: a tgz."""
    folder = tmp_path_factory.mktemp("chart")
    cluster.helm("package", CHART, "--destination", folder)
    return next(folder.glob("*.tgz"))


@pytest.fixture(scope="session")
def guestbook():
    """examples/guestbook.yaml with an image that the node has, for all its containers."""
    text = (ROOT / "examples" / "guestbook.yaml").read_text()
    return use_page(next(one for one in yaml.safe_load_all(text) if one["kind"] == "Spec"))


def wait_available(cluster):
    cluster.kubectl("rollout", "status", "deployment", "-n", OWN, "-l", LABELS, "--timeout=120s")
