"""kstatus' own cases: what it expects of an object is what our rules say, but for what is named here with its reason."""

import datetime
import json
import re

import yaml

from conftest import module

MODULE, VERSION = "sigs.k8s.io/cli-utils", "v0.37.2"

# Name of a case: what our rules say instead, and why.
DIFFERENT = {
    "podCompletedFailed": ("Failed", "it has not done what the Spec has it for"),
    "podUnschedulable": ("InProgress", "a cluster that grows gets a node for it"),
    "serviceLBok": ("InProgress", "what refers to the address of a load balancer waits for it"),
}


def cases(source):
    """Name, object, expected status of each entry of the tables."""
    texts = dict(re.findall(r"^var (\w+) = `(.*?)`", source, re.MULTILINE | re.DOTALL))
    now = datetime.datetime.now(datetime.timezone.utc).isoformat()
    for name, spec, status in re.findall(
            r'"(\w+)": \{\s*spec:\s*(?:fmt\.Sprintf\()?(\w+).*?expectedStatus:\s*(\w+)Status', source, re.DOTALL):
        # A key stands twice in some: the last one counts there.
        yield name, texts[spec].replace("%s", f'"{now}"'), status


def test_kstatus_own_cases_agree(judge):
    source = module(MODULE, VERSION, "pkg/kstatus/status")["status_compute_test.go"]
    all_cases = list(cases(source))
    answers = judge([{"object": json.dumps(yaml.load(text, yaml.CSafeLoader), default=str)} for _, text, _ in all_cases])
    differ = []
    for (name, _, expected), said in zip(all_cases, answers):
        wanted = DIFFERENT.get(name, (expected,))[0]
        if said.get("status") != wanted:
            differ.append(f"{name}: {said} is not {wanted}")
    assert len(all_cases) == source.count("expectedStatus:")
    assert not set(DIFFERENT) - {name for name, _, _ in all_cases}
    assert not differ, "\n".join(differ)
