"""Runs of pytest that share their files (test/e2e/kusion_e2e/turns.py): each test is run once."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUNS, FILES = 3, 6

CONFTEST = """
import os
import pytest
from kusion_e2e.turns import Turns

def pytest_configure(config):
    Turns.register(config, first=["test_4.py", "test_2.py"], split=["test_2.py"])

def tell(what):
    with open("told", "a") as file:
        file.write(f"{os.environ['RUN']} {what}\\n")

@pytest.fixture(scope="session")
def session():
    tell("session begins")
    yield
    tell("session ends")

@pytest.fixture(scope="module")
def module(session, request):
    tell(f"{request.module.__name__} begins")
    yield
    tell(f"{request.module.__name__} ends")
"""
TESTS = """
import time
import pytest
from conftest import tell

@pytest.mark.parametrize("n", [1, 2])
def test(module, n):
    time.sleep(0.05)
    tell(f"{__name__} {n}")
"""


@pytest.fixture(name="tree")
def fixture_tree(tmp_path):
    tree = tmp_path / "tests"
    tree.mkdir()
    (tmp_path / "turns").mkdir()
    (tree / "conftest.py").write_text(CONFTEST)
    for n in range(1, FILES + 1):
        (tree / f"test_{n}.py").write_text(TESTS)
    return tree


def turns(tree):
    return tree.parent / "turns"


def begin(tree, name):
    environment = {**os.environ, "RUN": name, "PYTHONPATH": str(ROOT / "test/e2e"),
                   "KUSION_TURNS": str(turns(tree))}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
               "--rootdir", tree, tree]
    return subprocess.Popen(command, cwd=tree, env=environment, text=True, stdout=subprocess.PIPE)


def told(tree):
    """What each run did, in its order."""
    lines = [line.split(" ", 1) for line in (tree / "told").read_text().splitlines()]
    return {name: [what for run, what in lines if run == name] for name, _ in lines}


def test_all_are_run_once(tree):
    runs = [begin(tree, f"run-{n}") for n in range(RUNS)]
    said = [run.communicate()[0] for run in runs]
    assert [run.returncode for run in runs] == [0] * RUNS, said
    done = [what for lines in told(tree).values() for what in lines]
    for n in range(1, FILES + 1):
        assert [done.count(f"test_{n} {i}") for i in (1, 2)] == [1, 1]
    counts = [int(count) for text in said for count in re.findall(r"(\d+) passed", text)]
    assert sum(counts) == 2 * FILES
    assert {path.name for path in turns(tree).iterdir()} == {
        "test_2.py::test[1]", "test_2.py::test[2]",
        *(f"test_{n}.py" for n in range(1, FILES + 1) if n != 2)}


def test_the_longest_come_first_and_fixtures_stay_as_long_as_they_are_needed(tree):
    run = begin(tree, "alone")
    assert run.wait() == 0, run.stdout.read()
    order = [4, 2, 1, 3, 5, 6]
    assert told(tree)["alone"] == ["session begins", *(
        f"test_{n} {what}" for n in order for what in ("begins", "1", "2", "ends")), "session ends"]


def test_a_run_with_a_failure_fails_and_goes_on(tree):
    (tree / "test_2.py").write_text("def test():\n    assert False\n")
    run = begin(tree, "alone")
    said, _ = run.communicate()
    assert run.returncode == 1 and f"1 failed, {2 * FILES - 2} passed" in said, said


def test_what_cannot_be_imported_is_an_error_of_each_run(tree):
    (tree / "test_2.py").write_text("import nothing_of_this_name\n")
    run = begin(tree, "alone")
    said, _ = run.communicate()
    assert run.returncode == 2 and "nothing_of_this_name" in said, said
    assert not (tree / "told").exists()
