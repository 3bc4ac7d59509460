"""The pictures of the docs are those of the text beside them."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_pictures_are_those_of_their_text():
    checked = subprocess.run([sys.executable, ROOT / "hack/pictures", "--check"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_recording_is_of_its_script():
    """What is typed in the recording is what session.sh has."""
    import json
    commands = (ROOT / "docs/pictures/session.sh").read_text().split("\n\n", 1)[1].split("\n")
    events = [json.loads(line) for line in (ROOT / "docs/pictures/session.cast").read_text().splitlines()[1:]]
    said = "".join(text for _, _, text in events)
    for command in filter(None, commands):
        assert f"{command}\r\n" in said, f"{command}: not typed; run hack/pictures record"
