"""The pages for users, and the commands on them.

A block of commands is fenced as `sh`, or as `console` where it also shows what is said. A comment before it names
the test that types it, `<!-- run by test/e2e/test_x.py -->`, or says why none does, `<!-- not run: … -->`."""

import re
from dataclasses import dataclass
from pathlib import Path

from kusion_e2e.paths import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"(?P<mark>^ *<!-- [^\n]* -->\n\s*?)?^(?P<indent> *)```(?P<language>\S*)\n(?P<text>.*?)^(?P=indent)```$",
                   re.DOTALL | re.MULTILINE)


@dataclass
class Block:
    line: int
    mark: str  # what the comment before it says, or nothing
    language: str
    text: str

    @property
    def run_by(self):
        return self.mark.removeprefix("run by ") if self.mark.startswith("run by ") else None

    def commands(self):
        """Each command of a `console` with the lines that are shown below it."""
        found = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
        return found


def blocks(path):
    """All fenced blocks of a page, in their order."""
    page = path.read_text()
    found = []
    for match in FENCE.finditer(page):
        indent = match["indent"]
        text = re.sub(rf"^{indent}", "", match["text"], flags=re.MULTILINE)
        mark = (match["mark"] or "").strip().removeprefix("<!-- ").removesuffix(" -->")
        found.append(Block(page[:match.start("language")].count("\n") + 1, mark, match["language"], text))
    return found


def marked(page, test):
    """The blocks of a page of docs/, or README.md, that are marked as typed by a test, which is its __file__."""
    path = ROOT / page if page == "README.md" else ROOT / "docs" / page
    name = str(Path(test).resolve().relative_to(ROOT))
    return [block for block in blocks(path) if block.run_by == name]


def snippets(page, test):
    """Their texts."""
    return [block.text for block in marked(page, test)]
