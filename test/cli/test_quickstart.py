"""docs/quickstart.md, typed line by line; what it shows below a command is in what is said, in that order."""

import re

import pytest
from kusion_cli import Shell
from kusion_e2e.paths import ROOT

PAGE = (ROOT / "docs/quickstart.md").read_text()
TEAM = "team-a"


def typed():
    """Each command with the lines that the page shows below it."""
    found = []
    for line in re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL).splitlines():
        if line.startswith("    $ "):
            found.append((line[6:], []))
        elif line.startswith("    ") and found:
            found[-1][1].append(" ".join(line.split()))
    return found


@pytest.fixture
def newcomer(cluster, operator):
    with Shell(cluster, TEAM) as shell:
        (shell.folder / "examples").symlink_to(ROOT / "examples")
        [manifests] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
        (shell.folder / "web.yaml").write_text(manifests)
        yield shell
    cluster.delete_namespace(TEAM)


def test_the_quickstart(newcomer):
    commands = typed()
    assert len(commands) > 15
    for command, shown in commands:
        done = newcomer.type(command)
        said = [" ".join(line.split()) for line in done.text.splitlines()]
        assert done.code in (0, 4), (command, done.text)
        for line in shown:
            at = next((i for i, one in enumerate(said) if one.startswith(line)), None)
            assert at is not None, (command, line, done.text)
            said = said[at + 1:]
