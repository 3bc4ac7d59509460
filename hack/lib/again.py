#!/usr/bin/python3
"""Tests that failed beside others, and are run once more, alone (hack/test).

again.py failed FILE: of a JUnit file of pytest, a line for each test that failed, as pytest takes it:
"test/e2e/test_x.py::TestY::test_z[1]". What failed after a test, as an operator that did not end well, is none:
that stays a failure.
again.py settle FILE SECOND: those of them that passed in SECOND are no failures in FILE any more. Their <failure>
becomes <flakyFailure>, as Maven's Surefire and cargo-nextest call it."""

import sys
import xml.etree.ElementTree


def cases_of(tree):
    return [case for case in tree.iter("testcase") if case.get("file")]  # a file that cannot be imported is none


def test_of(case):
    file = case.get("file")
    classes = case.get("classname")[len(file) - len(".py"):].split(".")[1:]
    return "::".join([file, *classes, case.get("name")])


def failures_of(case):
    return [one for one in case if one.tag == "failure" or
            (one.tag == "error" and not one.get("message", "").startswith("failed on teardown"))]


def passed(cases):
    """Those of which nothing failed, at no time, and that were not skipped."""
    bad = {test_of(case) for case in cases for one in case if one.tag in ("failure", "error", "skipped")}
    return {test_of(case) for case in cases} - bad


def main():
    command, file, *second = sys.argv[1:]
    tree = xml.etree.ElementTree.parse(file)
    failed = [case for case in cases_of(tree) if failures_of(case)]
    if command == "failed":
        for test in dict.fromkeys(map(test_of, failed)):
            print(test)
        return
    alone = passed(cases_of(xml.etree.ElementTree.parse(second[0])))
    for case in failed:
        for one in failures_of(case) if test_of(case) in alone else ():
            one.tag = "flakyFailure"
    tree.write(file)


if __name__ == "__main__":
    main()
