"""A sample of the sweep: lives with one fault each, chosen by KUSION_TEST_SEED (else always the
same). KUSION_FAULTS_LIVES is their number. `hack/soak faults` goes through all."""

import os

import pytest

from kusion_faults.sweep import plan

LIVES = int(os.environ.get("KUSION_FAULTS_LIVES", "24"))
SEED = int(os.environ.get("KUSION_TEST_SEED", "1"))


@pytest.fixture(scope="module")
def lives(sweep):
    """The lives, which take place side by side: their results to come."""
    pairs = plan(sweep.positions(), SEED)[:LIVES]
    return [sweep.executor.submit(sweep.live, *pair) for pair in pairs]


@pytest.mark.parametrize("number", range(LIVES))
def test_life(lives, number):
    result = lives[number].result()
    again = f"KUSION_TEST_LIFE='{result.kind} {result.position}' hack/soak faults"
    assert not result.violations, f"{result.violations}\nagain: {again}\n{result.log[-3000:]}"
