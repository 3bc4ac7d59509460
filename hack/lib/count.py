#!/usr/bin/python3
"""Counts the tests in a JUnit file, as "PASSED FAILED SKIPPED".

count.py pytest FILE: its test cases.
count.py ctest FILE: the tests within its suites (ctest.py).
count.py failures FILE: instead, a line for each test case or suite that failed: "NAME: WHY".
count.py flaky FILE: the same of those that failed, and passed when they were run once more (again.py).
"""

import sys
import xml.etree.ElementTree

import ctest


def of_pytest(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return 0, 1, 0
    return (0, 0, 1) if case.find("skipped") is not None else (1, 0, 0)


def name_of(case):
    return case.get("name") if ctest.is_suite(case) else f"{case.get('classname', '')}::{case.get('name')}"


def print_one(case, why):
    print(f"{name_of(case)}: {why.strip().partition(chr(10))[0][:300]}")


def print_failures(cases, *tags):
    for case in cases:
        for one in (one for one in case if one.tag in tags):
            print_one(case, one.get("message") or one.text or "")


def print_failed_suites(suites):
    for suite in suites:
        if ctest.counts_of(suite)[1]:
            print_one(suite, ctest.why(suite))


def main():
    command, file = sys.argv[1:]
    cases = list(xml.etree.ElementTree.parse(file).getroot().iter("testcase"))
    if command == "failures":
        print_failures([case for case in cases if not ctest.is_suite(case)], "failure", "error")
        return print_failed_suites(filter(ctest.is_suite, cases))
    if command == "flaky":
        return print_failures(cases, "flakyFailure")
    count = {"pytest": of_pytest, "ctest": ctest.counts_of}[command]
    print(*(sum(column) for column in zip((0, 0, 0), *map(count, cases))))


if __name__ == "__main__":
    main()
