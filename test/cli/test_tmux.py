"""On a real terminal: tmux, which wraps lines, scrolls, and is made smaller while a page is drawn. What it shows in the
end is compared, and not what was sent to it."""

import shutil
import subprocess

import pytest
import yaml
from kusion_e2e.wait import eventually

pytestmark = pytest.mark.skipif(not shutil.which("tmux"), reason="there is no tmux (apt-get install tmux)")
COUNT = 12


class Tmux:
    """One window, in which one command runs; the screen stays when it has ended."""

    def __init__(self, shell, command, columns, rows):
        self.shell, self.socket = shell, f"kusion-{shell.namespace}"
        self._run("-f", "/dev/null", "new-session", "-d", "-x", columns, "-y", rows, f"{command}; sleep 600")

    def _run(self, *arguments):
        return subprocess.run(["tmux", "-L", self.socket, *map(str, arguments)], cwd=self.shell.folder, check=True,
                              text=True, capture_output=True, timeout=30,
                              env={**self.shell.environment, "LANG": "C.UTF-8"}).stdout

    def resize(self, columns, rows):
        self._run("resize-window", "-x", columns, "-y", rows)

    def lines(self, *options):
        return [line.rstrip() for line in self._run("capture-pane", "-p", *options).splitlines() if line.strip()]

    def with_history(self):
        """Also what has scrolled away."""
        return self.lines("-S", "-1000")

    def shows(self, *texts):
        """The lines, once they have these texts."""
        eventually(lambda: all(any(text in line for line in self.lines()) for text in texts))
        return self.lines()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._run("kill-server")


def suspended(namespace, name):
    return {"apiVersion": "api.kusion.io/v1", "kind": "Spec", "metadata": {"name": name, "namespace": namespace},
            "spec": {"suspend": True, "resources": []}}


def test_a_list_is_no_longer_than_the_terminal(shell):
    """What needs somebody is at its top, and stays there; nothing scrolls away while it is drawn again."""
    specs = [suspended(shell.namespace, f"s{i:02}") for i in range(COUNT)]
    (shell.folder / "specs.yaml").write_text(yaml.safe_dump_all(specs))
    shell.type("kubectl apply --server-side -f specs.yaml").must()
    with Tmux(shell, "kubectl kusion status --watch", 100, 8) as tmux:
        tmux.shows("s00", f"… and {COUNT - 5} more")
        shell.type("kubectl kusion reconcile s00").must()
        shell.type("kubectl delete spec s11").must()
        tmux.shows(f"… and {COUNT - 6} more")
        lines = tmux.with_history()
        assert lines[0].startswith("NAME") and len(lines) == 7, lines
        assert [line.split()[0] for line in lines[1:6]] == [f"s{i:02}" for i in range(5)], lines


def test_wide_text_of_others_wraps_no_line(shell):
    """A line that is wider than was thought is two on the terminal: then frames stay where they were drawn."""
    text = "日本✅❌⚡⭐🟢🫠ที่นี่한국e\u0301\u202e" * 20
    spec = {**suspended(shell.namespace, "wide"),
            "spec": {"resources": [{"id": text[:200], "type": "HTTP", "attributes": {}}]}}
    (shell.folder / "wide.yaml").write_text(yaml.safe_dump(spec, allow_unicode=True))
    shell.type("kubectl kusion apply -f wide.yaml --watch").must(code=1)
    for columns in (100, 101):
        with Tmux(shell, "kubectl kusion status --watch", columns, 8) as tmux:
            tmux.shows("InvalidSpec", "日本✅❌")
            for revision in range(3):  # each is a frame, and each second is one
                shell.type("kubectl kusion reconcile wide").must()
            shell.type("kubectl kusion apply -f web.yaml --watch").must()
            tmux.shows("ReconciliationSucceeded")
            lines = tmux.with_history()
            assert [line.split()[0] for line in lines] == ["NAME", "wide", "web"], "\n".join(lines)
        shell.type("kubectl delete spec web").must()


def test_a_page_is_drawn_again_where_the_terminal_became_narrower(shell):
    with Tmux(shell, "kubectl kusion apply -f stuck.yaml --watch --timeout 60s", 120, 20) as tmux:
        tmux.shows("Deployment/stuck", "Service/stuck")
        for columns in (50, 30, 80):
            tmux.resize(columns, 20)
            tmux.shows("Service/stuck")
        lines = tmux.shows("✗ HealthCheckFailed", "next:")
        for text in ("ConfigMap/stuck", "Service/stuck "):
            assert sum(text in line for line in lines) == 1, "\n".join(lines)
