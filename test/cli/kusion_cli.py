"""A shell in which `kubectl kusion` is this checkout's, in a pipe and on a terminal; and transcripts
of it with what differs from run to run replaced."""

import difflib
import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import tempfile
import termios
import time
from pathlib import Path

import pytest

from kusion_e2e.cluster import tool
from kusion_e2e.paths import ROOT

PROGRAM = Path(os.environ.get("KUSION_CLI", ROOT / "build/debug/bin/kubectl-kusion"))
HERE = Path(__file__).parent
PATIENCE = 120  # seconds

NORMAL = [
    # what differs, and what stands for it
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"\b[0-9a-f]{64}\b|\b[0-9a-f]{12}\b", "DIGEST"),
    (r"kusion-[0-9a-f]{40}", "kusion-HASH"),
    (r"\b([a-z]+)-[0-9a-f]{6,10}-[a-z0-9]{5}\b", r"\1-POD"),
    (r"-(preview|rollback|destroy)-[a-z0-9]{5}\b", r"-\1-ID"),
    (r"\bare avail\w*…|\bare a\w*…|\bnodes ?\w*…", "…"),  # cut where there is no more room
    (r"vm_\w+|\b\S+_\d+_[0-9a-f]{9,}\b", "OPERATOR"),
    (r"\bafter \d+ ms\b", "after T"),
    (r"https://127\.0\.0\.1:\d+", "https://SERVER"),
    (r"(?<=\S) {2,}", "  "),  # columns are as wide as what is in them
    (r"(?<=  )\d+(\.\d+)?(ms|s|m|h)\d*s?(?=  |$)", "T"),
    (r"\b(took|waits for|ago:?|for) \d+(\.\d+)?(ms|s|m|h)\b", r"\1 T"),
    (r" \d+(ms|s) ago", " T ago"),
    (r"\(contexts: \S+\)", "(contexts: CONTEXT)"),
]
# What an operation is doing is told or not, as it goes faster or slower.
PASSING = re.compile(r"^( *[◐·] .*|.*  Progressing  .*)\n", re.MULTILINE)
# What is deleted side by side ends in any order.
DELETED = re.compile(r"(?:^  ✓ .*  deleted\n){2,}", re.MULTILINE)


STYLE = re.compile(r"\x1b\[[0-9;]*m")


def screen(text):
    """What is on it at the end, line by line: of our own sequences, as a terminal does them."""
    lines, at = [""], 0
    for piece in re.split(r"(\x1b\[\d+A|\x1b\[K|\x1b\[J|\r|\n)", STYLE.sub("", text)):
        if piece == "\n":
            at += 1
            if at == len(lines):
                lines.append("")
        elif piece.endswith("A") and piece.startswith("\x1b"):
            at = max(at - int(piece[2:-1]), 0)
        elif piece == "\x1b[J":
            del lines[at + 1:]
            lines[at] = ""
        elif piece not in ("\r", "\x1b[K"):
            lines[at] = piece or lines[at]
    return "\n".join(lines)


def normal(text, namespace):
    text = PASSING.sub("", text.replace(namespace, "NS"))
    for pattern, replacement in NORMAL:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return DELETED.sub(lambda found: "".join(sorted(found[0].splitlines(True))), text)


class Shell:
    """With a folder of its own, where the files of test/cli/specs are."""

    def __init__(self, cluster, namespace):
        self.cluster, self.namespace = cluster, namespace

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="kusion-cli-"))
        for file in (HERE / "specs").iterdir():
            (self.folder / file.name).write_text(file.read_text().replace("NAMESPACE", self.namespace))
        kubeconfig = self.folder / "kubeconfig"
        shutil.copy(self.cluster.kubeconfig, kubeconfig)
        (self.folder / "bin").mkdir()
        (self.folder / "bin/kubectl-kusion").symlink_to(PROGRAM)
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "NO_COLOR"},
            "KUBECONFIG": str(kubeconfig), "TERM": "xterm",
            "PATH": f"{self.folder}/bin:{Path(tool('kubectl')).parent}:{os.environ['PATH']}"}
        self.type(f"kubectl config set-context --current --namespace {self.namespace}").must()
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def type(self, command, **environment):
        """In a pipe."""
        result = subprocess.run(["bash", "-c", command], cwd=self.folder, text=True, timeout=PATIENCE,
                                env={**self.environment, **environment}, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return Said(command, result.returncode, result.stdout)

    def on_terminal(self, command, *answers, columns=120, rows=40):
        """On a terminal, with an answer to each question."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execvpe("bash", ["bash", "-c", command], self.environment)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        answers, said, end = list(answers), b"", time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if not select.select([terminal], [], [], 1)[0]:
                continue
            try:
                piece = os.read(terminal, 65536)
            except OSError:  # it has ended
                break
            said += piece
            if answers and re.search(rb"(\]:|>) $", said):
                os.write(terminal, answers.pop(0).encode() + b"\n")
        _, status = os.waitpid(pid, 0)
        os.close(terminal)
        return Said(command, os.waitstatus_to_exitcode(status), said.decode().replace("\r\n", "\n"))

    def follow_script(self, name, is_terminal=False):
        """Types what golden/NAME.txt has, and compares what is said with it; on a terminal: what is
        on it in the end. Blank lines of the file stay, and those of what is said are left out."""
        path = HERE / "golden" / f"{name}.txt"
        written = path.read_text()
        lines = []
        for line in written.splitlines():
            if line.startswith("#") or not line:
                lines.append(line)
            elif line.startswith("$ "):
                said = self.on_terminal(line[2:]) if is_terminal else self.type(line[2:])
                text = screen(said.text) if is_terminal else said.text
                lines += [line, *filter(None, normal(text, self.namespace).splitlines())]
                lines += [f"=> {said.code}"] if said.code else []
        text = "\n".join(lines) + "\n"
        if os.environ.get("KUSION_GOLDEN") == "write":
            path.write_text(text)
        elif text != written:
            pytest.fail("".join(difflib.unified_diff(
                written.splitlines(True), text.splitlines(True), str(path), "said")), pytrace=False)


class Said:
    def __init__(self, command, code, text):
        self.command, self.code, self.text = command, code, text

    def must(self, code=0):
        assert self.code == code, f"{self.command}: {self.code}\n{self.text}"
        return self.text
