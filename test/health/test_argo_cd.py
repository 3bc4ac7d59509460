"""Argo CD's own health checks, with their test data: each says here what Argo CD expects."""

import fnmatch
import json

import yaml

from conftest import module

MODULE, VERSION = "github.com/argoproj/argo-cd/v3", "v3.6.1"

# A key stands twice in it: Argo CD's reader takes the last one, and ours refuses the object.
TWICE = "rabbitmq.com/User/testdata/unknown.yaml"


def cases(files):
    """Name, script, object, and what is expected."""
    for path in (path for path in files if path.endswith("/health_test.yaml")):
        folder = path.rsplit("/", 1)[0]
        for test in yaml.safe_load(files[path])["tests"]:
            test = {key.lower(): value for key, value in test.items()}  # as Go reads it
            expected = test.get("healthstatus") or {}
            name = f"{folder}/{test['inputpath']}"
            yield name, script_of(files, files[name]), text_of(name, files[name]), (
                expected.get("status") or "", shown(expected.get("message") or ""))


def script_of(files, text):
    """By the object's group and kind; then by folders whose names have "_" for "*"."""
    head = next(yaml.load_all(text, yaml.CBaseLoader))
    kind = f"{head['apiVersion'].rpartition('/')[0]}/{head['kind']}".lstrip("/")
    exact = files.get(f"{kind}/health.lua")
    return exact or next(files[path] for path in files if path.endswith("/health.lua")
                         and fnmatch.fnmatchcase(kind, path.removesuffix("/health.lua").replace("_", "*")))


def text_of(name, text):
    return json.dumps(yaml.load(text, yaml.CBaseLoader)) if name == TWICE else text


def shown(message):
    """As messages are shown: one line, and at most 1 KiB."""
    message = "".join(" " if ord(c) < 32 else c for c in message)
    return message if len(message.encode()) <= 1024 else message.encode()[:1021].decode(errors="ignore") + "…"


def test_argo_cds_own_health_checks_agree(judge):
    all_cases = list(cases(module(MODULE, VERSION, "resource_customizations")))
    answers = judge([{"script": script, "object": text} for _, script, text, _ in all_cases])
    differ = []
    for (name, _, _, expected), said in zip(all_cases, answers):
        got = (said.get("status", "error"), said.get("message", said.get("error")))
        if got != expected:
            differ.append(f"{name}: {got} is not {expected}")
    print(f"{len(all_cases)} cases of {len({script for _, script, _, _ in all_cases})} scripts")
    assert len(all_cases) > 1000
    assert not differ, "\n".join(differ)
