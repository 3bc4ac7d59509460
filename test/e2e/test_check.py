"""--check: whether an operator is at work, as `helm test` asks."""

import time

import pytest

from kusion_e2e.controller import PROGRAM, STATE, Controller
from kusion_e2e.long import takes_long


def check(cluster, *flags):
    return cluster.run(PROGRAM, "--check", "--kubeconfig", cluster.kubeconfig, "--state-namespace", STATE,
                       *flags, check=False)


@pytest.fixture
def controller(state_namespace):
    made = Controller(state_namespace).wait_leading()
    yield made
    made.stop()


def test_names_the_operator_that_is_at_work(controller):
    result = check(controller.cluster)
    assert result.returncode == 0, result.stderr
    assert f"is at work: it renews the Lease {STATE}/kusion-operator" in result.stdout
    assert f"_{controller.process.pid}_" in result.stdout


@takes_long
def test_an_operator_that_was_killed(controller):
    """Its Lease still names it; the next operator is waited for, since it takes the Lease only then."""
    cluster = controller.cluster
    controller.kill9()
    next_one = Controller(cluster)
    result = check(cluster)
    assert result.returncode == 0, result.stderr
    assert f"_{next_one.process.pid}_" in result.stdout
    next_one.kill9()
    began = time.monotonic()
    result = check(cluster)
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr == (f"kusion-operator: the check failed: the Lease {STATE}/kusion-operator: "
                             "nobody renewed it for 30 s\n")
    assert time.monotonic() - began < 45


def test_without_election_it_says_what_it_does_not_know(state_namespace):
    result = check(state_namespace, "--leader-elect=false")
    assert result.returncode == 0
    assert "is not known without --leader-elect" in result.stdout


def test_the_selector_of_the_operator_is_tried(state_namespace):
    result = check(state_namespace, "--watch-label-selector=a==b==c")
    assert result.returncode == 1
    assert '--watch-label-selector: "a==b==c" is refused' in result.stderr
