"""Where HTTP resources may connect to, however a tenant writes it, and whatever its names resolve to.

Everything is on loopback, 127.0.0.0/8. A server that nobody may reach listens at 127.0.0.1, on all
ports that the hostile addresses name; it counts who connects."""


import pytest

from kusion_e2e.canary_server import Canary, one
from kusion_e2e.controller import Controller
from kusion_e2e.rest import Rest
from kusion_e2e.specs import Spec
from kusion_e2e.wait import eventually


@pytest.fixture(scope="module")
def rest():
    server = Rest()
    yield server
    server.close()


@pytest.fixture(scope="module")
def canary():
    server = Canary()
    yield server
    server.close()


@pytest.fixture(scope="module")
def controller(state_namespace, rest, canary):
    flags = [*rest.flags, "--http-host", f"http://open.test:{canary.port}",
             "--http-host", f"http://localhost:{canary.port}",
             "--http-host", f"other/http://127.0.0.1:{canary.port}=127.0.0.1"]
    controller = Controller(state_namespace, flags=flags)
    yield controller.wait_leading()
    assert controller.stop() == 0


@pytest.fixture
def spec(controller, rest, tenant):
    rest.forget_log()
    spec = Spec(controller.cluster, tenant)
    yield spec
    if spec.get():
        spec.delete()


HOSTILE = [
    "http://127.0.0.1:{port}", "http://2130706433:{port}", "http://0x7f.1:{port}", "http://127.1:{port}",
    "http://0177.0.0.1:{port}", "http://017700000001:{port}", "http://0x7f000001:{port}",
    "http://0:{port}", "http://0.0.0.0:{port}", "http://[::1]:{port}", "http://[::]:{port}",
    "http://[::ffff:127.0.0.1]:{port}", "http://[::ffff:7f00:1]:{port}", "http://[0:0:0:0:0:ffff:7f00:0001]:{port}",
    "http://[::127.0.0.1]:{port}", "http://[64:ff9b::7f00:1]:{port}", "http://[2002:7f00:1::]:{port}",
    "http://LOCALHOST:{port}.", "http://localhost.:{port}", "http://localhost.localdomain:{port}",
    "http://ip6-localhost:{port}", "http://open.test.:{port}", "http://open.test@127.0.0.1:{port}",
    "http://open.test:{port}@127.0.0.1:{port}", "http://127.0.0.1:{port}#@open.test:{port}",
    "http://127.0.0.1:{port}?@open.test:{port}", "http://127.0.0.1:{port}\\@open.test:{port}",
    "http://127.0.0.1:{port}/\\open.test", "http:\\\\127.0.0.1:{port}", "http:127.0.0.1:{port}",
    "http:///127.0.0.1:{port}", "//127.0.0.1:{port}", "127.0.0.1:{port}", "http://127。0。0。1:{port}",
    "http://①②⑦.⓪.⓪.①:{port}", "http://open%2etest:{port}", "http://%31%32%37.0.0.1:{port}",
    "http://127.0.0.1%00.open.test:{port}", "http://open.test:{port}\r\nHost: 127.0.0.1",
    "http://open.test: {port}", "http://[fe80::1%25lo]:{port}",
    "https://127.0.0.1:{port}", "ftp://127.0.0.1:{port}", "file:///etc/passwd", "gopher://127.0.0.1:{port}/_x",
    "dict://127.0.0.1:{port}", "unix:///run/kms.sock", "http://unix:/run/kms.sock:/",
    "http://kubernetes.default.svc", "https://kubernetes.default.svc:443", "http://169.254.169.254/latest",
    "http://[fd00:ec2::254]/latest", "http://metadata.google.internal", "http://100.100.100.200",
    "$kusion_path.cloud:thing:none.url",
]


def test_no_hostile_address_leads_anywhere(spec, canary):
    hostile = [url.replace("{port}", str(canary.port)) for url in HOSTILE]
    spec.apply([one(f"a{i}", url) for i, url in enumerate(hostile)], retryInterval="1s")
    ready = spec.wait("False")
    assert ready["reason"] in ("InvalidSpec", "Unsupported"), ready
    # Each of them, too, alone: what is parsed with others may hide it.
    said = []
    for i, url in enumerate(hostile):
        spec.apply([one(f"b{i}", url)], retryInterval="1s")
        ready = spec.wait("False")
        said.append((url, ready["reason"], ready["message"]))
        assert ready["reason"] in ("InvalidSpec", "Unsupported", "AddressNotAllowed"), (url, ready)
        assert "inner-canary" not in ready["message"], ready
    assert not canary.visits, said


def test_a_name_of_the_list_that_resolves_to_an_inner_address(spec, canary):
    spec.apply([one("a", f"http://localhost:{canary.port}")], retryInterval="1s")
    ready = spec.wait("False")
    assert ready["reason"] == "AddressNotAllowed" and "127.0.0.1" not in ready["message"], ready
    assert not canary.visits


def test_a_host_of_another_namespace(spec, canary):
    spec.apply([one("a", f"http://127.0.0.1:{canary.port}")], retryInterval="1s")
    assert spec.wait("False")["reason"] == "Unsupported"
    assert not canary.visits


PATHS = ["/../x", "/a/../../x", "/%2e%2e/x", "/.%2e/x", "/%2E%2E", "/%252e%252e/x", "/x y", "/x#y",
         "/x\r\nHost: a", "x", "//open.test/x\\y", "/{x", "/{../x}", "/\u00fc", "/x\u0000y"]


def test_paths_that_leave_where_they_begin(spec, rest):
    for path in PATHS:
        spec.apply([one("a", rest.url, path)], retryInterval="1s")
        assert spec.wait("False")["reason"] == "InvalidSpec", path
    assert not rest.requests


def test_values_do_not_leave_their_segment(spec, rest):
    for value in ("..", ".", "", "%2e%2e"):
        made = one("a", rest.url, "/things/{/x}")
        made["attributes"]["x"] = value
        spec.apply([made], retryInterval="1s")
        spec.wait("False")
    sent = [path for _, path, *_ in rest.requests]
    assert set(sent) <= {"/things/%252e%252e"}, sent


@pytest.mark.parametrize("headers", [
    {"Host": "inner"}, {"authorization": "Bearer x"}, {"X-A": "b\r\nHost: inner"}, {"X-A\r\nHost": "inner"},
    {"Transfer-Encoding": "chunked"}, {"Content-Length": "0"}, {"Connection": "x"}, {"Cookie": "a=b"},
    {"X-Forwarded-For": "127.0.0.1"}, {"": "x"}, {"a b": "x"}])
def test_headers_that_are_not_a_tenants(spec, rest, headers):
    read = {"path": "/things/x", "headers": headers}
    spec.apply([one("a", rest.url, read=read)], retryInterval="1s")
    assert spec.wait("False")["reason"] == "InvalidSpec"
    assert not rest.requests


def test_a_prefix_that_ends_its_header(spec, rest):
    resource = one("a", rest.url)
    resource["extensions"]["connection"]["headersFrom"] = [
        {"name": "X-A", "secret": "rest", "key": "token", "prefix": "b\r\nHost: inner\r\nX-B: "}]
    spec.apply([resource])
    assert spec.wait("False")["reason"] == "InvalidSpec"
    assert not rest.requests


def test_redirects_are_not_followed(spec, rest, canary, monkeypatch):
    def redirect(handler):
        handler.send_response(302)
        handler.send_header("Location", f"http://127.0.0.1:{canary.port}/inner")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    monkeypatch.setattr(rest.server.RequestHandlerClass, "do_GET", redirect)
    spec.apply([one("a", rest.url)], retryInterval="1s")
    ready = spec.wait("False")
    assert "redirects are not followed" in ready["message"] and str(canary.port) not in ready["message"], ready
    assert not canary.visits


def test_answers_are_bounded_and_not_told(spec, rest, monkeypatch):
    def large(handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.end_headers()
        handler.close_connection = True
        try:
            while True:
                handler.wfile.write(b" " * (1 << 20))
        except OSError:
            pass

    def page(handler):
        body = b"<html>inner-canary page</html>"
        handler.send_response(500)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    monkeypatch.setattr(rest.server.RequestHandlerClass, "do_GET", large)
    spec.apply([one("a", rest.url)], retryInterval="1s")
    assert spec.wait("False")["reason"] == "TooLarge"
    monkeypatch.setattr(rest.server.RequestHandlerClass, "do_GET", lambda handler: handler.answer(200))
    spec.apply([one("a", rest.url)], retryInterval="1s")
    eventually(lambda: ": GET /x: status 200, the answer has no body" in spec.condition()["message"])
    assert spec.condition()["message"].count("GET /x") == 1
    monkeypatch.setattr(rest.server.RequestHandlerClass, "do_GET", page)
    spec.apply([one("b", rest.url)], retryInterval="1s", timeout="5s")
    ready = spec.wait("False")
    assert "status 500" in ready["message"] and "inner-canary" not in ready["message"], ready
