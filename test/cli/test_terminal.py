"""On a terminal: pages that are redrawn, questions, colours."""

import re

from kusion_cli import STYLE, screen

CURSOR_UP = re.compile(r"\x1b\[\d+A")
DRAWING = re.compile(r"\x1b\[(\d+A|K|J)|\r")


def test_a_page_is_redrawn(shell):
    said = shell.on_terminal("kubectl kusion apply -f stuck.yaml")
    last = screen(said.must(code=1))
    assert CURSOR_UP.search(said.text), said.text
    assert f"{shell.namespace}/stuck   ✗ HealthCheckFailed" in last, last
    assert last.count("Deployment/stuck ") == 1, last
    assert "next:  next try" in last and "ctrl-c" not in last, last


def test_a_page_is_no_wider_than_the_terminal(shell):
    said = shell.on_terminal("kubectl kusion apply -f stuck.yaml", columns=50)
    frames = CURSOR_UP.split(said.text)[:-1]
    lines = [line for frame in frames for line in STYLE.sub("", DRAWING.sub("", frame)).split("\n")]
    assert frames and max(map(len, lines[1:])) <= 50, lines


def test_questions_are_answered(shell):
    shell.type("kubectl kusion apply -f manual.yaml --watch").must(code=4)
    assert "approved" not in shell.on_terminal("kubectl kusion approve manual", "no").must(code=1)
    said = shell.on_terminal("kubectl kusion approve manual", "yes").must()
    assert "Approve as " in said and "approved " in said and "succeeded: 1 created" in said, said
    said = shell.on_terminal("kubectl kusion destroy manual", "other").must(code=1)
    assert "Type the name: manual" in said and "revision" not in said, said
    said = shell.on_terminal("kubectl kusion destroy manual", "manual").must(code=4)
    assert "awaitingApproval: 1 to delete" in said, said
    said = shell.on_terminal("kubectl kusion approve manual", "reject not today").must()
    assert "rejected " in said, said
    assert "not today" in shell.type("kubectl kusion history manual").must()


def test_the_plan_that_changed_is_shown_again(shell):
    """Another plan than the one on the page is not approved."""
    shell.type("kubectl kusion apply -f manual.yaml --watch").must(code=4)
    other = "sed s/blue/green/ manual.yaml | kubectl kusion apply -f - --watch >/dev/null"
    edit = f"(sleep 1; {other}; touch changed) & "
    said = shell.on_terminal(edit + "kubectl kusion approve manual",
                             # the first answer comes when the plan is another one
                             *Answers(shell, "changed"))
    text = said.must()
    assert "The plan is not the one you saw" in text and '"green"' in text, text
    assert shell.type("kubectl get configmap manual -o jsonpath={.data.color}").must() == "green"


class Answers:
    """yes, and yes again; the first one is given when the file is there."""

    def __init__(self, shell, name):
        self.file = shell.folder / name

    def __iter__(self):
        return iter([Late(self.file), "yes"])


class Late(str):
    def __new__(cls, file):
        self = super().__new__(cls, "yes")
        self.file = file
        return self

    def encode(self):
        from kusion_e2e.wait import eventually
        eventually(self.file.exists)
        return b"yes"


def test_colours_are_asked_for(shell):
    shell.type("kubectl kusion apply -f web.yaml --watch").must()
    assert "\x1b" not in shell.type("kubectl kusion status").must()
    assert "\x1b[32m" in shell.type("kubectl kusion status --color always").must()
    assert "\x1b[32m" in shell.on_terminal("kubectl kusion status").must()
    assert "\x1b" not in shell.on_terminal("NO_COLOR=1 kubectl kusion status").must()
    assert "\x1b" not in shell.on_terminal("kubectl kusion status --color never").must()
