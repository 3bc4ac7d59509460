"""Clocks that are wrong."""

import re

import pytest

from kusion_e2e.wrong_clock import WrongClock

DAY = 24 * 3600


@pytest.fixture(scope="session")
def wrong_clock(tmp_path_factory):
    return WrongClock(tmp_path_factory.mktemp("clock"))


def test_clock_back_lease_deleted(bare, wrong_clock):
    """The Lease was made while the clock was a day ahead; the clock is set right, and the Lease is
    deleted. The condition tells a way out, and that is one."""
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{bare.room.state}/leases/kusion-operator"
    bare.api.delete(lease)  # that of an earlier scenario in this room
    ahead = bare.operator(bare.lane(), environment=wrong_clock.ahead(DAY))
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
    bare.operator(bare.lane(), environment=wrong_clock.ahead(ahead))
    spec.apply([bare.config("a", "2")])
    bare.ready(spec, 30)
    spec.delete()
    bare.gone(spec)
