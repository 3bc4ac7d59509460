"""Every reason that a status may have is in docs/troubleshooting.md."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def reasons():
    """Those of the metrics' label, which are all that users see."""
    table = (ROOT / "controller/reconcile/reason.c").read_text().partition("known[] = {")[2].partition("};")[0]
    return re.findall(r'"(\w+)"', table)


def test_docs_have_every_reason():
    told = set(re.findall(r"`(\w+)`", (ROOT / "docs/troubleshooting.md").read_text()))
    assert len(reasons()) > 50
    assert [reason for reason in reasons() if reason not in told] == []
