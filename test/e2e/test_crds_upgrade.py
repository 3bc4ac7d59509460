"""Specs that were stored before the CRD refused what they have: they can still be read, changed
elsewhere, told of in their status, and deleted."""

import os

import pytest
import yaml

from kusion_e2e.cluster import Cluster
from kusion_e2e.controller import STATE, Controller
from kusion_e2e.kinds import crd_of, is_of_later
from kusion_e2e.rights import account, wait_until_may
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.wait import eventually

OF_LATER = {
    "driftDetection": {"mode": "warn"},
}


def without_rules(node):
    """The schema of a version that let them through."""
    if isinstance(node, list):
        return [without_rules(one) for one in node]
    if not isinstance(node, dict):
        return node
    return {key: without_rules(value) for key, value in node.items()
            if key != "x-kubernetes-validations" or not is_of_later(node)}


@pytest.fixture
def before():
    """A control plane with the CRDs of before, and an operator."""
    cluster = Cluster.up(f"e2e-upgrade-{os.getpid()}")
    controller = None
    try:
        cluster.kubectl("create", "namespace", STATE)
        cluster.kubectl("create", "clusterrolebinding", "all", "--clusterrole=cluster-admin",
                        "--serviceaccount=default:default")
        for kind in ("Spec", "Release"):
            cluster.kubectl("apply", "--server-side", "-f", "-", input=yaml.safe_dump(without_rules(crd_of(kind))))
        cluster.wait_for_crds()
        wait_until_may(cluster, account("default"), "*", "*", group="*")
        controller = Controller(cluster).wait_leading()
        yield cluster
    finally:
        if controller:
            controller.stop()
        cluster.down()


def test_a_spec_of_before_is_kept_and_goes(before):
    spec = Spec(before, "default").apply([config_map("a", "default")])
    spec.wait("True")
    spec.apply([config_map("a", "default")], **OF_LATER)
    assert spec.wait("False")["reason"] == "Unsupported"

    before.install_crds()
    fresh = {"apiVersion": "api.kusion.io/v1", "kind": "Spec", "metadata": {"name": "fresh", "namespace": "default"}}

    def is_in_force():
        answer = before.api.create(f"{spec.path.rpartition('/')[0]}?dryRun=All",
                                   {**fresh, "spec": {"resources": [], "dependsOn": [{"name": "a"}]}})
        return answer.code == 422 and "not supported by this version" in answer.message

    eventually(is_in_force)
    assert before.api.patch(spec.path, {"spec": {"dependsOn": [{"name": "a"}]}}).code == 422
    before.api.patch(spec.path, {"metadata": {"labels": {"a": "b"}}}).must()
    spec.generation = before.api.patch(spec.path, {"spec": {"interval": "1h"}}).must().object["metadata"]["generation"]
    ready = spec.wait("False")  # of the new generation: the status can be written
    assert ready["reason"] == "Unsupported" and f"{len(OF_LATER)} problems" in ready["message"], ready
    spec.delete()  # with the finalizer that it has
    assert before.get_json("configmap", "a", "-n", "default") is None
