"""Pages of docs/ whose commands are typed: what a page shows below a command is in what is said, in
that order."""

from kusion_e2e.pages import marked


def type_block(shell, block):
    """Types the commands of a block, and compares; gives the commands."""
    typed = block.commands()
    for command, shown in typed:
        done = shell.type(command)
        said = [" ".join(line.split()) for line in done.text.splitlines()]
        assert done.code in (0, 4), (command, done.text)
        for line in (" ".join(one.split()) for one in shown if one.strip()):
            at = next((i for i, one in enumerate(said) if one.startswith(line)), None)
            assert at is not None, (command, line, done.text)
            said = said[at + 1:]
    return typed


def type_page(shell, page, test):
    """All blocks of the page that the test types."""
    return [one for block in marked(page, test) for one in type_block(shell, block)]
