"""Whether the image's build finds its files: what the Dockerfile copies, and what that reads in
turn, must not be left out by .dockerignore. Nothing is built, so no daemon is needed."""

import pathlib
import re
import shlex

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def ignore_rules(text):
    """(is_exception, pattern) of each line, in order."""
    lines = [line.strip() for line in text.splitlines() if not line.startswith("#")]
    return [(line.startswith("!"), line.removeprefix("!").strip().strip("/")) for line in lines if line]


def pattern_regex(pattern):
    """The pattern of a path as Docker reads it: that of Go's filepath.Match, and ** for any folders.
    A pattern that names a folder holds for all that is in it."""
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    tokens = re.findall(r"\*\*/|\*\*|\*|\?|\[[^\]]*\]|\\?.", pattern)
    regex = "".join(parts.get(t) or (t if t.startswith("[") else re.escape(t.removeprefix("\\")))
                    for t in tokens)
    return re.compile(f"{regex}(?:/.*)?")


def is_ignored(path, rules):
    """The last rule that matches decides."""
    ignored = False
    for is_exception, pattern in rules:
        if pattern_regex(pattern).fullmatch(path):
            ignored = not is_exception
    return ignored


def copied(text):
    """The sources of all COPY and ADD that come from the checkout."""
    sources = []
    for line in re.sub(r"\\\n", " ", text).splitlines():
        words = shlex.split(line, comments=True)
        if words and words[0].upper() in ("COPY", "ADD") and not any(w.startswith("--from=") for w in words):
            sources += [w for w in words[1:-1] if not w.startswith("--")]
    return sources


def files_of(root, source):
    """Paths of the files that a source names: a file, a folder or a pattern."""
    found = sorted(root.glob(source.strip("/")))
    files = [f for path in found for f in ([path] if path.is_file() else path.rglob("*")) if f.is_file()]
    return [str(f.relative_to(root)) for f in files]


def left_out(root, dockerfile, rules):
    """The sources of which there is nothing, or not each file gets into the build. Of the whole
    checkout files may be left out: what it must hold is what CMakeLists.txt names."""
    missing = []
    for source in copied(dockerfile):
        files = files_of(root, source) if source.strip("./") else ["CMakeLists.txt"]
        if not files or any(is_ignored(f, rules) for f in files):
            missing.append(source)
    return missing


def sourced(path, text):
    """What a script of the checkout reads by the directives that tell shellcheck of it."""
    return re.findall(r"^# shellcheck source=(\S+)$", text, re.M) if path.startswith("hack/") else []


def named_by_cmake(text):
    files = re.findall(r"^include\((\S+)\)", text, re.M)
    folders = re.findall(r"^(?:layer\(|program\(\S+ )(\S+)", text, re.M)
    embedded = re.findall(r"^\s*embed\(\S+ \S+ (\S+)\)", text, re.M)
    return files + folders + embedded


def read(name):
    return (ROOT / name).read_text()


def test_each_source_of_the_dockerfile_is_let_in():
    assert left_out(ROOT, read("Dockerfile"), ignore_rules(read(".dockerignore"))) == []


def test_what_a_copied_script_sources_is_copied_before_the_checkout_is():
    sources = copied(read("Dockerfile"))
    needed = {s for path in sources if (ROOT / path).is_file() for s in sourced(path, read(path))}
    assert needed, "hack/libcurl sources something"
    assert needed <= set(sources)


def test_what_cmake_names_is_let_in():
    rules = ignore_rules(read(".dockerignore"))
    named = named_by_cmake(read("CMakeLists.txt"))
    assert {"cmake/layers.cmake", "engine/base", "controller", "docs/troubleshooting.md"} <= set(named)
    assert [n for n in [*named, "CMakeLists.txt", "CMakePresets.json"] if is_ignored(n, rules)] == []


@pytest.mark.parametrize("rules, path, expected", [
    ("", "a", False),
    ("*", "a/b", True),
    ("*\n!a", "a/b", False),
    ("*\n!a/b", "a/b", False),
    ("*\n!a/b", "a/bc", True),
    ("*\n!a/b", "a/c", True),
    ("!a\n*", "a", True),
    ("# a\n\n /b/ ", "b/c", True),
    ("a/*", "a/b/c", True),
    ("*.c", "a/b.c", False),
    ("**/*.c", "a/b.c", True),
    ("**/*.c", "b.c", True),
    ("a/**", "a/b/c", True),
    ("a?", "ab", True),
    ("a?", "a/", False),
    ("[a-c].md", "b.md", True),
    ("a.b", "axb", False),
])
def test_reads_rules_as_docker_does(rules, path, expected):
    assert is_ignored(path, ignore_rules(rules)) == expected


@pytest.mark.parametrize("line, expected", [
    ("COPY tool tool", []),
    ("COPY --chmod=755 tool lib /x/", ["lib"]),
    ("copy \\\n  lib/a \\\n  tool /x/", ["lib/a"]),
    ("ADD lib/* /x/", ["lib/*"]),
    ("COPY none /x", ["none"]),
    ("COPY . .", ["."]),
    ("COPY --from=build /lib /lib", []),
    ("# COPY lib /x", []),
])
def test_finds_what_is_left_out(tmp_path, line, expected):
    (tmp_path / "lib").mkdir()
    for name in ("tool", "lib/a", "lib/b"):
        (tmp_path / name).write_text("")
    assert left_out(tmp_path, line, ignore_rules("*\n!tool\n!lib/b")) == expected
