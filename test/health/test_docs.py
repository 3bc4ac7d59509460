"""The scripts of docs/health.md and docs/gitops.md, as they stand there."""

import re

import pytest
import yaml

from conftest import ROOT

PAGE = ROOT / "docs/health.md"


def documents():
    return [document for block in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
            for document in yaml.safe_load_all(block)]


def of_kind(kind):
    return next(one for one in documents() if one["kind"] == kind)


DATABASE = of_kind("Spec")["spec"]["resources"][0]["extensions"]["healthPolicy"]["health.lua"]
CHECKS = of_kind("ConfigMap")["data"]
CERTIFICATE = CHECKS["resource.customizations.health.cert-manager.io_Certificate"]
ANY = yaml.safe_load(CHECKS["resource.customizations"])["*.example.com/*"]["health.lua"]


def conditions(**types):
    return {"status": {"conditions": [{"type": type, "status": status, "reason": reason, "message": f"{type} it is"}
                                      for type, (status, reason) in types.items()]}}


@pytest.mark.parametrize("script, obj, expected", [
    (DATABASE, {}, ("Progressing", "phase nil")),
    (DATABASE, {"status": {"phase": "Creating"}}, ("Progressing", "phase Creating")),
    (DATABASE, {"status": {"phase": "Online", "host": "db.example"}}, ("Healthy", "serves at db.example")),
    (DATABASE, {"status": {"phase": "Broken", "reason": "no disk"}}, ("Degraded", "no disk")),
    (CERTIFICATE, {}, ("Progressing", "waiting for the certificate")),
    (CERTIFICATE, conditions(Ready=("True", "")), ("Healthy", "Ready it is")),
    (CERTIFICATE, conditions(Issuing=("False", "Failed")), ("Degraded", "Issuing it is")),
    (ANY, {"status": {"ready": True}}, ("Healthy", "")),
    (ANY, {}, ("Progressing", "")),
])
def test_the_scripts_of_the_page(judge, script, obj, expected):
    said, = judge([{"script": script, "object": yaml.safe_dump(obj)}])
    assert (said.get("status"), said.get("message")) == expected, said


def test_the_pieces_of_lua_are_lua(judge):
    """Those in the table of Flux's expressions."""
    pieces = [cell for line in PAGE.read_text().splitlines() if line.startswith("| `")
              for cell in re.findall(r"`([^`]*(?:return|\bend\b)[^`]*)`", line.split(" | ")[1])]
    assert len(pieces) == 4
    said = judge([{"script": piece.replace("…", "return nil"), "object": "status: {phase: a, conditions: []}"}
                  for piece in pieces])
    assert not [one for one in said if "error" in one], said
