"""hack/test itself, in a tree whose tests are made up: nothing is built, and all is over in no time. What it
must not do is pass where a part failed, wherever it runs."""

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("unit", "tsan", "layers", "e2e", "cli", "health", "terraform", "faults", "model", "demos", "node")
RUNS = ("unit", "tsan", "layers", "e2e", *(f"e2e-{n}" for n in range(2, 6)), "cli", "health", "terraform", "faults",
        *(f"faults-{n}" for n in range(2, 9)), "model", "demos", "node")

# A run: its name is that of its results. It says when it begins and ends, and takes its time. A file
# of its name in fail/ makes it fail, in crash/ makes it end without results.
RUN = """
run() { # NAME FILE KIND
    echo "$1 begins"
    sleep 0.2
    echo "$1 ends"
    [[ ! -e $ROOT/crash/$1 ]] || exit 139
    status=run failure=
    [[ ! -e $ROOT/fail/$1 ]] || status=fail failure='<failure/>' code=1
    [[ $3 == ctest ]] && failure="<system-out>tests: 1 passed, ${code:-0} failed</system-out>"
    echo "<testsuites><testsuite><testcase name='x' status='$status'>$failure</testcase></testsuite></testsuites>" >"$2"
    exit "${code:-0}"
}
"""
STUBS = {
    "bin/ctest": RUN + 'while [[ $1 != --output-junit ]]; do shift; done\nrun "$(basename "$2" .xml)" "$2" ctest\n',
    "bin/python": """
[[ $1 == -m ]] || exec /usr/bin/python3 "$@"
[[ -z ${KUSION_TURNS:-} || -e $ROOT/untaken ]] ||
    touch "$KUSION_TURNS/test_x.py" "$KUSION_TURNS/test_a.py::test[1]" "$KUSION_TURNS/test_b.py"
""" + RUN + 'while [[ $1 != --junitxml ]]; do shift; done\nrun "$(basename "$2" .xml)" "$2" pytest\n',
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
    for name in ("hack/test", "hack/lib/common.sh", "hack/lib/count.py"):
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
                          capture_output=True, timeout=60, check=False)


def mark(tree, how, *names):
    (tree / how).mkdir()
    for name in names:
        (tree / how / name).touch()


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


def test_an_image_that_cannot_be_built_fails_the_nodes_tests(tree):
    (tree / "hack/node").write_text("#!/bin/sh\nexit 0\n")
    (tree / "hack/image").write_text("#!/bin/sh\necho no base\nexit 1\n")
    result = run(tree)
    assert result.returncode == 1 and failures(result) == {**dict.fromkeys(PARTS, 0), "node": 1}
    assert "no base" in result.stdout
