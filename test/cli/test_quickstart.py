"""docs/quickstart.md, typed line by line. docs/tenancy.md has its first line, too."""

import re

import pytest
from kusion_cli import Shell
from kusion_e2e.pages import snippets
from kusion_e2e.paths import ROOT
from typed import type_page

PAGE = ROOT / "docs/quickstart.md"
TEAM = "team-a"


@pytest.fixture
def newcomer(cluster, operator):
    with Shell(cluster, TEAM) as shell:
        (shell.folder / "examples").symlink_to(ROOT / "examples")
        [manifests] = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
        (shell.folder / "web.yaml").write_text(manifests)
        yield shell
    cluster.delete_namespace(TEAM)


def test_the_quickstart(newcomer):
    typed = type_page(newcomer, "quickstart.md", __file__)
    assert len(typed) > 15
    assert [f"{typed[0][0]}\n"] == snippets("tenancy.md", __file__)
