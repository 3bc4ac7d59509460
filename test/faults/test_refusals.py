"""Requests that are refused, once or for a while."""

import pytest

from kusion_faults.faults import odd, rule, says
from kusion_e2e.wait import eventually


@pytest.mark.parametrize("code", [400, 403, 404, 405, 406, 413, 415, 422])
def test_spec_4xx(stage, code):
    """The read of a Spec is refused twice: of a new one, which is read as it came and then as it is, and
    of one that is Ready."""
    spec = stage.spec()
    for value in ("1", "2"):
        stage.main.rules(rule("refused", verb="GET", path=stage.of(spec), times=2, **says(code)))
        spec.apply([stage.config("a", value)], retryInterval="1s")
        stage.main.wait_fired("refused", 2)
        stage.ready(spec, 20)
        assert stage.value("a") == value
    spec.delete()


@pytest.mark.parametrize("code", [403, 422])
def test_status_refused(stage, code):
    """The status of a Spec cannot be written: its Release is not made again and again."""
    spec = stage.spec()
    stage.main.rules(rule("refused", verb="PUT", path=stage.of(spec, "/status"), times=-1, **says(code)))
    spec.apply([stage.config("a")], retryInterval="1s")
    stage.main.wait_fired("refused", 3)
    assert stage.phases(spec) == ["succeeded"]
    stage.main.rules()
    stage.ready(spec, 30)
    assert stage.phases(spec) == ["succeeded"]
    spec.delete()


def test_status_lost_once(stage):
    """The same once, by an answer that cannot be read."""
    spec = stage.spec()
    stage.main.rules(rule("odd", verb="PUT", path=stage.of(spec, "/status"), **odd("{}")))
    spec.apply([stage.config("a")])
    stage.ready(spec, 30)
    assert stage.phases(spec) == ["succeeded"]
    spec.delete()


def test_finalizer_refused(stage):
    """The finalizer cannot be set: the Spec says so, and nothing is made."""
    spec = stage.spec()
    stage.main.rules(rule("refused", verb="PATCH", path=stage.of(spec), times=-1, **says(403)))
    since = len(stage.main.requests())
    spec.apply([stage.config("a")])
    ready = spec.wait("False", 20)
    assert ready["reason"] == "Forbidden" or "finalizer" in ready["message"], ready
    assert stage.ours() == []
    assert len(stage.main.requests(since)) < 100
    stage.main.rules()
    stage.api.delete(spec.path)
    eventually(lambda: stage.api.get(spec.path).code == 404)


WRITES = {"post-state": ("POST", "/configmaps$"), "put-state": ("PUT", "/configmaps/kusion-"),
          "post-release": ("POST", "/releases$")}
ONCE = {"503": says(503), "504": says(504), "drop": {"do": "drop", "at": "before"},
        "409": says(409), "409-after": says(409, "after")}


@pytest.mark.parametrize("document", WRITES)
@pytest.mark.parametrize("fault", ONCE)
def test_once_is_no_failure(stage, document, fault):
    """One failure of a write that can be tried again at once is no failed Release, which waits for
    the retryInterval. A 409 is one of them if nobody changed the object: an API server answers so, too,
    when it cannot update a ResourceQuota."""
    verb, path = WRITES[document]
    stage.main.rules(rule("once", verb=verb, path=path, **ONCE[fault]))
    spec = stage.spec().apply([stage.config("a")])
    stage.main.wait_fired("once")
    stage.ready(spec, 20)
    assert stage.phases(spec) == ["succeeded"]
    spec.delete()
