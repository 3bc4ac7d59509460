"""What README.md and docs/providers-of-your-own.md promise of hack/demo: each demo shows what it says, ends well and leaves nothing; and the commands
that one which stays up tells a person to try work as they are printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import assert_shown

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "e2e"))
from kusion_e2e.terraform import need_providers  # noqa: E402

STAYS = "What happens meanwhile (Ctrl-C ends it)"
SHOWN = {  # in this order
    "": ["applied from examples/guestbook.yaml", "Ready after", "each resource after what it depends on",
         "What is there now", "Release", "State, a ConfigMap", "Gone after", "and so is State"],
    "approval": ["A change is previewed: nothing is stored", "kubectl kusion show", "The digest is that of the Preview",
                 "Approved by", "The next change makes it worse", "Back to revision 2", "It is as in revision 2",
                 "What was done, and who approved it", "Gone after"],
    "hybrid": ["It is previewed", "kubectl kusion show", "The certificate is for", "Secrets only", "A longer password",
               "Back to revision 1", "Gone after"],
    "stores": ["State is in PostgreSQL", "Ready after", "0 are damaged", "no State", "State is moved to a bucket",
               "does nothing", "was moved", "goes on with the same objects", "the same as before", "Gone after",
               "0 documents are whole"],
    "onprem": ["It is previewed", "The host is down", "is made", "waits", "The host comes back", "PowerDNS answers",
               "Caddy has the route", "the host has the file", "Gone after", "nothing is left"],
    "node": ["helm install", "Ready at", "helm test", "is at work", "Ready after", "What the guestbook's Pods answer",
             "helm upgrade", "the same objects as before", "kill -9", "the kubelet started its container again",
             "the same objects as before", "helm uninstall", "releases.api.kusion.io", "specs.api.kusion.io"],
}


def skip_unless_possible(name):
    if name == "hybrid":
        need_providers()
    if name in ("node", "onprem", "stores"):
        what = {"node": ["node", "can"], "onprem": ["rack", "can"], "stores": ["stores", "can", "postgres", "s3"]}[name]
        can = subprocess.run([ROOT / "hack" / what[0], *what[1:]], capture_output=True, text=True, check=False)
        if can.returncode:
            pytest.skip(f"{name}: it cannot be had here: {can.stderr.strip()}")


@pytest.mark.parametrize("name", SHOWN, ids=lambda name: name or "guestbook")
def test_once(begin, name):
    skip_unless_possible(name)
    demo = begin("demo", *filter(None, [name]), "--once")
    status, said = demo.end()
    assert status == 0, said
    assert_shown(said, [*SHOWN[name], "taking everything down"])
    assert not demo.leftovers()


def test_stays_and_what_it_says_to_try_works(begin):
    demo = begin("demo")
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
