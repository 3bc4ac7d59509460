"""Pages of docs/ whose commands are typed: what a page shows below a command is in what is said, in
that order."""

import re


def commands(page):
    """Each command of the page with the lines below it."""
    found = []
    for line in re.sub(r"```.*?```", "", page, flags=re.DOTALL).splitlines():
        if line.startswith("    $ "):
            found.append((line[6:], []))
        elif line.startswith("    ") and found:
            found[-1][1].append(" ".join(line.split()))
    return found


def type_page(shell, page):
    for command, shown in commands(page):
        done = shell.type(command)
        said = [" ".join(line.split()) for line in done.text.splitlines()]
        assert done.code in (0, 4), (command, done.text)
        for line in shown:
            at = next((i for i, one in enumerate(said) if one.startswith(line)), None)
            assert at is not None, (command, line, done.text)
            said = said[at + 1:]
