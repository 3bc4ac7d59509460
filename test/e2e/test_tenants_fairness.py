"""A tenant who keeps the operator busy for ever, and another one who is served all the same. How long that takes
is measured by `hack/bench fairness`."""

import pytest

from kusion_e2e import starvation
from kusion_e2e.long import sampled
from kusion_e2e.wait import PATIENCE

PROBES = 3


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
@sampled
def test_another_tenant_does_not_wait(other, burden):
    """No Spec of the burden gets Ready: who had to wait for one would wait for ever."""
    burden.begin()
    for _ in range(PROBES):
        assert other.probe(PATIENCE) < PATIENCE
    assert not burden.ready()
