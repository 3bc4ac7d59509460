"""hack/dev and hack/state, as CONTRIBUTING.md and debugging.md have them: the operator of the checkout at work."""

import re
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def eventually(found, patience=60):
    end = time.monotonic() + patience
    while not (result := found()):
        assert time.monotonic() < end
        time.sleep(0.2)
    return result


def quickstart():
    """Its commands for who has no cluster."""
    [commands] = re.findall(r"<!-- run by test/demos/test_dev\.py -->\n```sh\n(.*?)```",
                            (ROOT / "docs/quickstart.md").read_text(), re.DOTALL)
    return commands


def test_the_loop(begin):
    """A Spec is applied, its State is shown, and a source that changes starts the operator again."""
    dev = begin("dev", "--log-level", "debug")

    def typed(command, patience=120):
        return subprocess.run(["bash", "-c", f'eval "$(hack/controlplane env dev)"; {command}'], cwd=ROOT, text=True,
                              env=dev.environment, capture_output=True, timeout=patience, check=False)

    dev.read_until("the operator runs")
    kubectl = "hack/controlplane kubectl dev --"
    done = typed(f"{kubectl} apply -n team-a -f examples/guestbook.yaml && "
                 f"{kubectl} wait -n team-a spec/guestbook --for=condition=Ready --timeout=60s")
    assert done.returncode == 0, done
    done = typed(f"set -e\n{quickstart()}\nkubectl kusion status guestbook -n team-a", patience=900)
    assert done.returncode == 0 and "ReconciliationSucceeded" in done.stdout, done
    shown = eventually(lambda: typed("hack/state show team-a/guestbook").stdout)
    assert '"id": "apps/v1:Deployment:team-a:redis"' in shown and '"status": "applied"' in shown
    (ROOT / "controller/main.c").touch()
    dev.read_until("the operator runs")
    dev.interrupt()
    status, said = dev.end()
    assert status == 130, said
    assert typed("hack/controlplane down dev").returncode == 0
    assert not dev.leftovers()
