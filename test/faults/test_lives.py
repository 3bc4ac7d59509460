"""A sample of the sweep: lives with one fault each, chosen by KUSION_TEST_SEED (else always the
same). KUSION_FAULTS_LIVES is their number; every fourth waits for approvals. `hack/soak faults` goes
through all."""

import os

import pytest

from kusion_faults.sweep import plan

LIVES = int(os.environ.get("KUSION_FAULTS_LIVES", "24"))
SEED = int(os.environ.get("KUSION_TEST_SEED", "1"))


APPROVED = LIVES // 4
SCENARIOS = ["approval"] * APPROVED + ["automatic"] * (LIVES - APPROVED)


def submit(sweep, scenario, count):
    pairs = plan(sweep.positions(scenario), SEED)[:count]
    return [sweep.executor.submit(sweep.live, *pair, scenario) for pair in pairs]


@pytest.fixture(scope="module")
def lives(sweep):
    """The lives, which take place side by side: their results to come."""
    return [*submit(sweep, "approval", APPROVED), *submit(sweep, "automatic", LIVES - APPROVED)]


@pytest.mark.parametrize("number", range(LIVES))
def test_life(lives, number):
    result = lives[number].result()
    again = (f"KUSION_TEST_SCENARIO={SCENARIOS[number]} "
             f"KUSION_TEST_LIFE='{result.kind} {result.position}' hack/soak faults")
    assert not result.violations, f"{result.violations}\nagain: {again}\n{result.log[-3000:]}"
