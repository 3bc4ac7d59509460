"""A control group of this machine with a limit of memory, as kubelet makes one for a container: of
version 1 or 2, whichever there is."""

import os
import time
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
V1, V2 = ROOT / "memory", ROOT


def _version():
    """1 or 2: the hierarchy that has the controller of memory. OSError: there is none."""
    if (V1 / "memory.limit_in_bytes").exists() or (V1 / "cgroup.procs").exists():
        return 1
    controllers = V2 / "cgroup.controllers"
    if controllers.exists() and "memory" in controllers.read_text().split():
        return 2
    raise OSError(f"{ROOT} has no controller of memory")


class Cgroup:
    """Made with it; an OSError says why there can be none."""

    def __init__(self, name, limit):
        self._version = _version()
        parent = V1 if self._version == 1 else V2
        self.path = parent / f"{name}-{os.getpid()}"
        if self._version == 2:
            control = parent / "cgroup.subtree_control"
            if "memory" not in control.read_text().split():
                control.write_text("+memory")
        self.path.mkdir()
        try:
            self._write({1: "memory.limit_in_bytes", 2: "memory.max"}[self._version], limit)
        except OSError:
            self.remove()
            raise

    def _write(self, name, value):
        (self.path / name).write_text(str(value))

    def wrap(self, program, directory):
        """The path of a program that runs this one in the group, from its first page on."""
        script = directory / "in-cgroup"
        script.write_text(f'#!/bin/sh\necho $$ >{self.path}/cgroup.procs && exec {program} "$@"\n')
        script.chmod(0o755)
        return str(script)

    def peak(self):
        """Bytes, of all that the group is charged for: files that it reads, too."""
        name = {1: "memory.max_usage_in_bytes", 2: "memory.peak"}[self._version]
        return int((self.path / name).read_text())

    def kills(self):
        """How often the kernel killed a process of it for want of memory."""
        name = {1: "memory.oom_control", 2: "memory.events"}[self._version]
        lines = (self.path / name).read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))

    def remove(self):
        """When no process is in it any more."""
        for _ in range(100):
            try:
                self.path.rmdir()
                return
            except OSError:
                time.sleep(0.1)
        self.path.rmdir()
