"""Nothing to do: not one write of ours but the Lease's. KUSION_IDLE_SECONDS: how long it looks
(a minute, where there is time)."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from kusion_e2e.cluster import Cluster
from kusion_e2e.controller import STATE, Controller
from kusion_e2e.long import takes_long
from kusion_e2e.paths import CONTROLPLANE
from kusion_e2e.rights import account, wait_until_may
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.wait import eventually

COUNT = 100
SECONDS = float(os.environ.get("KUSION_IDLE_SECONDS", "20"))
QUIET = 3  # seconds without a write: the last events come after the status that they belong to
RENEWAL = ("update", "leases")
WRITES = {"create", "update", "patch", "delete", "deletecollection"}


@pytest.fixture
def audited():
    cluster = Cluster.up(f"e2e-idle-{os.getpid()}", "--audit")
    try:
        cluster.install_crds()
        cluster.kubectl("create", "namespace", STATE)
        cluster.kubectl("create", "clusterrolebinding", "all", "--clusterrole=cluster-admin",
                        "--serviceaccount=default:default")
        wait_until_may(cluster, account("default"), "*", "*", group="*")
        yield cluster
    finally:
        cluster.down()


def audit_log(cluster):
    command = [CONTROLPLANE, "audit", cluster.name]
    return Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())


def our_writes(log, offset):
    """(verb, resource) of each write whose user agent is the operator's, after an offset."""
    with log.open("rb") as file:
        file.seek(offset)
        events = [json.loads(line) for line in file if line.endswith(b"\n")]
    return [(event["verb"], event["objectRef"]["resource"]) for event in events
            if event.get("userAgent", "").startswith("kusion-operator")
            and event["verb"] in WRITES and event["stage"] == "ResponseComplete"]


def wait_until_quiet(log):
    def is_quiet():
        offset = log.stat().st_size
        time.sleep(QUIET)
        return set(our_writes(log, offset)) <= {RENEWAL}

    eventually(is_quiet)


@takes_long
def test_idle_writes_only_the_lease(audited):
    controller = Controller(audited).wait_leading()
    try:
        log = audit_log(audited)
        specs = [Spec(audited, "default", f"s{i}").apply([config_map(f"c{i}", "default")])
                 for i in range(COUNT)]
        for spec in specs:
            spec.wait("True", seconds=180)
        assert len(our_writes(log, 0)) > COUNT  # what is counted is counted
        wait_until_quiet(log)
        offset = log.stat().st_size
        time.sleep(SECONDS)
        written = our_writes(log, offset)
        assert set(written) == {RENEWAL}, written
    finally:
        controller.stop()
