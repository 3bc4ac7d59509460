#!/usr/bin/python3
"""Counts the tests in a JUnit file, as "PASSED FAILED SKIPPED".

count.py pytest FILE: its test cases.
count.py failures FILE: instead, a line for each that failed: "NAME: WHY".
count.py flaky FILE: the same of those that failed, and passed when they were run once more (again.py).
count.py ctest FILE: the tests within its test cases, which are programs that end with the line
"tests: N passed, N failed[, N skipped]". One that does not, or fails in any other way, is one more failed.
"""

import re
import sys
import xml.etree.ElementTree


def of_pytest(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return 0, 1, 0
    return (0, 0, 1) if case.find("skipped") is not None else (1, 0, 0)


def of_ctest(case):
    lines = re.findall(r"^tests: (\d+) passed, (\d+) failed(?:, (\d+) skipped)?$",
                       case.findtext("system-out") or "", re.MULTILINE)
    passed, failed, skipped = (int(count or 0) for count in lines[-1]) if lines else (0, 0, 0)
    if not lines or (case.get("status") != "run" and not failed):
        failed += 1
    return passed, failed, skipped


def print_failures(cases, *tags):
    for case in cases:
        for why in (one for one in case if one.tag in tags):
            first = (why.get("message") or why.text or "").strip().partition("\n")[0]
            print(f"{case.get('classname', '')}::{case.get('name')}: {first[:300]}")


def main():
    command, file = sys.argv[1:]
    cases = xml.etree.ElementTree.parse(file).getroot().iter("testcase")
    if command == "failures":
        return print_failures(cases, "failure", "error")
    if command == "flaky":
        return print_failures(cases, "flakyFailure")
    count = {"pytest": of_pytest, "ctest": of_ctest}[command]
    print(*(sum(column) for column in zip((0, 0, 0), *map(count, cases))))


if __name__ == "__main__":
    main()
