"""Each command on a page for users is typed by a test, or the page's source says why not."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "e2e"))
from kusion_e2e.pages import PAGES, blocks  # noqa: E402

COMMANDS = ("sh", "console")
OTHERS = ("ini", "json", "lua", "mermaid", "nginx", "python", "sql", "text", "yaml")
ids = [path.name for path in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_blocks_are_fenced_with_their_language(page):
    for block in blocks(page):
        assert block.language in COMMANDS + OTHERS, f"{page.name}:{block.line}: ```{block.language}"
    outside = re.sub(r"^( *)```.*?^\1```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert "```" not in outside
    assert not re.findall(r"^    (?:\$|kubectl|helm|hack/)\s.*", outside, re.MULTILINE), "commands that are only indented"


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_commands_are_run_or_marked(page):
    for block in blocks(page):
        where = f"{page.name}:{block.line}"
        if block.language not in COMMANDS:
            assert not block.mark.startswith(("run by", "not run")), where
        elif block.run_by:
            test = ROOT / block.run_by
            assert test.is_file() and page.name in test.read_text(), f"{where}: {block.run_by} does not type it"
        else:
            assert re.fullmatch(r"not run: .{10,}", block.mark), f"{where}: which test types it, or why does none?"
        if block.language == "console":
            assert block.text.startswith("$ "), where
