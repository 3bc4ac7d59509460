"""A sample of the sweep: lives with one fault each, chosen by KUSION_TEST_SEED (else always the
same). KUSION_FAULTS_LIVES is their number; every fourth waits for approvals, and every twelfth is `remote`.
`hack/soak faults` goes through all, and through the other scenarios."""

import os

import pytest

from kusion_faults.sweep import plan

LIVES = int(os.environ.get("KUSION_FAULTS_LIVES", "24"))
SEED = int(os.environ.get("KUSION_TEST_SEED", "1"))


COUNTS = {"approval": LIVES // 4, "remote": LIVES // 12}
COUNTS["automatic"] = LIVES - sum(COUNTS.values())
SCENARIOS = [scenario for scenario, count in COUNTS.items() for _ in range(count)]


def submit(sweep, scenario, count):
    pairs = plan(sweep.positions(scenario), SEED)[:count]
    return [sweep.executor.submit(sweep.live, *pair, scenario) for pair in pairs]


@pytest.fixture(scope="module")
def lives(sweep):
    """The lives, which take place side by side: their results to come."""
    return [life for scenario, count in COUNTS.items() if count for life in submit(sweep, scenario, count)]


@pytest.mark.parametrize("number", range(LIVES))
def test_life(lives, number):
    result = lives[number].result()
    again = (f"KUSION_TEST_SCENARIO={SCENARIOS[number]} "
             f"KUSION_TEST_LIFE='{result.kind} {result.position}' hack/soak faults")
    assert not result.violations, f"{result.violations}\nagain: {again}\n{result.log[-3000:]}"
