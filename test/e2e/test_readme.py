"""README.md's first example, as it is typed: line by line, on a cluster that has the operator and nothing else."""

import re

import pytest

from kusion_e2e.pages import blocks, marked
from kusion_e2e.paths import ROOT
from kusion_e2e.shell import type_in
from kusion_e2e.specs import Spec
from kusion_e2e.state_backend import need_objects

TEAM = "team-a"


@pytest.fixture
def checkout(controlled, tmp_path):
    for name in ("examples", "hack"):
        (tmp_path / name).symlink_to(ROOT / name)
    [spec] = [block.text for block in blocks(ROOT / "README.md") if block.language == "yaml"]
    (tmp_path / "spec.yaml").write_text(spec)
    yield tmp_path
    Spec(controlled, TEAM, "web").delete()
    controlled.delete_namespace(TEAM)


def test_the_first_example(controlled, checkout):
    need_objects()
    [block] = marked("README.md", __file__)
    commands = block.commands()
    assert [command.split()[:2] for command, _ in commands] == [["kubectl", "apply"]] * 2 + [
        ["kubectl", "wait"], ["kubectl", "get"]]
    for command, shown in commands:
        done = type_in(controlled, command, checkout)
        assert done.returncode == 0, (command, done.stdout, done.stderr)

    def words(lines):  # ages differ
        return [re.split(r"\s{2,}", line)[:-1] for line in lines if line.strip()]

    assert words(done.stdout.splitlines()) == words(shown)
