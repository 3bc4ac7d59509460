"""What a JUnit file of ctest says of a suite: a program of unit tests, which ends with the line
"tests: N passed, N failed[, N skipped]"."""

import re

LIMIT = 1200  # seconds that a suite may take: hack/test
MOST = 3  # lines of a reason

_END = re.compile(r"^tests: (\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.MULTILINE)
_REPORT = re.compile(r"^.*(?:Sanitizer:|: runtime error: ).*$", re.MULTILINE)
_TEST = re.compile(r"^Suite \S+, Test (\S+) had failures:$")
_EXPECTATION = re.compile(r"^ +\d+\. (\S+)  - (.*)$")


def is_suite(case):
    return case.get("status") is not None


def counts_of(suite):
    """Passed, failed and skipped tests. A suite that does not end well, or fails in any other way, is one more failed."""
    passed, failed, skipped = _end_of(suite) or (0, 0, 0)
    if not _end_of(suite) or (suite.get("status") != "run" and not failed):
        failed += 1
    return passed, failed, skipped


def failed_plainly(suite):
    """Only expectations did not hold: it came to its end, and no sanitizer said a word."""
    _, failed, _ = _end_of(suite) or (0, 0, 0)
    return failed > 0 and not _REPORT.search(_output(suite))


def why(suite):
    """What a sanitizer said, the expectations that failed, or how else it ended."""
    output = _output(suite)
    reports = _REPORT.findall(output)
    found = [line.strip() for line in reports if "SUMMARY: " in line] or [line.strip() for line in reports]
    found = found or list(_expectations(output))
    if found:
        more = len(found) - MOST
        return "; ".join(found[:MOST]) + (f"; and {more} more" if more > 0 else "")
    lines = output.strip().splitlines() or ["nothing"]
    if not _end_of(suite):
        seconds = float(suite.get("time") or 0)
        how = "timed out" if seconds >= LIMIT else "ended without a result"
        return f"{how} after {seconds:.0f} s; it said last: {lines[-1].strip()}"
    return f"it said last: {lines[-1].strip()}"


def _output(suite):
    return suite.findtext("system-out") or ""


def _end_of(suite):
    lines = _END.findall(_output(suite))
    return tuple(int(count or 0) for count in lines[-1]) if lines else None


def _expectations(output):
    test = ""
    for line in output.splitlines():
        begins, failed = _TEST.match(line), _EXPECTATION.match(line)
        if begins:
            test = begins[1]
        elif failed:
            yield f"{test}: {failed[1].rpartition('/')[2]}: {failed[2]}"
