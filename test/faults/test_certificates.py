"""Certificates and tokens that are exchanged while the operator works."""

import subprocess
import time

import pytest

from kusion_faults.faults import rule, says
from kusion_faults.life import new_mark
from kusion_e2e.wait import eventually


@pytest.mark.parametrize("file_first", [True, False], ids=["file-first", "file-late"])
def test_ca_rotation(bare, file_first):
    """The API server's certificate moves to a new CA. Two replicas; the file with the CA has both
    CAs before it, or gets them some seconds later."""
    old, new = f"old-{new_mark()}", f"new-{new_mark()}"
    lane = bare.lane(authority=old)
    bare.operator(lane)
    bare.operator(lane)
    spec = bare.spec().apply([bare.config("a")])
    bare.ready(spec)
    if file_first:
        lane.trust(old, new)
    lane.change_authority(new)
    lane.cut()
    spec.apply([bare.config("a", "2")])
    if not file_first:
        time.sleep(4)
        assert bare.value("a") == "1"
        lane.trust(old, new)
    for one in bare.operators:
        one.watch()
    eventually(lambda: [one.watch() for one in bare.operators] and bare.value("a") == "2", 40)
    bare.ready(spec)
    spec.delete()


def certificate(folder, name):
    """A certificate with a new key, in the files that a kubeconfig names. Gives its serial number."""
    for kind in ("crt", "key"):
        (folder / f"new.{kind}").unlink(missing_ok=True)
    subprocess.run(["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-subj", f"/CN={name}", "-days", "1", "-keyout",
                    folder / "new.key", "-out", folder / "new.crt"], check=True, capture_output=True)
    for kind in ("key", "crt"):
        (folder / f"new.{kind}").rename(folder / f"client.{kind}")
    serial = subprocess.run(["openssl", "x509", "-noout", "-serial", "-in", folder / "client.crt"],
                            check=True, capture_output=True, text=True).stdout
    return str(int(serial.strip().partition("=")[2], 16))


def test_client_certificate_rotation(bare, tmp_path):
    """The files of the client certificate are exchanged: new connections use the new one."""
    first = certificate(tmp_path, "first")
    lane = bare.lane(user={"client-certificate": str(tmp_path / "client.crt"),
                           "client-key": str(tmp_path / "client.key")})
    bare.operator(lane)
    spec = bare.spec().apply([bare.config("a")])
    bare.ready(spec)
    assert {one["certificate"] for one in lane.requests()} == {first}
    second = certificate(tmp_path, "second")
    lane.cut()
    try:
        eventually(lambda: lane.requests()[-1]["certificate"] == second, 15)
    finally:
        spec.delete()


def token(stage, name):
    """A token of a ServiceAccount of the room."""
    path = f"/api/v1/namespaces/{stage.tenant}/serviceaccounts/{name}/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    return stage.api.create(path, body).must().object["status"]["token"]


def test_token_rotation(bare, tmp_path):
    """The token in the file is revoked, and later replaced, in the middle of an apply."""
    file = tmp_path / "token"
    file.write_text(token(bare, "default"))  # the room's default account may do everything
    lane = bare.lane(passes=True, user={"tokenFile": str(file)})
    process = bare.operator(lane)
    spec = bare.spec().apply([bare.config("a")], retryInterval="1s")
    bare.ready(spec)
    lane.rules(rule("revoked", times=-1, **says(401)))
    spec.apply([bare.config("a", "2"), *(bare.config(f"c{n}") for n in range(20))], retryInterval="1s")
    lane.wait_fired("revoked")
    time.sleep(1)
    new = tmp_path / "new"
    new.write_text(token(bare, "default"))
    new.rename(file)
    lane.rules()
    bare.ready(spec, 40)
    assert process.process.poll() is None
    spec.delete()
    bare.gone(spec)
