"""What README promises of hack/demo: each demo shows what it says, ends well and leaves nothing; and the commands
that one which stays up tells a person to try work as they are printed."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 900  # seconds; the node's builds the image, where there is none
sys.path.insert(0, str(ROOT / "test" / "e2e"))
from kusion_e2e.terraform import need_providers  # noqa: E402

STAYS = "What happens meanwhile (Ctrl-C ends it)"
SHOWN = {  # in this order
    "": ["applied from examples/guestbook.yaml", "Ready after", "each resource after what it depends on",
         "What is there now", "Release", "State, a ConfigMap", "Gone after", "and so is State"],
    "approval": ["A change is previewed: nothing is stored", "hack/plan", "The digest is that of the Preview",
                 "Approved by", "The next change makes it worse", "Back to revision 2", "It is as in revision 2",
                 "What was done, and who approved it", "Gone after"],
    "hybrid": ["It is previewed", "hack/plan", "The certificate is for", "Secrets only", "A longer password",
               "Back to revision 1", "Gone after"],
    "node": ["helm install", "Ready at", "helm test", "is at work", "Ready after", "What the guestbook's Pods answer",
             "helm upgrade", "the same objects as before", "kill -9", "the kubelet started its container again",
             "the same objects as before", "helm uninstall", "releases.api.kusion.io", "specs.api.kusion.io"],
}


class Demo:
    """One that runs, as a person's shell has it. Its control plane is in a folder of its own."""

    def __init__(self, *arguments):
        self.state = Path(tempfile.mkdtemp(prefix="kusion-demo-"))
        environment = {**os.environ, "XDG_STATE_HOME": str(self.state)}
        self._process = subprocess.Popen([ROOT / "hack/demo", *arguments], env=environment, text=True,
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)

    def read_until(self, line):
        lines = []
        for one in self._process.stdout:
            lines.append(one)
            if line in one:
                break
        return "".join(lines)

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

    def begin(*arguments):
        begun.append(Demo(*arguments))
        return begun[-1]

    yield begin
    for one in begun:
        one.close()


def skip_unless_possible(name):
    if name == "hybrid":
        need_providers()
    if name == "node":
        can = subprocess.run([ROOT / "hack/node", "can"], capture_output=True, text=True, check=False)
        if can.returncode:
            pytest.skip(f"no node can be had here: {can.stderr.strip()}")


def assert_shown(said, texts):
    at = 0
    for text in texts:
        found = said.find(text, at)
        assert found >= 0, f"not shown (any more): {text}\n{said}"
        at = found + len(text)


@pytest.mark.parametrize("name", SHOWN, ids=lambda name: name or "guestbook")
def test_once(begin, name):
    skip_unless_possible(name)
    demo = begin(*filter(None, [name]), "--once")
    status, said = demo.end()
    assert status == 0, said
    assert_shown(said, [*SHOWN[name], "taking everything down"])
    assert not demo.leftovers()


def test_stays_and_what_it_says_to_try_works(begin):
    demo = begin()
    said = demo.read_until(STAYS)
    commands = re.search(r"What to try next, in another terminal\n\n(.*)\n\n" + re.escape(STAYS), said, re.DOTALL)
    assert commands, said
    typed = subprocess.run(["bash", "-e", "-O", "expand_aliases"], input=commands[1], cwd=ROOT, text=True, timeout=300,
                           env={**os.environ, "XDG_STATE_HOME": str(demo.state), "EDITOR": "true"},
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert typed.returncode == 0, typed.stdout
    assert_shown(typed.stdout, ["spec.api.kusion.io/guestbook", "Ready", "preview created", "operation: Preview",
                                '"guestbook" deleted', "guestbook serverside-applied"])
    demo.interrupt()
    status, said = demo.end()
    assert status == 0 and "taking everything down" in said, said
    assert not demo.leftovers()
