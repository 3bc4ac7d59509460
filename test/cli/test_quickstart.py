"""docs/quickstart.md, typed line by line."""

import re

import pytest
from kusion_cli import Shell
from kusion_e2e.paths import ROOT
from typed import commands, type_page

PAGE = (ROOT / "docs/quickstart.md").read_text()
TEAM = "team-a"


@pytest.fixture
def newcomer(cluster, operator):
    with Shell(cluster, TEAM) as shell:
        (shell.folder / "examples").symlink_to(ROOT / "examples")
        [manifests] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
        (shell.folder / "web.yaml").write_text(manifests)
        yield shell
    cluster.delete_namespace(TEAM)


def test_the_quickstart(newcomer):
    assert len(commands(PAGE)) > 15
    type_page(newcomer, PAGE)
