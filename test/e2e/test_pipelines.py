"""docs/pipelines.md: its commands, as they stand there."""

import json

import pytest

from kusion_e2e.pages import snippets
from kusion_e2e.shell import type_in
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.wait import eventually

APPLY, CHECK, PREVIEW = snippets("pipelines.md", __file__)


class Pipeline:
    """The page's commands for the Spec "web" of a namespace, in a directory."""

    def __init__(self, cluster, namespace, directory):
        self.cluster, self.namespace, self.directory = cluster, namespace, directory
        self.spec = Spec(cluster, namespace, "web")

    def write(self, name, body):
        text = json.dumps({"apiVersion": "api.kusion.io/v1", **body})
        (self.directory / name).write_text(text)

    def write_spec(self, *resources, **fields):
        self.write("spec.yaml", {"kind": "Spec",
                                 "metadata": {"name": "web", "namespace": self.namespace},
                                 "spec": {"resources": list(resources), **fields}})

    def run(self, command):
        text = "set -e\n" + command.replace("team-a", self.namespace)
        return type_in(self.cluster, text, self.directory)

    def must(self, command):
        result = self.run(command)
        assert result.returncode == 0, result.stdout + result.stderr
        return result

    def must_fail(self, command, text):
        result = self.run(command)
        assert result.returncode == 1 and text in result.stderr, result.stdout + result.stderr


@pytest.fixture
def pipeline(controlled, tenant, tmp_path):
    yield Pipeline(controlled, tenant, tmp_path)
    controlled.kubectl("delete", "spec", "web", "-n", tenant, "--ignore-not-found")


def missing(namespace):
    return config_map("a", f"{namespace}-not")


def test_apply_ends_well_and_badly(pipeline):
    namespace = pipeline.namespace
    pipeline.write_spec(config_map("a", namespace))
    pipeline.must(APPLY)
    pipeline.must(APPLY)  # nothing changed
    pipeline.write_spec(config_map("a", namespace, depends_on=["nope"]))
    pipeline.must_fail(APPLY, "nope")
    wrong = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": namespace},
             "spec": {"ports": [{"port": 99999}]}}
    pipeline.write_spec(resource(wrong))
    pipeline.must_fail(APPLY, "port")
    pipeline.write_spec(config_map("a", namespace))
    pipeline.must(APPLY)


def test_apply_waits_for_what_may_heal(pipeline):
    """It is neither a success nor a failure until `timeout` has passed, or the cause is gone."""
    namespace = pipeline.namespace
    pipeline.write_spec(missing(namespace), timeout="4s", retryInterval="30s")
    pipeline.must_fail(APPLY, f'namespaces "{namespace}-not" not found')
    first, conditions = None, {}

    def is_reconciling():
        conditions.update({one["type"]: one for one in pipeline.spec.get()["status"]["conditions"]})
        return conditions["Ready"]["status"] == "False"

    pipeline.spec.apply([missing(namespace)], timeout="60s", retryInterval="1s")
    eventually(lambda: pipeline.spec.condition() and is_reconciling())
    assert conditions["Reconciling"]["status"] == "True" and "Stalled" not in conditions
    assert conditions["Finished"]["status"] == "False", conditions
    first = pipeline.spec.get()["status"]["failingSince"]
    pipeline.cluster.kubectl("create", "namespace", f"{namespace}-not")
    pipeline.spec.wait("True")
    assert first and "failingSince" not in pipeline.spec.get()["status"]
    pipeline.cluster.kubectl("delete", "spec", "web", "-n", namespace)
    pipeline.cluster.delete_namespace(f"{namespace}-not")


def test_a_suspended_spec_ends_the_wait_and_keeps_what_it_was(pipeline):
    namespace = pipeline.namespace
    pipeline.write_spec(config_map("a", namespace))
    pipeline.must(APPLY)
    pipeline.write_spec(config_map("a", namespace, {"new": "value"}), suspend=True)
    pipeline.must_fail(APPLY, "suspended (spec.suspend is true)")
    status = pipeline.spec.get()["status"]
    ready = next(one for one in status["conditions"] if one["type"] == "Ready")
    assert (ready["status"], ready["reason"], ready["observedGeneration"]) == ("True", "Suspended", 1)
    assert status["observedGeneration"] == 2
    pipeline.write_spec(config_map("a", namespace, {"new": "value"}))
    pipeline.must(APPLY)


def test_who_waits_by_kstatus_is_not_held_by_a_spec_that_is_suspended(pipeline):
    """Flux waits for what it has applied by kstatus; a Spec waits for the Specs among its resources by the same rules."""
    namespace = pipeline.namespace
    outer = Spec(pipeline.cluster, namespace, "outer")

    def inner(**fields):
        return resource({"apiVersion": "api.kusion.io/v1", "kind": "Spec", "metadata": {"name": "web", "namespace": namespace},
                         "spec": {"resources": [config_map("a", namespace)], **fields}})

    outer.apply([inner()]).wait("True")
    outer.apply([inner(suspend=True)]).wait("True")
    assert pipeline.spec.get()["metadata"]["generation"] == 2
    outer.delete()
    outer.apply([inner(suspend=True)])  # it was never applied: nobody takes that for done

    def waits():
        ready = outer.condition()
        assert ready and "web: not Ready: suspended" in ready["message"], ready
        return ready

    eventually(waits)
    outer.delete()


def test_check_ends(pipeline):
    namespace = pipeline.namespace
    pipeline.write_spec(config_map("a", namespace))
    pipeline.must(APPLY)
    pipeline.must(CHECK)
    pipeline.cluster.kubectl("delete", "configmap", "a", "-n", namespace)
    pipeline.must(CHECK)
    assert pipeline.cluster.get_json("configmap", "a", "-n", namespace)
    pipeline.spec.apply([config_map("a", namespace, depends_on=["nope"])])
    pipeline.must_fail(CHECK, "condition not met")


def test_preview_ends(pipeline):
    namespace = pipeline.namespace
    pipeline.write("preview.yaml", {"kind": "Release",
                                    "metadata": {"generateName": "preview-", "namespace": namespace},
                                    "spec": {"specRef": {"name": "web"}, "operation": "Preview"}})
    pipeline.must_fail(PREVIEW, "condition not met")  # there is no such Spec
    pipeline.write_spec(config_map("a", namespace), suspend=True)
    pipeline.run(APPLY)
    assert json.loads(pipeline.must(PREVIEW).stdout.splitlines()[-1])["create"] == 1
