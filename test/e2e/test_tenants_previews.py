"""A tenant who creates Previews without end, each with resources of its own. The operator has exactly
what the chart gives to it."""

import time
from collections import Counter

import pytest

from kusion_e2e.audit import WRITTEN
from kusion_e2e.chart import NAME, OWN
from kusion_e2e.kinds import new_release, path_of
from kusion_e2e.long import takes_long
from kusion_e2e.rights import account
from kusion_e2e.specs import config_map
from kusion_e2e.tenancy import DEPLOYER
from kusion_e2e.wait import eventually

OPERATOR = account(OWN, NAME)


@pytest.fixture(scope="module")
def tenant(tenancy):
    made = tenancy.tenant("previews").allow("", "configmaps")
    tenancy.run("--log-level=info")
    return made


def preview(tenant, name, spec, things, **fields):
    body = new_release(name, specRef={"name": spec}, operation="Preview", resources=things,
                       serviceAccountName=DEPLOYER, **fields)
    tenant.api.create(path_of("Release", tenant.namespace), body).must()


def wait_until_ended(tenant, names):
    def ended():
        for name in names:
            answer = tenant.api.get(path_of("Release", tenant.namespace, name))
            phase = answer.object["status"].get("phase") if answer.ok else "gone"
            assert phase in ("succeeded", "failed", "gone"), (name, phase)
        return True

    eventually(ended, 600, every=1)


@takes_long
def test_one_that_waits_is_not_read_again(tenancy, tenant):
    names = [f"waits-{number}" for number in range(10)]
    things = [config_map(f"c-{number}", tenant.namespace) for number in range(1500)]
    since, begun = tenancy.audit.now(), time.monotonic()
    for name in names:
        preview(tenant, name, "waits", things)
    wait_until_ended(tenant, names)
    took = time.monotonic() - begun
    time.sleep(WRITTEN)
    reads = Counter(one.name for one in tenancy.audit.entries(since, OPERATOR)
                    if one.verb == "get" and one.resource == "releases")
    assert took > 10, "they did not wait"
    assert max(reads.values()) <= 6, reads
