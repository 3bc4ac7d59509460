"""What is left out where time is short: hack/soak e2e sets KUSION_TEST_LONG, and runs all; hack/test all sets
KUSION_TEST_SAMPLE; else all is run but what takes long."""

import os

import pytest

LONG = bool(os.environ.get("KUSION_TEST_LONG"))
takes_long = pytest.mark.skipif(not LONG, reason="takes long: hack/soak e2e")
# A table of cases, of which a sample has the first and the last.
sampled = pytest.mark.sampled


def leave_out(config, items):
    """The cases that are not in the sample."""
    if LONG or not os.environ.get("KUSION_TEST_SAMPLE"):
        return
    tables = {}
    for item in items:
        if item.get_closest_marker("sampled"):
            tables.setdefault((item.path, item.cls, item.originalname), []).append(item)
    left_out = {id(item) for cases in tables.values() for item in cases[1:-1]}
    config.hook.pytest_deselected(items=[item for item in items if id(item) in left_out])
    items[:] = [item for item in items if id(item) not in left_out]
