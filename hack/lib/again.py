#!/usr/bin/python3
"""Tests that failed beside others, and are run once more, alone (hack/test).

again.py failed FILE: of a JUnit file, a line for each test that failed. Of pytest, as it takes it:
"test/e2e/test_x.py::TestY::test_z[1]"; what failed after a test, as an operator that did not end well, is none: that
stays a failure. Of ctest, the name of the suite; one that crashed, timed out, or of which a sanitizer said a word, is
none.
again.py settle FILE SECOND: those of them that passed in SECOND are no failures in FILE any more. Their <failure>
becomes <flakyFailure>, as Maven's Surefire and cargo-nextest call it."""

import sys
import xml.etree.ElementTree

import ctest


class Pytest:
    @staticmethod
    def cases_of(tree):
        return [case for case in tree.iter("testcase") if case.get("file")]  # a file that cannot be imported is none

    @staticmethod
    def name_of(case):
        file = case.get("file")
        classes = case.get("classname")[len(file) - len(".py"):].split(".")[1:]
        return "::".join([file, *classes, case.get("name")])

    @staticmethod
    def failures_of(case):
        return [one for one in case if one.tag == "failure" or
                (one.tag == "error" and not one.get("message", "").startswith("failed on teardown"))]

    @classmethod
    def passed(cls, cases):
        """Those of which nothing failed, at no time, and that were not skipped."""
        bad = {cls.name_of(case) for case in cases for one in case if one.tag in ("failure", "error", "skipped")}
        return {cls.name_of(case): case for case in cases if cls.name_of(case) not in bad}

    @classmethod
    def forgive(cls, case, _second):
        for one in cls.failures_of(case):
            one.tag = "flakyFailure"


class Ctest:
    @staticmethod
    def cases_of(tree):
        return list(filter(ctest.is_suite, tree.iter("testcase")))

    @staticmethod
    def name_of(case):
        return case.get("name")

    @staticmethod
    def failures_of(case):
        return [one for one in case if one.tag == "failure"] if ctest.failed_plainly(case) else []

    @classmethod
    def passed(cls, cases):
        """Those that ran to a good end, and skipped nothing."""
        return {cls.name_of(case): case for case in cases if case.get("status") == "run" and
                ctest.counts_of(case)[1:] == (0, 0)}

    @classmethod
    def forgive(cls, case, second):
        """Its tests count as in the second run."""
        for one in cls.failures_of(case):
            one.set("message", ctest.why(case))
            one.tag = "flakyFailure"
        case.set("status", "run")
        case.find("system-out").text = second.findtext("system-out")


def main():
    command, file, *second = sys.argv[1:]
    tree = xml.etree.ElementTree.parse(file)
    kind = Ctest if any(map(ctest.is_suite, tree.iter("testcase"))) else Pytest
    failed = [case for case in kind.cases_of(tree) if kind.failures_of(case)]
    if command == "failed":
        for test in dict.fromkeys(map(kind.name_of, failed)):
            print(test)
        return
    alone = kind.passed(kind.cases_of(xml.etree.ElementTree.parse(second[0])))
    for case in failed:
        if kind.name_of(case) in alone:
            kind.forgive(case, alone[kind.name_of(case)])
    tree.write(file)


if __name__ == "__main__":
    main()
