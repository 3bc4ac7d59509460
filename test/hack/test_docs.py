"""The pages for developers say what the code says: docs/limits.md its numbers, docs/words.md its headers,
docs/debugging.md its variables. Each alert has a runbook, and links lead somewhere."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CODE = ("controller", "engine", "runtimes")
FLAGS = "controller/flags.c"

UNITS = {"": 1, "bytes": 1, "flags": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30,
         "ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000}
FLAG_UNITS = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "s": 1000, "m": 60_000, "h": 3_600_000}

# Constants whose names say that they are bounds, and that no tenant and no operator ever meets.
INTERNAL = {
    "engine/value/redaction.c": {"MOST_HINTS"}, "engine/value/redaction_find.c": {"MOST_NUMBERS"},
    "engine/yaml/yaml_text.c": {"MAX_DIRECTIVES"}, "engine/yaml/yaml_scalar.c": {"MOST_EXPONENT"},
    "runtimes/http/exchange.c": {"MOST_HEADERS"}, "runtimes/http/plan.c": {"MOST_STEPS"}, "engine/operation/redact.c": {"MOST_ROUNDS", "MOST_VALUES"},
    "engine/spec/dependencies.c": {"MOST_COMPARED"}, "controller/reconcile/approval.c": {"MOST_READ"},
    "controller/reconcile/hold_begin.c": {"MOST_ENDED"}, "controller/reconcile/run/hold_revision.c": {"MOST_NAMED"},
    "controller/reconcile/suspects.c": {"MOST_DOUBLED"}, "controller/reconcile/run/witness.c": {"MOST_READ"},
    "runtimes/file/names.c": {"MAX_NAME"},
    "runtimes/io/process.c": {"MOST_READS"}, "runtimes/io/sandbox_program.c": {"MOST_HEADERS"},
    "runtimes/kubernetes/client/api_error.c": {"MAX_CAUSES"}, "runtimes/kubernetes/client/lease.c": {"MAX_ROUNDS"},
    "runtimes/kubernetes/client/group_list.c": {"MOST_KEPT"},
    "runtimes/kubernetes/client/watch.c": {"MAX_FAILURES"}, "runtimes/kubernetes/store/documents_object.c": {"MAX_CONFLICTS"},
    "runtimes/lua/machine.c": {"MOST_CALLS"}, "runtimes/lua/pattern.c": {"MOST_NESTED"},
    "runtimes/kubernetes/objects/projection_private.h": {"MAX_GUESSED"}, "runtimes/terraform/plugin/folder.c": {"MOST_LEVELS"},
    "runtimes/terraform/plugin/plugin.c": {"MOST_ENVIRONMENT"}, "runtimes/terraform/replace.c": {"MOST_NAMED"},
    "runtimes/terraform/schema/schema.c": {"MOST_LEVELS"}, "runtimes/terraform/source.c": {"MOST_PARTS"},
    "runtimes/webdav/objects.c": {"MOST_FOLDERS"}, "runtimes/terraform/tfstate/find.c": {"MOST_COMPARISONS"},
    "runtimes/terraform/version.c": {"MOST_DIGITS"},
}
BOUND = re.compile(r"(LIMIT|MOST|MAX|QUOTA|LOOKS|PREVIEWS|REPORT)_[A-Z0-9_]+")
NO_BOUND = {"REPORT_SUMMARY_SIZE", "REPORT_RELEASE_SUMMARY_SIZE"}  # of buffers


def rows(page, columns):
    """The cells of each row of the page's tables with so many columns."""
    for line in (ROOT / "docs" / page).read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == columns:
            yield cells


def defines(path):
    text = (ROOT / path).read_text().replace("\\\n", " ")
    return {name: re.sub(r"/\*.*", "", value).strip()
            for name, value in re.findall(r"^ *#define ([A-Z0-9_]+)[ \t]+(.+)$", text, re.M)}


def number(expression):
    expression = re.sub(r"U?INT64_C(\(\d+\))|\bsize_t\b|(\d)[uL]+\b", r"\1\2", expression)
    assert re.fullmatch(r"[\d\s()*+<-]+", expression), f"not a number: {expression}"
    return eval(expression)  # digits and operators alone


def flags():
    text = (ROOT / FLAGS).read_text()
    return {f"--{name}": (kind, value) for name, kind, value in
            re.findall(r'FLAG\("([a-z0-9-]+)", FLAG_([A-Z]+), \w+, (NULL|"[^"]*"),', text)}


def of_flag(value):
    digits, unit = re.fullmatch(r"(\d+)(\w*)", value.strip('"')).groups()
    return int(digits) * FLAG_UNITS[unit]


def quantities(cell):
    """The numbers of a cell, "30 s; 5 min", in the units of the code; "1/4" is 4."""
    found = re.findall(r"(?:1/)?(\d[\d,]*) ?([A-Za-z]*)", cell)
    for _, unit in found:
        assert unit in UNITS, f"docs/limits.md, \"{cell}\": \"{unit}\" is none of UNITS here"
    return [int(digits.replace(",", "")) * UNITS[unit] for digits, unit in found]


def limits():
    """(what, name, file, number) of each constant and flag on the page; number None: the page has none."""
    for what, how_much, _, where, _ in rows("limits.md", 5):
        names = [(name, path) for group, path in re.findall(r"((?:`[A-Za-z0-9_-]+`(?:, )?)+) in `([^`]+)`", where)
                 for name in re.findall(r"`([^`]+)`", group)]
        numbers = quantities(how_much) if how_much else [None] * len(names)
        assert not names or len(names) == len(numbers), f"{what}: {how_much}: {where}"
        yield from ((what, name, path, n) for (name, path), n in zip(names, numbers))


LIMITS = list(limits())


def test_limits_are_there():
    assert len(LIMITS) > 100


@pytest.mark.parametrize("what, name, path, told", LIMITS, ids=[f"{path}-{name}" for _, name, path, _ in LIMITS])
def test_limit_is_that_of_the_code(what, name, path, told):
    if name.startswith("--"):
        kind, fallback = flags()[name]
        actual = None if fallback == "NULL" else of_flag(fallback)
    else:
        actual = number(defines(path)[name])
    assert told == actual, f"docs/limits.md, \"{what}\": {name} in {path} is {actual}"


def test_limits_have_each_bound():
    told = {(name, path) for _, name, path, _ in LIMITS}
    bounds = {(name, str(file.relative_to(ROOT))) for folder in CODE for file in (ROOT / folder).rglob("*.[ch]")
              for name in re.findall(r"^ *#define ([A-Z0-9_]+)[ \t]", file.read_text(), re.M)
              if BOUND.fullmatch(name) and name not in NO_BOUND and not name.endswith("_H")}
    internal = {(name, path) for path, names in INTERNAL.items() for name in names}
    assert bounds - internal - told == set(), "not in docs/limits.md, nor INTERNAL here"
    assert internal - bounds == set(), "INTERNAL here, and gone from the code"


def test_limits_have_each_flag_with_a_bound():
    told = {name for _, name, _, _ in LIMITS}
    bounds = {name for name, (kind, _) in flags().items() if kind in ("COUNT", "SIZE", "DURATION")}
    assert bounds - told == set()


def test_reasons_of_limits_are_known():
    known = (ROOT / "controller/reconcile/status/reason.def").read_text()
    for what, _, _, _, beyond in rows("limits.md", 5):
        for reason in re.findall(r"`([A-Z][A-Za-z]+)`", beyond):
            assert f"REASON({reason}," in known, f"{what}: {reason}"


def test_words_are_in_their_headers():
    seen = 0
    for words, _, where in rows("words.md", 3):
        headers = re.findall(r"`([^`]+\.h)`", where)
        text = re.sub(r"\s*\n \*\s*|\s+", " ", " ".join((ROOT / header).read_text() for header in headers)).lower()
        for word in words.split(", ") if headers else ():
            seen += 1
            assert re.search(word.lower().removeprefix("recorded ").replace(" ", "[ _]"), text), f"{word}: {headers}"
    assert seen > 40


def tree_variables():
    found = subprocess.run(["git", "grep", "--untracked", "-hoE", "KUSION_[A-Z0-9_]+", "--", ".", ":!docs/debugging.md"], cwd=ROOT,
                           capture_output=True, text=True, check=True).stdout
    return set(found.split())


def test_variables_are_those_of_the_tree():
    told = {name for cells in rows("debugging.md", 3) for name in re.findall(r"`(KUSION_[A-Z0-9_]+)`", cells[0])}
    assert tree_variables() - told == set(), "not in the tables of docs/debugging.md"
    assert told - tree_variables() == set(), "in docs/debugging.md, and gone from the tree"


def test_the_provider_of_the_page_is_the_example():
    program = (ROOT / "examples/provider/terraform-provider-host").read_text()
    page = (ROOT / "docs/providers-of-your-own.md").read_text()
    assert f"You write forty lines, and the imports:\n\n```python\n{program}```" in page
    assert len(re.findall(r"^(?!import |from |#!|\"\"\").+$", program, re.MULTILINE)) == 40


def test_each_alert_has_a_runbook():
    rules = yaml.safe_load((ROOT / "charts/kusion-operator/files/alerts.yaml").read_text())
    alerts = {rule["alert"]: rule for group in rules["groups"] for rule in group["rules"]}
    page = (ROOT / "docs/runbooks.md").read_text()
    headings = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    assert set(headings) == set(alerts)
    for name, text in headings.items():
        assert re.findall(r"^\*\*(.*?)\*\*", text, re.MULTILINE) == ["It means", "Look at", "Do"], name
        assert alerts[name]["annotations"]["runbook_url"].endswith(f"/docs/runbooks.md#{name.lower()}")


def test_reasons_of_runbooks_are_known():
    known = (ROOT / "controller/reconcile/status/reason.def").read_text()
    page = (ROOT / "docs/runbooks.md").read_text()
    shown = {"Pending", "ImagePullBackOff", "OOMKilled"}  # what kubectl shows of Pods
    for reason in set(re.findall(r"`([A-Z][a-z]+[A-Z]?[A-Za-z]+)`", page)) - shown:
        assert f"REASON({reason}," in known, reason


def anchors(path):
    """Of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)", re.sub(r"^( *)```.*?^\1```$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


LINKING = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", LINKING, ids=[page.name for page in LINKING])
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        to = page.parent / path if path else page
        assert to.exists(), link
        assert not anchor or to.suffix != ".md" or anchor in anchors(to), link
