"""A tenant who keeps the operator busy, and another one who does not wait for it: `hack/bench
fairness` has the full numbers. How long a Spec takes is compared with what it takes alone, in the same
test."""

import pytest

from kusion_e2e import starvation

PROBES = 5
BEYOND = 1.0  # seconds more than alone


@pytest.fixture(scope="module")
def other(tenancy):
    tenancy.run()
    made = starvation.Other(tenancy)
    made.probe()
    return made


BURDENS = {
    "unhealthy": lambda tenancy: starvation.Unhealthy(tenancy, 36),
    "large": lambda tenancy: starvation.Large(tenancy, 4),
    "failing": lambda tenancy: starvation.Failing(tenancy, 60),
    "hanging": lambda tenancy: starvation.Hanging(tenancy, 20),
}


@pytest.fixture
def burden(request, tenancy, other):
    made = BURDENS[request.param](tenancy)
    yield made
    made.end()


@pytest.mark.parametrize("burden", list(BURDENS), indirect=True)
def test_another_tenant_does_not_wait(other, burden):
    """One Spec of all may: others use the machine, too."""
    alone = sorted(other.probe() for _ in range(PROBES))
    burden.begin()
    beside = sorted(other.probe() for _ in range(PROBES))
    assert beside[-2] <= alone[-2] + BEYOND, (alone, beside)
