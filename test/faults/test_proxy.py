"""The proxy itself: its own tests, and what Go says of its source."""

import os
import subprocess

import pytest

from kusion_faults.paths import ROOT

SOURCE = ROOT / "test" / "faults" / "proxy"
GO = os.environ.get("GO", "go")


@pytest.mark.parametrize("command", [
    ("test", "./..."), ("vet", "./...")], ids=["test", "vet"])
def test_go(command):
    run = subprocess.run([GO, "-C", SOURCE, *command], capture_output=True, text=True,
                         env={**os.environ, "GOWORK": "off"})
    assert run.returncode == 0, run.stdout + run.stderr
