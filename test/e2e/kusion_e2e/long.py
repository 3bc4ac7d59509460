"""What takes minutes: hack/soak e2e sets KUSION_TEST_LONG."""

import os

import pytest

LONG = bool(os.environ.get("KUSION_TEST_LONG"))
takes_minutes = pytest.mark.skipif(not LONG, reason="takes minutes: hack/soak e2e")
