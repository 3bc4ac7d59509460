"""Sessions as people have them: golden/NAME.txt has what is typed and what is said, as a person reads
it. To write what is said anew, after a message has changed on purpose: KUSION_GOLDEN=write hack/test
cli; then read the diff."""

import pytest


@pytest.mark.parametrize("name", ["first", "approval", "stuck", "mistakes", "offline"])
def test_session(shell, name):
    shell.follow_script(name)


def test_session_on_a_terminal(shell):
    shell.follow_script("terminal", is_terminal=True)


def test_session_of_an_account_without_rights(poor_shell):
    poor_shell.follow_script("rights")
