"""Answers that are not what was asked for: they are not believed, and nothing ends by them."""

import pytest

from kusion_faults.faults import BODIES, odd, rule


@pytest.mark.parametrize("body", BODIES)
def test_destroy_odd_answers(stage, body):
    """The looks at an object that is to be deleted."""
    spec = stage.spec().apply([stage.config("a"), stage.config("b", depends_on=[
        f"v1:ConfigMap:{stage.tenant}:a"])])
    stage.ready(spec)
    stage.main.rules(rule("odd", verb="GET", path=stage.on("a"), times=2, **odd(BODIES[body])),
                     rule("list", verb="GET", path=r"/configmaps\?limit", times=1, **odd(BODIES[body])))
    stage.api.delete(spec.path).must()
    stage.gone(spec)
    assert stage.ours() == []


DOCUMENTS = {
    "post-release": ("POST", "/releases$"), "get-release": ("GET", "/releases/spec-"),
    "put-release": ("PUT", "/releases/spec-.*/status"), "put-status": ("PUT", "/specs/spec-.*/status"),
    "get-spec": ("GET", "/specs/spec-"), "finalizer": ("PATCH", "/specs/spec-"),
    "post-state": ("POST", "/configmaps$"), "put-state": ("PUT", "/configmaps/kusion-"),
    "get-state": ("GET", "/configmaps/kusion-"), "list-releases": ("GET", r"/releases\?fieldSelector"),
}


@pytest.mark.parametrize("bodies", [("braces", "empty"), pytest.param(
    ("null", "list", "another", "status-200", "garbage"), marks=pytest.mark.long)], ids=["some", "others"])
@pytest.mark.parametrize("document", DOCUMENTS)
def test_null_crash(stage, document, bodies):
    """What the operator keeps: each odd answer once, in a life of create, update and delete."""
    verb, path = DOCUMENTS[document]
    for body in bodies:
        stage.main.rules(rule("odd", verb=verb, path=path, **odd(BODIES[body])))
        spec = stage.spec().apply([stage.config("a")], retryInterval="1s")
        stage.ready(spec)
        spec.apply([stage.config("b")], retryInterval="1s")
        stage.ready(spec)
        assert stage.ours() == ["b"]
        stage.api.delete(spec.path).must()
        stage.gone(spec)
        assert stage.ours() == []
        assert stage.process.process.poll() is None, stage.process.text()[-3000:]
