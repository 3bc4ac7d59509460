"""docs/releases.md: its commands, as they stand there."""

import pytest

from kusion_e2e.pages import snippets
from kusion_e2e.shell import type_in
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.state_backend import need_objects

LIST, RESULTS, FIELDS = snippets("releases.md", __file__)


@pytest.fixture
def run(controlled, tenant):
    """A Spec that was applied, and changed so that one resource fails; and the page's commands."""
    spec = Spec(controlled, tenant, "web")
    spec.apply([config_map("a", tenant), config_map("b", tenant)]).wait("True")
    spec.apply([config_map("a", tenant, {"a": "new", "c": "d"}), config_map("b", tenant),
                config_map("extra", f"{tenant}-not")]).wait("False")

    def type_snippet(command):
        result = type_in(controlled, command.replace("team-a", tenant))
        assert result.returncode == 0, result.stderr
        return [" ".join(line.split()) for line in result.stdout.splitlines()]

    yield type_snippet
    spec.delete()


def test_the_commands_of_the_page(run, tenant):
    need_objects()
    head, first, second = run(LIST)
    assert head == "NAME OPERATION REVISION PHASE SUMMARY APPROVER AGE"
    assert first.startswith("web-1 Apply 1 succeeded 2 created ")
    assert second.startswith("web-2 Apply 2 failed ConfigMap/extra: namespaces ")
    assert run(RESULTS) == [f"create succeeded v1:ConfigMap:{tenant}:{name}" for name in "ab"]
    assert run(FIELDS) == [f"v1:ConfigMap:{tenant}:a", 'data.a: "b" -> "new"', 'data.c: -> "d"']
