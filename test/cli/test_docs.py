"""docs/cli.md has a place for each command, and calls only commands that there are."""

import re

from kusion_e2e.paths import ROOT

PAGE = (ROOT / "docs/cli.md").read_text()


def commands():
    return re.findall(r'\.name = "([a-z][a-z ]*)"', (ROOT / "cli/commands.c").read_text())


def test_each_command_has_a_heading():
    headings = re.findall(r"^### (.*)", PAGE, re.MULTILINE)
    named = {name for heading in headings for name in re.findall(r"`([a-z ]+)`", heading)}
    assert set(commands()) == named


def test_what_is_called_is_there():
    known = set(commands())
    for words in re.findall(r"kubectl kusion ((?:[a-z]+ ?)+)", PAGE):
        word = words.split()
        assert word[0] in known or " ".join(word[:2]) in known, words
