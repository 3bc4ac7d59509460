#!/usr/bin/python3
"""Counts the tests in a JUnit file, as "PASSED FAILED SKIPPED".

count.py pytest FILE: its test cases.
count.py failures FILE: instead, a line for each that failed: "NAME: WHY".
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


def print_failures(cases):
    for case in cases:
        for why in [*case.iter("failure"), *case.iter("error")]:
            first = (why.get("message") or why.text or "").strip().partition("\n")[0]
            print(f"{case.get('classname', '')}::{case.get('name')}: {first[:300]}")


def main():
    if sys.argv[1] == "failures":
        return print_failures(xml.etree.ElementTree.parse(sys.argv[2]).getroot().iter("testcase"))
    count = {"pytest": of_pytest, "ctest": of_ctest}[sys.argv[1]]
    cases = xml.etree.ElementTree.parse(sys.argv[2]).getroot().iter("testcase")
    print(*(sum(column) for column in zip((0, 0, 0), *map(count, cases))))


if __name__ == "__main__":
    main()
