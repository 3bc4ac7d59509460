"""hack/test itself, in a tree whose tests are made up: nothing is built, and all is over in no time. What it
must not do is pass where a part failed, wherever it runs."""

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("unit", "tsan", "layers", "e2e", "cli", "health", "terraform", "faults", "model", "node", "demos")
RUNS = ("unit", "tsan", "layers", "e2e", *(f"e2e-{n}" for n in range(2, 6)), "cli", "health", "terraform", "faults",
        *(f"faults-{n}" for n in range(2, 9)), "model", "node", "demos")
ALONE = ": once more, alone"

# A run: its name is that of its results. It says when it begins and ends, and takes its time. A file
# of its name in fail/ makes its test fail, in crash/ makes it end without results, in teardown/ makes it fail
# after its test.
RUN = """
run() { # NAME FILE KIND
    echo "$1 begins" | tee -a "$ROOT/order"
    sleep 0.2
    echo "$1 ends" | tee -a "$ROOT/order"
    [[ ! -e $ROOT/crash/$1 ]] || exit 139
    failure= test="file='test/x/test_y.py' classname='test.x.test_y.TestZ' name='${1%-again}[a.b]'"
    [[ ! -e $ROOT/fail/$1 ]] || failure="<failure message='$1 failed'/>" code=1
    [[ ! -e $ROOT/teardown/$1 ]] || failure="<error message='failed on teardown with x'/>" code=1
    if [[ $3 == ctest ]]; then
        test="name='${1%-again}/walk' status='run'" output="tests: 1 passed, 0 failed"
        if [[ -n ${code:-} ]]; then
            test="name='${1%-again}/walk' status='fail'" failure="<failure message=''/>" code=8
            output=$(cat "$ROOT/fail/$1")
        fi
        failure+="<system-out>$output</system-out>"
    fi
    echo "<testsuites><testsuite><testcase $test>$failure</testcase></testsuite></testsuites>" >"$2"
    exit "${code:-0}"
}
"""
FAILED = """
Suite walk, Test lower_ranks_go_first had failures:
    1. test/unit/engine/walk/test_rank.c:12  - the first: is 1, expected 2
tests: 0 passed, 1 failed
"""
WHY = "lower_ranks_go_first: test_rank.c:12: the first: is 1, expected 2"
STUBS = {
    "bin/ctest": RUN + """
printf 'ctest %s with %s\\n' "${*: -1}" "${KUSION_TEST_KUBECONFIG:-no plane}"
while [[ $1 != --output-junit ]]; do shift; done
run "$(basename "$2" .xml)" "$2" ctest
""",
    "bin/python": """
[[ $1 == -m ]] || exec /usr/bin/python3 "$@"
[[ -z ${KUSION_TURNS:-} || -e $ROOT/untaken ]] ||
    touch "$KUSION_TURNS/test_x.py" "$KUSION_TURNS/test_a.py::test[1]" "$KUSION_TURNS/test_b.py"
""" + RUN + """
printf 'ran %s with %s for %s\\n' "${*: -1}" "${KUSION_OPERATOR##*/build/}" "${KUSION_E2E_CLUSTER:-its own}"
while [[ $1 != --junitxml ]]; do shift; done
run "$(basename "$2" .xml)" "$2" pytest
""",
    "hack/deps": "", "hack/image": "",
    "CMakeLists.txt": """
layer(engine/walk USES engine/base)
layer(runtimes/io/http USES engine/base)
    layer(runtimes/io    USES runtimes/io/http)
program(operator controller USES runtimes/io)
""",
    "hack/controlplane": '[[ $1 != env ]] || echo export KUBECONFIG=/nowhere\n',
    "hack/node": "exit 1\n",
    "test/layers/check": "echo 'tests: 1 passed, 0 failed'\n",
    "hack/lib/build.sh": 'build_preset() { mkdir -p "$ROOT/build"; [[ ! -e $ROOT/unbuilt/$1 ]]; }\n',
    "hack/lib/go.sh": "GO=go\nfault_proxy_build() { :; }\n",
}


@pytest.fixture(name="tree")
def fixture_tree(tmp_path):
    (tmp_path / "hack/lib").mkdir(parents=True)
    for name in ("hack/test", "hack/lib/common.sh", "hack/lib/count.py", "hack/lib/again.py", "hack/lib/ctest.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    common = tmp_path / "hack/lib/common.sh"
    common.write_text(re.sub("^PYTHON=.*", 'PYTHON=$ROOT/bin/python', common.read_text(), flags=re.M))
    for name, text in STUBS.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/usr/bin/env bash\nROOT={tmp_path}\n{text}")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    for name in ("e2e/test_x.py", "faults/test_a.py", "faults/test_b.py", "unit/engine/base/test_x.c"):
        (tmp_path / "test" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "test" / name).touch()
    return tmp_path


def run(tree, *arguments):
    environment = {**os.environ, "PATH": f"{tree}/bin:{os.environ['PATH']}", "HOME": str(tree)}
    environment.pop("KUSION_TEST_KUBECONFIG", None)
    return subprocess.run([tree / "hack/test", *arguments], cwd=tree, env=environment, text=True,
                          capture_output=True, timeout=600, check=False)


def mark(tree, how, *names, output=FAILED):
    """output: of a suite."""
    (tree / how).mkdir(exist_ok=True)
    for name in names:
        (tree / how / name).write_text(output)


def failures(result):
    """Of each part."""
    return {part: int(count) for part, count in re.findall(r"^(\w+) +\d+ passed, (\d+) failed", result.stdout, re.M)
            if part in PARTS}


def test_passes_where_all_pass_and_prints_each_run_in_one_piece(tree):
    result = run(tree)
    assert result.returncode == 0, result
    assert failures(result) == dict.fromkeys(PARTS, 0)
    lines = re.findall(r"^(\S+) (begins|ends)$", result.stdout, re.M)
    assert lines == [(name, what) for name in RUNS for what in ("begins", "ends")]
    assert result.stdout.splitlines()[-1] == "23 passed, 0 failed"


def test_a_failure_in_any_run_is_counted(tree):
    mark(tree, "fail", *RUNS)
    result = run(tree)
    assert result.returncode == 1
    assert failures(result) == {**dict.fromkeys(PARTS, 1), "e2e": 5, "faults": 8}
    assert ALONE not in result.stdout  # so many are no accident


def test_what_failed_beside_others_is_run_once_more_alone(tree):
    mark(tree, "fail", "e2e-3", "cli", "faults-2", "model", "model-again")
    result = run(tree)
    assert result.returncode == 1 and failures(result) == {**dict.fromkeys(PARTS, 0), "model": 1}
    lines = result.stdout.splitlines()
    assert lines[-1] == "22 passed, 1 failed"
    assert "failed in build/model.xml:\ntest.x.test_y.TestZ::model[a.b]: model failed\n" in result.stdout
    alone = lines[lines.index(next(line for line in lines if line.endswith(ALONE))):]
    # Each in the environment of its part, of which the plane is gone.
    for name, preset in (("e2e-3", "release"), ("cli", "debug"), ("faults-2", "release")):
        at = alone.index(f"ran test/x/test_y.py::TestZ::{name}[a.b] with {preset}/bin/kusion-operator for its own")
        assert alone[at + 1:at + 3] == [f"{name}-again begins", f"{name}-again ends"]
        at = alone.index(f"failed beside others, passed alone, in build/{name}.xml:")
        assert alone[at + 1] == f"test.x.test_y.TestZ::{name}[a.b]: {name} failed"
        assert f"failed in build/{name}.xml" not in result.stdout
    (tree / "fail/model-again").unlink()
    assert run(tree).returncode == 0


def test_a_suite_that_failed_beside_others_is_run_once_more_alone(tree):
    mark(tree, "fail", "unit", "tsan", "tsan-again")
    result = run(tree)
    assert result.returncode == 1 and failures(result) == {**dict.fromkeys(PARTS, 0), "tsan": 1}
    assert f"failed beside others, passed alone, in build/unit.xml:\nunit/walk: {WHY}\n" in result.stdout
    assert f"failed in build/tsan.xml:\ntsan/walk: {WHY}\n" in result.stdout
    assert "failed in build/unit.xml" not in result.stdout
    # By its name, and with a plane.
    assert "ctest ^(unit/walk)$ with /nowhere\nunit-again begins\n" in result.stdout
    assert result.stdout.splitlines()[-1] == "22 passed, 1 failed"


def test_why_a_suite_failed_and_which_is_run_once_more(tmp_path):
    """By a real ctest. A crash, and what a sanitizer said, are never forgiven."""
    limit = re.search("^SUITE_LIMIT=([0-9]+)", (ROOT / "hack/test").read_text(), re.M)[1]
    assert f"\nLIMIT = {limit} " in (ROOT / "hack/lib/ctest.py").read_text()
    (tmp_path / "failed").write_text(FAILED)
    (tmp_path / "CMakeLists.txt").write_text("""
cmake_minimum_required(VERSION 3.20)
project(suites NONE)
enable_testing()
add_test(NAME good COMMAND echo "tests: 1 passed, 0 failed, 1 skipped")
add_test(NAME bad COMMAND sh -c "cat failed; exit 1")
add_test(NAME hangs COMMAND sh -c "echo begun; sleep 60")
add_test(NAME crashes COMMAND sh -c "kill -SEGV $$")
add_test(NAME races COMMAND sh -c "cat failed; echo WARNING: ThreadSanitizer: race; echo SUMMARY: ThreadSanitizer: race; exit 1")
add_test(NAME shifts COMMAND sh -c "echo walk.c:7:3: runtime error: shift; cat failed; exit 1")
add_test(NAME lacks COMMAND ./lacks)
""")
    for command in (["cmake", "."], ["ctest", "--timeout", "1", "--output-junit", "suites.xml"]):
        subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    file = tmp_path / "suites.xml"
    file.write_text(re.sub('(name="hangs" .* time=)"1[0-9.]*"', f'\\1"{limit}.01"', file.read_text()))

    def said(program, command):
        return subprocess.run([ROOT / "hack/lib" / program, command, file], check=True, text=True,
                              capture_output=True).stdout.splitlines()

    assert said("count.py", "ctest") == ["1 6 1"]
    *others, lacks = said("count.py", "failures")
    assert others == [f"bad: {WHY}", f"hangs: timed out after {limit} s; it said last: begun",
                      "crashes: ended without a result after 0 s; it said last: nothing",
                      "races: SUMMARY: ThreadSanitizer: race", "shifts: walk.c:7:3: runtime error: shift"]
    assert lacks.startswith("lacks: ended without a result") and "Unable to find executable" in lacks
    assert said("again.py", "failed") == ["bad"]


FAILING = """
import pytest

class TestX:
    @pytest.mark.parametrize("a", ["the same CA", "x::y.z[1]/é"])
    def test_a(self, a):
        assert 0

@pytest.fixture
def bad_before():
    assert 0

@pytest.fixture
def bad_after():
    yield
    assert 0

def test_b(bad_before):
    pass

def test_c(bad_after):
    pass
"""


def test_the_tests_that_failed_are_named_as_pytest_takes_them(tmp_path):
    def again(*arguments):
        return subprocess.run([ROOT / "hack/lib/again.py", *arguments], check=True, text=True,
                              capture_output=True).stdout.splitlines()

    def ran(name, *tests):
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", tmp_path, "-o",
                   "junit_family=xunit1", "--junitxml", name, *tests]
        said = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True, check=False)
        assert said.returncode in (0, 1), said
        return tmp_path / name

    file = tmp_path / "test/e2e/test_t.py"
    file.parent.mkdir(parents=True)
    file.write_text(FAILING)
    first = ran("first.xml", "test/e2e")
    failed = again("failed", first)
    assert [name.removeprefix("test/e2e/test_t.py::") for name in failed] == [
        "TestX::test_a[the same CA]", r"TestX::test_a[x::y.z[1]/\xe9]", "test_b"]
    file.write_text(FAILING.replace("assert 0", "assert a != 'the same CA'", 1))
    again("settle", first, ran("second.xml", *failed))
    assert again("failed", first) == [failed[0], failed[2]]


def test_what_is_not_run_once_more(tree):
    """What needs no other thing, what has no results, and what ended badly after a test that passed."""
    mark(tree, "fail", "layers", "health", "terraform")
    mark(tree, "crash", "cli", "unit")
    mark(tree, "teardown", "model")
    result = run(tree)
    assert result.returncode == 1 and sum(failures(result).values()) == 6, result
    assert ALONE not in result.stdout


def test_one_part_alone_is_run_once(tree):
    mark(tree, "fail", "model")
    result = run(tree, "model")
    assert result.returncode == 1 and ALONE not in result.stdout


def test_a_run_that_ends_without_results_is_a_failure(tree):
    mark(tree, "crash", "unit", "tsan", "e2e-3", "faults-2")
    result = run(tree)
    assert result.returncode == 1
    assert failures(result) == {**dict.fromkeys(PARTS, 0), "unit": 1, "tsan": 1, "e2e": 1, "faults": 1}


def test_a_file_that_no_run_took_is_a_failure(tree):
    mark(tree, "untaken")
    result = run(tree)
    assert result.returncode == 1 and failures(result) == {**dict.fromkeys(PARTS, 0), "e2e": 1, "faults": 1}
    assert "test_x.py was not run" in result.stderr and "test_a.py was not run" in result.stderr


def test_results_of_an_earlier_run_do_not_count(tree):
    assert run(tree, "unit").returncode == 0
    mark(tree, "crash", "unit")
    assert run(tree, "unit").returncode == 1


def test_what_runs_beside_ends_with_it(tree):
    """The script is ended while tsan runs."""
    stub = tree / "bin/ctest"
    stub.write_text(stub.read_text().replace("sleep 0.2", 'echo $$ >"$ROOT/$1.pid"\n[[ $1 == unit ]] || sleep 50'))
    with (tree / "hack/controlplane").open("a") as plane:
        plane.write('[[ "$1 $2" == "up unit-$PPID" ]] || exit 0\n'
                    'for i in {1..100}; do [[ ! -s $ROOT/tsan.pid ]] || break; sleep 0.1; done\n'
                    'kill -TERM $PPID\n')
    result = run(tree)
    assert result.returncode == 143, result
    process = Path(f"/proc/{(tree / 'tsan.pid').read_text().strip()}/cmdline")
    assert not process.exists() or str(tree) not in process.read_text()


def test_what_cannot_be_built_has_failed_and_the_rest_runs(tree):
    mark(tree, "unbuilt", "debug", "release")
    result = run(tree)
    assert result.returncode == 1
    assert {part for part, count in failures(result).items() if count} == {
        "unit", "layers", "e2e", "cli", "health", "terraform", "faults", "model", "demos"}


@pytest.fixture(name="units")
def fixture_units(tree):
    """Programs of unit tests that say what they run; a file of such a name in fail/ makes one fail."""
    for layer, suite in (("engine/walk", "walk_order"), ("controller", "hidden"), ("runtimes/io", "walk_file"),
                         ("runtimes/io/http", "walk_http")):
        source = tree / f"test/unit/{layer}/test_{suite}.c"
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(f"SUITE({suite}, TEST({suite}_holds), TEST({suite}_ends))\n")
        program = tree / f"build/debug/bin/test_{layer.replace('/', '_')}"
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"""#!/bin/sh
echo "{program.name} runs:$(printf ' %s' "$@" | sed 's/ $//')"
[ -e {tree}/fail/{program.name} ] && echo "tests: 1 passed, 2 failed" && exit 1
echo "tests: 3 passed, 0 failed"
""")
        program.chmod(0o755)
    return tree


@pytest.mark.parametrize("names, expected", [
    (["engine/walk"], ["test_engine_walk runs:"]),
    (["walk"], ["test_engine_walk runs:"]),
    (["controller"], ["test_controller runs:"]),
    (["walk_file"], ["test_runtimes_io runs: walk_file"]),
    (["walk_http_ends"], ["test_runtimes_io_http runs: walk_http_ends"]),
    (["io/http"], ["test_runtimes_io_http runs:"]),
    (["io"], ["test_runtimes_io runs:", "test_runtimes_io_http runs:"]),
    (["walk_order_ends", "hidden"], ["test_controller runs: hidden", "test_engine_walk runs: walk_order_ends"]),
    (["walk", "walk_order"], ["test_engine_walk runs:"]),
])
def test_units_are_run_by_folder_suite_and_test(units, names, expected):
    result = run(units, "unit", *names)
    assert result.returncode == 0, result
    assert sorted(re.findall("^test_.* runs:.*$", result.stdout, re.M)) == expected
    assert result.stdout.splitlines()[-1] == f"{3 * len(expected)} passed, 0 failed"


def test_the_units_of_what_changed_are_run(units):
    def git(*arguments):
        identity = ("-c", "user.name=x", "-c", "user.email=x@example.com")
        subprocess.run(["git", *identity, *arguments], cwd=units, check=True, capture_output=True)

    git("init", "--initial-branch", "main")
    git("add", ".")
    git("commit", "--message", "all")
    nothing = run(units, "changed")
    assert nothing.returncode == 1 and "nothing that has unit tests differs" in nothing.stderr
    git("switch", "--create", "work")
    (units / "engine/walk").mkdir(parents=True)
    (units / "engine/walk/walk.c").touch()
    (units / "engine/runtime.h").touch()  # of no layer
    git("add", ".")
    git("commit", "--message", "more")
    for name in ("io/test_walk_file.c", "io/http/test_walk_http.c"):
        with (units / "test/unit/runtimes" / name).open("a") as source:
            source.write("\n")
    result = run(units, "changed")
    assert result.returncode == 0, result
    assert re.findall("^test_.* runs:", result.stdout, re.M) == [
        "test_engine_walk runs:", "test_runtimes_io runs:", "test_runtimes_io_http runs:"]


def test_a_unit_that_fails_is_counted(units):
    mark(units, "fail", "test_runtimes_io")
    result = run(units, "unit", "walk", "io")
    assert result.returncode == 1 and result.stdout.splitlines()[-1] == "7 passed, 2 failed"


def test_a_name_that_no_unit_has_is_said(units):
    result = run(units, "unit", "walk", "wolk")
    assert result.returncode == 1 and "called 'wolk'" in result.stderr


def test_tsan_that_cannot_be_built_has_failed(tree):
    mark(tree, "unbuilt", "tsan")
    result = run(tree)
    assert result.returncode == 1 and failures(result) == {**dict.fromkeys(PARTS, 0), "tsan": 1}


def test_what_needs_a_node_follows_one_another_beside_others(tree):
    """There is one node at a time."""
    (tree / "hack/node").write_text("#!/bin/sh\nexit 0\n")
    result = run(tree)
    assert result.returncode == 0 and result.stdout.splitlines()[-1] == "25 passed, 0 failed", result
    order = (tree / "order").read_text().splitlines()
    assert order.index("node ends") < order.index("node-pod begins")
    assert order.index("node-pod ends") < order.index("demos-node begins")
    assert order.index("demos begins") < order.index("faults ends")


def test_an_image_that_cannot_be_built_fails_the_nodes_tests(tree):
    (tree / "hack/node").write_text("#!/bin/sh\nexit 0\n")
    (tree / "hack/image").write_text("#!/bin/sh\necho no base\nexit 1\n")
    result = run(tree)
    assert result.returncode == 1 and failures(result) == {**dict.fromkeys(PARTS, 0), "node": 1}
    assert "no base" in result.stdout
