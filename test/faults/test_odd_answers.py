"""Answers that are not what was asked for: they are not believed, and nothing ends by them."""

import json

import pytest

from kusion_faults.faults import BODIES, exactly, odd, rule, status


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


def absent(kind, name):
    """What an API server says of an object that it does not have."""
    return json.dumps({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                       "message": f'{kind} "{name}" not found', "reason": "NotFound", "code": 404,
                       "details": {"name": name, "kind": kind}})


@pytest.mark.parametrize("kind", ["namespaces", "nodes", None])
def test_a_namespace_is_there_as_long_as_its_spec(stage, kind):
    """A 404 for it does not say that its objects are gone."""
    spec = stage.spec().apply([stage.config("a"), stage.config("b")])
    stage.ready(spec)
    body = absent(kind, stage.tenant) if kind else status(404)
    stage.main.rules(rule("absent", "answer", "before", verb="GET", times=1, code=404, body=body,
                          path=exactly(f"/api/v1/namespaces/{stage.tenant}")[:-1] + r"(\?|$)"))
    stage.api.delete(spec.path).must()
    stage.gone(spec)
    stage.main.wait_fired("absent")
    assert stage.ours() == []


LEASES = ["empty", "braces", "404", *(pytest.param(body, marks=pytest.mark.long) for body in BODIES
                                      if body not in ("empty", "braces"))]


@pytest.mark.parametrize("flags", [(), ("--http1",)], ids=["http2", "http1"])
@pytest.mark.parametrize("body", LEASES)
def test_a_lease_whose_answer_is_odd_is_kept(bare, body, flags):
    """The leader goes on: it renews again in time."""
    main = bare.lane()
    operator = bare.operator(main, *flags)
    leases = "/leases/kusion-operator"
    fault = ({"do": "answer", "at": "before", "code": 404, "body": absent("nodes", "kusion-operator")}
             if body == "404" else odd(BODIES[body]))
    main.rules(rule("odd", verb="PUT", path=leases, **fault))
    main.wait_fired("odd")
    spec = bare.spec().apply([bare.config("a")])
    spec.wait("True", 20)
    assert operator.process.poll() is None, operator.text()[-3000:]
    assert "stopping" not in operator.text()
    bare.api.delete(spec.path).must()
    bare.gone(spec)
