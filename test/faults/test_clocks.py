"""Clocks that are wrong."""

import os
import re
import subprocess
from pathlib import Path

import pytest

DAY = 24 * 3600


@pytest.fixture(scope="session")
def wrong_clock(tmp_path_factory):
    """The environment of a process whose clock is so many seconds ahead."""
    library = tmp_path_factory.mktemp("clock") / "clock.so"
    source = Path(__file__).with_name("clock.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    options = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    return lambda seconds: {"LD_PRELOAD": str(library), "KUSION_TEST_CLOCK_AHEAD": str(seconds),
                            "ASAN_OPTIONS": options}


def test_clock_back_lease_deleted(bare, wrong_clock):
    """The Lease was made while the clock was a day ahead; the clock is set right, and the Lease is
    deleted. The condition tells a way out, and that is one."""
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{bare.room.state}/leases/kusion-operator"
    bare.api.delete(lease)  # that of an earlier scenario in this room
    ahead = bare.operator(bare.lane(), environment=wrong_clock(DAY))
    spec = bare.spec().apply([bare.config("a")], retryInterval="1s")
    bare.ready(spec)
    assert ahead.stop() == []
    bare.api.delete(lease)
    right = bare.operator(bare.lane())
    spec.apply([bare.config("a", "2")], retryInterval="1s")
    ready = spec.wait("False", 20)
    assert ready["reason"] == "StateOfLaterLeader", ready
    epoch = max(int(number) for number in re.findall(r"\d{6,}", ready["message"]))
    right.kill9()
    bare.api.patch(lease, {"spec": {"leaseTransitions": epoch, "holderIdentity": None}}).must()
    right.start()
    bare.ready(spec, 30)
    assert bare.value("a") == "2"
    spec.delete()
    bare.gone(spec)


@pytest.mark.parametrize("ahead", [-DAY, 400 * DAY])
def test_clock_jumps_over_a_restart(bare, wrong_clock, ahead):
    """The next process has another time; the Lease stays."""
    lane = bare.lane()
    first = bare.operator(lane)
    spec = bare.spec().apply([bare.config("a")])
    bare.ready(spec)
    assert first.stop() == []
    bare.operator(bare.lane(), environment=wrong_clock(ahead))
    spec.apply([bare.config("a", "2")])
    bare.ready(spec, 30)
    spec.delete()
    bare.gone(spec)
