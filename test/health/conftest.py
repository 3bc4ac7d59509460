"""Fixtures. hack/test health builds the driver."""

import json
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DRIVER = ROOT / "build/debug/bin/health_driver"


def module(name, version, folder):
    """The files of a folder of a Go module, as texts by their paths in it. It is fetched when the test runs, and never
    committed: its cases are others'. Only read, so it may be for a newer Go than there is."""
    script = '. hack/lib/common.sh; . hack/lib/go.sh; go_ensure; "$GO" mod download -json "$1@$2"'
    fetched = subprocess.run(["bash", "-c", script, "bash", name, version], cwd=ROOT, capture_output=True, text=True,
                             env={**os.environ, "GOWORK": "off", "GOFLAGS": "-mod=mod"})
    archive = json.loads(fetched.stdout or "{}").get("Zip")
    assert archive, fetched.stderr + fetched.stdout
    above = f"{name}@{version}/{folder}/"
    with zipfile.ZipFile(archive) as files:
        return {path.removeprefix(above): files.read(path).decode() for path in sorted(files.namelist())
                if path.startswith(above)}


@pytest.fixture(scope="session")
def judge():
    """What the driver says of each of a list of questions."""
    assert DRIVER.exists(), "build it: cmake --build --preset debug --target health_driver"

    def ask(questions):
        lines = "".join(json.dumps(one) + "\n" for one in questions)
        said = subprocess.run([DRIVER], input=lines, capture_output=True, text=True)
        assert said.returncode == 0, said.stderr
        answers = [json.loads(line) for line in said.stdout.splitlines()]
        assert len(answers) == len(questions)
        return answers
    return ask
