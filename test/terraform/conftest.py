"""Fixtures. hack/test terraform builds what they need."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from kusion_terraform.alone import Alone  # noqa: E402
from kusion_terraform.paths import DRIVER, ROOT  # noqa: E402
from kusion_terraform.play import Stage  # noqa: E402


@pytest.fixture(scope="session")
def mirror():
    made = subprocess.run([ROOT / "hack/providers", "test"], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"no Terraform providers: {made.stderr.strip().splitlines()[-1]}")
    assert DRIVER.exists(), "build it: cmake --build --preset debug --target terraform_driver"
    return made.stdout.strip()


@pytest.fixture(scope="module")
def alone(mirror):
    stage = Alone(mirror)
    yield stage
    assert stage.close() == 0  # of the driver, which runs under sanitizers


def tofu_path():
    """OpenTofu's program, or where it would be."""
    script = ". hack/lib/common.sh; . hack/lib/go.sh; . hack/lib/tools.sh; tool_path tofu"
    return Path(subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=True).stdout)


@pytest.fixture(scope="module")
def stage(mirror):
    """With OpenTofu, where it is built already: that takes minutes."""
    tofu = tofu_path()
    if not tofu.exists():
        pytest.skip("no OpenTofu: hack/controlplane tools tofu builds it, in about 4 min")
    stage = Stage(mirror, tofu)
    yield stage
    assert stage.close() == 0
