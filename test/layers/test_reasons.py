"""The reasons that a status may have: controller/reconcile/status/reason.def lists them, and docs/reasons.md
has a heading for each. Neither lacks one that the other has, or that the code sets."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = (ROOT / "docs/reasons.md").read_text()

# Never the reason of an operation on a Spec, nor of its condition Ready.
ELSEWHERE = set("""
AddressUnavailable FileEmpty InvalidCopy FileTooLarge FileUnreadable InvalidConfig InvalidFlag InvalidLockFile
InvalidToken LeaseHeld NoEntropy NoServer NotInCluster NotLeading UnsupportedConfig
ApprovalNeeded Enough InvalidPath InvalidResource KindNotKnown ReleaseNotEnded TooManyWatches
InvalidRequest InvalidUser InvalidXML NoResourceVersion PhaseOrder StateUnknown UnexpectedAction UnknownIdentity
""".split())  # at the start; caught where they come from; defects of the operator


def listed():
    table = (ROOT / "controller/reconcile/status/reason.def").read_text()
    return re.findall(r"^REASON\((\w+),", table, re.M)


def documented():
    return re.findall(r"^## (\w+)$", DOCS, re.M)


def set_by_the_code():
    texts = [path.read_text() for folder in ("engine", "runtimes", "controller")
             for path in (ROOT / folder).rglob("*.[ch]")]
    names = {}
    for text in texts:
        names.update(re.findall(r'#define (\w+)\s+"([A-Z][a-z]\w+)"', text))
    found = set()
    for text in texts:
        found.update(re.findall(r'\b(?:ERR_[A-Z_]+|\{"(?:True|False|Unknown)"),\s*"([A-Z]\w+)"', text))
        found.update(re.findall(r'\.reason = "([A-Z]\w+)"', text))
        found.update(names[name] for name in re.findall(
            r'\b(?:ERR_[A-Z_]+|\{"(?:True|False|Unknown)"),\s*([A-Z][A-Z_]+),', text) if name in names)
    return found


def test_each_reason_has_one_heading():
    assert len(listed()) > 50
    assert sorted(documented()) == sorted(set(documented()))
    assert sorted(set(listed()) - set(documented())) == []


def test_the_list_is_in_order_and_has_none_twice():
    assert listed() == sorted(set(listed()))


def test_every_reason_of_the_docs_is_in_the_list():
    assert len(documented()) > 50
    assert sorted(set(documented()) - set(listed())) == []


def test_every_reason_that_the_code_sets_is_in_the_list():
    assert len(set_by_the_code()) > 50
    assert sorted(set_by_the_code() - set(listed()) - ELSEWHERE) == []


def test_nothing_is_left_out_that_is_in_the_list_or_is_set_nowhere():
    assert sorted(ELSEWHERE & set(listed())) == []
    assert sorted(ELSEWHERE - set_by_the_code()) == []
