"""README's first example, as it is typed: line by line, on a cluster that has the operator and nothing else."""

import re

import pytest

from kusion_e2e.paths import ROOT
from kusion_e2e.shell import type_in
from kusion_e2e.specs import Spec

TEAM = "team-a"


def section(title):
    return (ROOT / "README.md").read_text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def typed(text):
    """Each command with what is shown below it."""
    found, shown = [], None
    for line in text.splitlines():
        if line.startswith("    $ "):
            shown = []
            found.append((line[6:], shown))
        elif line.strip() and not line.startswith("    "):
            shown = None  # the next paragraph
        elif shown is not None and line.strip():
            shown.append(line[4:])
    return found


@pytest.fixture
def checkout(controlled, tmp_path):
    for name in ("examples", "hack"):
        (tmp_path / name).symlink_to(ROOT / name)
    [spec] = re.findall(r"```yaml\n(.*?)```", section("A Spec"), re.DOTALL)[:1]
    (tmp_path / "spec.yaml").write_text(spec)
    yield tmp_path
    Spec(controlled, TEAM, "web").delete()
    controlled.delete_namespace(TEAM)


def test_the_first_example(controlled, checkout):
    commands = typed(section("A Spec"))
    assert [command.split()[:2] for command, _ in commands] == [["kubectl", "apply"]] * 2 + [
        ["kubectl", "wait"], ["kubectl", "get"]]
    for command, shown in commands:
        done = type_in(controlled, command, checkout)
        assert done.returncode == 0, (command, done.stdout, done.stderr)

    def words(lines):  # ages differ
        return [re.split(r"\s{2,}", line)[:-1] for line in lines if line.strip()]

    assert words(done.stdout.splitlines()) == words(shown)
