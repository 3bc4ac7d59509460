"""Runs of pytest that share their tests: each takes the next file that no other run has taken. So
all end at about the same time, however long a file takes.

What is taken has a file of its name in one directory, that of KUSION_TURNS."""

import os
from itertools import groupby
from pathlib import Path
from urllib.parse import quote

import pytest


class Turns:
    """A plugin for pytest. first: the files to begin with, as "test_leader.py". split: files whose
    tests are taken one by one; they share no fixture of their file."""

    def __init__(self, directory, first, split):
        self._directory = Path(directory)
        self._first = list(first)
        self._split = set(split)

    @classmethod
    def register(cls, config, first=(), split=()):
        """Where KUSION_TURNS is set."""
        directory = os.environ.get("KUSION_TURNS")
        if directory:
            config.pluginmanager.register(cls(directory, first, split))

    @pytest.hookimpl
    def pytest_runtestloop(self, session):
        """pytest's own, but for which items come."""
        if session.testsfailed:
            raise session.Interrupted(f"{session.testsfailed} errors while tests were collected")
        mine = self._mine(session.items)
        item = next(mine, None)
        while item:
            # What the following item needs, too, stays up.
            following = next(mine, None)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
            item = following
        return True

    def _mine(self, items):
        for name, turn in groupby(sorted(items, key=self._rank), self._name):
            if self._take(name):
                yield from turn

    def _rank(self, item):
        name = item.path.name
        return self._first.index(name) if name in self._first else len(self._first)

    def _name(self, item):
        name = item.path.name
        return f"{name}::{quote(item.name, safe='[]')}" if name in self._split else name

    def _take(self, name):
        try:
            (self._directory / name).open("x").close()
        except FileExistsError:
            return False
        return True
