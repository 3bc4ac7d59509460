"""Many sequences at once, in namespaces of their own, on one control plane with one operator."""

import json
import os
import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from kusion_model import paths  # noqa: F401
from kusion_model.play import Play
from kusion_model.real import Real
from kusion_e2e.controller import STATE, Controller
from kusion_e2e.wait import eventually

WIDGETS = "widgets.model.kusion.io"
APART = 4.0  # seconds between two kills: some work is to be done meanwhile
FLAGS = ("--concurrent", "8")
JOBS = 8 * (os.cpu_count() or 1)  # most of the time they wait


def install_widgets(cluster):
    text = {"type": "object", "properties": {"size": {"type": "integer"}, "color": {"type": "string"}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {
        "openAPIV3Schema": {"type": "object", "properties": {"spec": text}}}}
    cluster.apply(json.dumps({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": WIDGETS},
        "spec": {"group": "model.kusion.io", "scope": "Namespaced", "versions": [version],
                 "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"}}}))
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", WIDGETS)
    eventually(lambda: cluster.api.get("/apis/model.kusion.io/v1/widgets?limit=1").must())


def allow_everything(cluster):
    """To all ServiceAccounts: a binding for each namespace would take longer than a sequence."""
    cluster.apply(json.dumps({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "model"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                    "name": "cluster-admin"},
        "subjects": [{"kind": "Group", "name": "system:serviceaccounts",
                      "apiGroup": "rbac.authorization.k8s.io"}]}))


class Party:
    def __init__(self, cluster, jobs):
        cluster.install_crds()
        install_widgets(cluster)
        allow_everything(cluster)
        cluster.ensure_namespace(STATE)
        self._cluster = cluster
        self._rooms = queue.SimpleQueue()
        self._lock = threading.RLock()
        self._numbers = iter(range(1 << 30))
        self.kills, self._last_kill = 0, 0.0
        self._controller = Controller(cluster, flags=FLAGS).wait_leading()
        self._executor = ThreadPoolExecutor(jobs)

    def close(self):
        self._executor.shutdown(cancel_futures=True)
        self._controller.crash()
        self._controller.log.unlink(missing_ok=True)

    def kill(self):
        """SIGKILL, and another process at once, which need not wait for the dead one's Lease."""
        with self._lock:
            if time.monotonic() - self._last_kill < APART:
                return
            self.kills += 1
            assert self._controller.process.poll() is None, self.operator_log()[-3000:]
            self._controller.crash()
            self._controller.log.unlink(missing_ok=True)
            self._controller = Controller(self._cluster, flags=FLAGS).wait_leading()
            self._last_kill = time.monotonic()

    def submit(self, steps, seed=0):
        return self._executor.submit(self._play, steps, seed)

    def _play(self, steps, seed):
        """Its Outcome. A namespace is used again unless something was found in it."""
        with self._lock:
            number = next(self._numbers)
            try:
                namespace = self._rooms.get_nowait()
            except queue.Empty:
                namespace = self._cluster.new_namespace("model")
        real = Real(self._cluster.kubeconfig, namespace, f"s{number}", self.kill)
        outcome = Play(real, steps, lambda: self.kills, seed).run()
        if outcome:
            real.clean()
            self._rooms.put(namespace)
        else:
            outcome.log.append(f"in namespace {namespace}, Spec s{number}")
            outcome.log += real.told()
            outcome.log += self._told_of(namespace)
        real.api.close()
        return outcome

    def first_failing(self, batch):
        """The index of the first of these sequences that fails; None: none does."""
        futures = [self.submit(steps, i) for i, steps in enumerate(batch)]
        found = None
        for i, future in enumerate(futures):
            if found is not None:
                future.cancel()
            elif not future.result():
                found = i
        return found

    def _told_of(self, namespace):
        """What the operator's log has of it, since the last kill."""
        with self._lock:  # a kill takes the log away
            lines = self.operator_log().splitlines()
        return [f"log: {line[:400]}" for line in lines if namespace in line][-20:]

    def operator_log(self):
        return self._controller.log.read_text()
