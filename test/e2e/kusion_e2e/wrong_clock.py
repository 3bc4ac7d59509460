"""A process whose time of day is wrong: test/faults/clock.c, preloaded."""

import os
import subprocess

from kusion_e2e.paths import ROOT


class WrongClock:
    def __init__(self, directory):
        self._library = directory / "clock.so"
        source = ROOT / "test/faults/clock.c"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", self._library, source, "-ldl"], check=True)

    def ahead(self, seconds):
        """The environment of a process whose clock is so many seconds ahead."""
        options = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        return {"LD_PRELOAD": str(self._library), "KUSION_TEST_CLOCK_AHEAD": str(seconds), "ASAN_OPTIONS": options}
