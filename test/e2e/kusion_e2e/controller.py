"""The built controller as a process: started, killed, frozen."""

import os
import re
import signal
import subprocess
import tempfile
from pathlib import Path

from kusion_e2e import state_backend
from kusion_e2e.paths import ROOT
from kusion_e2e.wait import eventually

STATE = "kusion-system"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"
PROGRAM = os.environ.get("KUSION_OPERATOR", str(ROOT / "build/release/bin/kusion-operator"))


def cli_folder():
    """Where kubectl-kusion is: beside the operator, unless KUSION_CLI names it."""
    return Path(os.environ.get("KUSION_CLI", Path(PROGRAM).with_name("kubectl-kusion"))).resolve().parent


def release_lease(cluster, state):
    """Of a process that was killed: the next one need not wait until it runs out."""
    answer = cluster.api.patch(f"{LEASES.format(state)}/kusion-operator", {"spec": {"holderIdentity": None}})
    assert answer.ok or answer.code == 404, answer


class Controller:
    """One process. Several may run side by side: they share one Lease."""

    def __init__(self, cluster, kubeconfig=None, state=STATE, flags=(), program=PROGRAM,
                 environment=None):
        self.cluster, self.state = cluster, state
        self.log = Path(tempfile.mkstemp(prefix="kusion-operator-", suffix=".log")[1])
        command = [program, "--kubeconfig", str(kubeconfig or cluster.kubeconfig),
                   "--state-namespace", state, "--health-bind-address", "",
                   "--metrics-bind-address", "", "--min-interval", "1s", "--api-request-timeout", "2s",
                   *state_backend.flags(cluster, state, flags), *flags]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stderr=log,
                                            env={**os.environ, **(environment or {})})

    def is_leading(self):
        assert self.process.poll() is None, self.log.read_text()[-3000:]
        return '"message":"reconciling"' in self.log.read_text()

    def logged(self):
        return self.log.read_text()

    def wait_leading(self):
        eventually(self.is_leading)
        return self

    def token(self):
        """With which its store can be accepted; None: it does not refuse it."""
        found = re.findall(r"--accept-store=([0-9a-f]+)", self.logged())
        return found[-1] if found else None

    @classmethod
    def accepting(cls, cluster, flags=(), **more):
        """One that leads, started by a person who accepts its store where it refuses it."""
        controller = cls(cluster, flags=flags, **more).wait_leading()
        token = controller.token()
        if not token:
            return controller
        controller.crash()
        return cls(cluster, flags=[*flags, f"--accept-store={token}"], **more).wait_leading()

    def kill9(self):
        self.process.kill()
        self.process.wait()

    def crash(self, is_recorded=False):
        """kill -9, and nobody holds its Lease: the next one need not wait until it runs out. (One
        that is made anew begins with the time, and may be behind what it was.) Unless its death is
        to be recorded, nothing that was under way is suspected of it, however often that is."""
        self.kill9()
        release_lease(self.cluster, self.state)
        if not is_recorded:
            answer = self.cluster.api.delete(f"{LEASES.format(self.state)}/kusion-operator-under-way")
            assert answer.ok or answer.code == 404, answer

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def stop(self):
        """As Kubernetes does. Gives the exit status."""
        if self.process.poll() is None:
            self.thaw()
            self.process.terminate()
        try:
            return self.process.wait(timeout=90)
        except subprocess.TimeoutExpired:
            self.kill9()
            raise
        finally:
            self.log.unlink(missing_ok=True)
