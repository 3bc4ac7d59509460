"""Scripts of hack/ that start control planes, and what they show."""

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 900  # seconds; the node's builds the image, where there is none


class Script:
    """One of hack/ that runs, as a person's shell has it. Its control plane is in a folder of its own."""

    def __init__(self, name, *arguments):
        self.state = Path(tempfile.mkdtemp(prefix="kusion-demo-"))
        self.environment = {**os.environ, "XDG_STATE_HOME": str(self.state)}
        self._process = subprocess.Popen([ROOT / "hack" / name, *arguments], env=self.environment, text=True,
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)

    def read_until(self, line):
        lines = []
        for one in self._process.stdout:
            lines.append(one)
            if line in one:
                return "".join(lines)
        raise AssertionError(f"it ended before this: {line}\n" + "".join(lines))

    def interrupt(self):
        """Ctrl-C."""
        os.killpg(self._process.pid, signal.SIGINT)

    def end(self):
        """Exit status, and what it printed."""
        said, _ = self._process.communicate(timeout=PATIENCE)
        return self._process.returncode, said

    def close(self):
        try:
            if self._process.poll() is None:
                self.interrupt()
                self.end()
        finally:
            shutil.rmtree(self.state, ignore_errors=True)

    def leftovers(self):
        """Control planes, and processes that know of one."""
        planes = [path.name for path in self.state.glob("*/controlplanes/*") if path.is_dir()]
        return planes + [line for line in map(command_line, Path("/proc").glob("[0-9]*")) if f"{self.state}/" in line]


def command_line(process):
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:  # it has ended
        return ""


@pytest.fixture(name="begin")
def fixture_begin():
    begun = []

    def begin(name, *arguments):
        begun.append(Script(name, *arguments))
        return begun[-1]

    yield begin
    for one in begun:
        one.close()


def assert_shown(said, texts):
    at = 0
    for text in texts:
        found = said.find(text, at)
        assert found >= 0, f"not shown (any more): {text}\n{said}"
        at = found + len(text)
