"""What takes minutes: hack/soak e2e sets KUSION_E2E_LONG."""

import os

import pytest

LONG = bool(os.environ.get("KUSION_E2E_LONG"))
takes_minutes = pytest.mark.skipif(not LONG, reason="takes minutes: hack/soak e2e")
