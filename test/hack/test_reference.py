"""docs/reference.md is what hack/reference makes of the CRDs."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_is_that_of_the_crds():
    said = subprocess.run([ROOT / "hack/reference", "--check"], capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
