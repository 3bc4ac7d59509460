"""Where the controller keeps State and its Lease when it is not told."""

import os
import shutil
import subprocess

import pytest

from kusion_e2e.cluster import tool
from kusion_e2e.controller import PROGRAM, STATE, Controller
from kusion_e2e.wait import eventually

LEASE = "/apis/coordination.k8s.io/v1/namespaces/{}/leases/kusion-operator"


def in_namespace(cluster, kubeconfig, namespace):
    """Makes it the namespace of the current context, and gives that."""
    config = ("--kubeconfig", kubeconfig, "config")
    cluster.run(tool("kubectl"), *config, "set-context", "--current", f"--namespace={namespace}")
    return cluster.run(tool("kubectl"), *config, "current-context").stdout.strip()


@pytest.mark.parametrize("given", ["kubeconfig", "context"])
def test_the_namespace_of_a_context_is_not_the_controllers(
        state_namespace, namespace, tmp_path, given):
    cluster = state_namespace
    path = shutil.copy(cluster.kubeconfig, tmp_path / "kubeconfig")
    context = in_namespace(cluster, path, namespace)
    flags = {"kubeconfig": ["--kubeconfig", path], "context": ["--context", context]}[given]
    process = subprocess.Popen(
        [PROGRAM, *flags, "--health-bind-address", "", "--metrics-bind-address", ""],
        env={**os.environ, "KUBECONFIG": str(path)}, stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: cluster.api.get(LEASE.format(STATE)).code == 200)
        assert cluster.api.get(LEASE.format(namespace)).code == 404
    finally:
        process.kill()
        process.wait()
        cluster.kubectl("delete", "lease", "kusion-operator", "-n", STATE, "--ignore-not-found")


def test_tls_keys_are_not_written(state_namespace, tmp_path):
    """libcurl would, where SSLKEYLOGFILE is set."""
    keys = tmp_path / "keys"
    controller = Controller(state_namespace, environment={"SSLKEYLOGFILE": str(keys)})
    try:
        controller.wait_leading()
        assert not keys.exists()
    finally:
        controller.stop()
