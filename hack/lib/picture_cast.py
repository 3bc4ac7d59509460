"""Sessions on a terminal: recorded as an asciicast, and drawn as an SVG that plays.

The SVG has one text for each line of the screen and each span of time in which it stood there; it is seen in
that span alone. A viewer that plays nothing, or is asked for less motion, shows the end."""

import fcntl
import json
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
from html import escape
from pathlib import Path

COLUMNS, ROWS = 100, 30
PROMPT = "\x1b[1;32m$\x1b[0m "
KEYS, TYPED, PAUSE = 5, 0.2, 1.5  # so many keys at once, in so many seconds; seconds between two commands
LONGEST = 1.2  # seconds without a change that are played
END = 5  # seconds that the last screen stands

# ---- Record ----


def run(command, folder, environment):
    """(seconds, text) of what it says on a terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execvpe("bash", ["bash", "-c", command], environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    started = time.monotonic()
    while True:
        select.select([terminal], [], [])
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # it has ended
            break
        yield time.monotonic() - started, piece.decode()
    if os.waitpid(pid, 0)[1]:
        raise SystemExit(f"{command}: failed")


def record(script, root):
    """The asciicast of a script's commands. What stands before its first blank line is not shown."""
    hidden, shown = script.split("\n\n", 1)
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    lines, now = [json.dumps({"version": 2, "width": COLUMNS, "height": ROWS})], 0.5

    def add(text):
        lines.append(json.dumps([round(now, 3), "o", text], ensure_ascii=False))

    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(Path(root) / "examples", Path(folder) / "examples")
        subprocess.run(["bash", "-ec", hidden], cwd=folder, env=environment, check=True)
        for command in shown.strip().split("\n"):
            add(PROMPT)
            for at in range(0, len(command), KEYS):
                now += TYPED
                add(command[at:at + KEYS])
            now += 0.4
            add("\r\n")
            began = now
            for at, text in run(command, folder, environment):
                now = began + at
                add(text)
            now += PAUSE
        add(PROMPT)
    return "\n".join(lines) + "\n"

# ---- Play ----


PIECES = re.compile(r"(\x1b\[[0-9;]*[A-Za-z]|\r|\n)")


class Screen:
    """A terminal that knows what `kubectl kusion` sends: colours, and going up to draw a page again."""

    def __init__(self):
        self.lines, self.row, self.column, self.style = [[]], 0, 0, ""

    def write(self, text):
        for piece in PIECES.split(text):
            if piece == "\n":
                self.row += 1
                self.lines += [[] for _ in range(self.row + 1 - len(self.lines))]
            elif piece == "\r":
                self.column = 0
            elif piece.startswith("\x1b"):
                self._control(piece[2:-1], piece[-1])
            else:
                self._put(piece)

    def _control(self, number, letter):
        if letter == "m":
            self.style = "" if number in ("", "0") else f"{self.style};{number}".strip(";")
        elif letter == "A":
            self.row = max(self.row - int(number or 1), 0)
        elif letter in "JK":
            del self.lines[self.row][self.column:]
            if letter == "J":
                del self.lines[self.row + 1:]

    def _put(self, text):
        line = self.lines[self.row]
        line += [(" ", "")] * (self.column - len(line))
        line[self.column:self.column + len(text)] = [(character, self.style) for character in text]
        self.column += len(text)

    def shown(self):
        """Its last lines, each as a list of (text, style)."""
        return [runs(line) for line in self.lines[-ROWS:]]


def runs(line):
    found = []
    for character, style in line:
        if found and found[-1][1] == style:
            found[-1] = (found[-1][0] + character, style)
        else:
            found.append((character, style))
    return tuple(found)


def spans(events):
    """(row, line, from, to) of each line for as long as it stands there, and when the last screen ends."""
    screen, standing, done, now, before = Screen(), {}, [], 0.0, 0.0
    for at, _, text in events:
        now += min(at - before, LONGEST)
        before = at
        screen.write(text)
        shown = dict(enumerate(screen.shown()))
        for row in {*standing, *shown}:
            line, since = standing.get(row, ((), now))
            if line != shown.get(row, ()):
                if line and since < now:
                    done.append((row, line, since, now))
                standing[row] = (shown.get(row, ()), now)
    end = now + END
    return done + [(row, line, since, end) for row, (line, since) in standing.items() if line], end


# ---- Draw ----

SIZE, WIDTH, HEIGHT, MARGIN = 14, 8.4, 19, 16
CLASSES = {"1": "b", "2": "d", "31": "r", "32": "g", "33": "y", "34": "u", "36": "c"}
HEAD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="A session of kubectl kusion">
<style>
text{{font:{size}px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d8dee9;white-space:pre}}
.b{{font-weight:bold;fill:#fff}}.d{{fill:#8590a6}}.r{{fill:#f2777a}}.g{{fill:#8fd18a}}.y{{fill:#f0c674}}.u,.c{{fill:#7fb7ff}}
text{{animation:{end:g}s step-end infinite}}.h{{visibility:hidden}}
@media (prefers-reduced-motion){{text{{animation:none!important}}}}
"""


def tspan(text, style):
    names = " ".join(CLASSES[number] for number in style.split(";") if number in CLASSES)
    return f'<tspan class="{names}">{escape(text)}</tspan>' if names else escape(text)


def draw_cast(cast):
    header, *events = [json.loads(line) for line in cast.splitlines()]
    found, end = spans(events)
    width = header["width"] * WIDTH + 2 * MARGIN
    height = header["height"] * HEIGHT + 2 * MARGIN
    times, texts = {}, []
    for row, line, since, to in sorted(found):
        name = times.setdefault((since, to), f"t{len(times)}")
        hidden = "" if to == end else ' class="h"'
        body = "".join(tspan(*one) for one in line)
        texts.append(f'<text x="{MARGIN}" y="{MARGIN + HEIGHT * row + SIZE:g}"{hidden} style="animation-name:{name}" '
                     f'xml:space="preserve">{body}</text>')
    frames = [f"@keyframes {name}{{0%{{visibility:hidden}}{100 * since / end:.2f}%{{visibility:visible}}"
              f"{100 * to / end:.2f}%{{visibility:{'visible' if to == end else 'hidden'}}}}}"
              for (since, to), name in times.items()]
    return "\n".join([HEAD.format(width=width, height=height, size=SIZE, end=round(end, 2)) + "\n".join(frames), "</style>",
                      f'<rect width="{width:g}" height="{height:g}" rx="8" fill="#1b1f2a"/>', *texts, "</svg>", ""])
