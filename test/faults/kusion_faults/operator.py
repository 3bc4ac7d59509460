"""The operator behind a lane of the proxy: started, killed, and started again where it ended."""

import os
import re
import subprocess
import time

from kusion_faults import paths  # noqa: F401
from kusion_e2e.controller import PROGRAM
from kusion_e2e.wait import eventually

LEASE = "kusion-operator"
SANITIZER = re.compile(r"AddressSanitizer|LeakSanitizer|runtime error:|ThreadSanitizer")


class Operator:
    """One at a time. A process that ends is started again, as Kubernetes does it, by `watch`."""

    def __init__(self, cluster, lane, room, flags=(), environment=None):
        self.cluster, self.lane, self.room = cluster, lane, room
        self.log = lane.kubeconfig.with_suffix(".log")
        self.crashes = []  # signals and exit codes that are no plain failure
        self.ended = 0     # how often it ended by itself
        self._command = [PROGRAM, "--kubeconfig", str(lane.kubeconfig), "--state-namespace", room.state,
                         "--watch-namespace", room.tenant, "--health-bind-address", "",
                         "--metrics-bind-address", "", "--api-request-timeout", "2s", *flags]
        self._environment = {**os.environ, **(environment or {})}
        self.process = None
        self.start()

    def start(self):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self._command, stderr=log, env=self._environment)
        return self

    def kill9(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def restart(self):
        """kill -9, and start: the next one does not wait for the dead one's Lease."""
        self.kill9()
        self.free_lease()
        return self.start()

    def free_lease(self):
        """A Lease that is made anew begins with the time. One that changed hands often is ahead of
        that, and what was written under it then counts as a later leader's. So it stays."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/{self.room.state}/leases/{LEASE}"
        self.room.api.patch(path, {"spec": {"holderIdentity": None}})

    def watch(self):
        """Starts it again if it has ended."""
        code = self.process.poll()
        if code is None:
            return
        self.ended += 1
        self._judge(code)
        self.free_lease()
        time.sleep(0.3)
        self.start()

    def _judge(self, code):
        if code not in (0, 1):
            self.crashes.append(f"it ended with {code}: {self.text()[-1500:]}")

    def text(self):
        return self.log.read_text(errors="replace")

    def leads(self):
        assert self.process.poll() is None, self.text()[-3000:]
        return '"message":"reconciling"' in self.text()

    def wait_leading(self):
        eventually(self.leads, every=0.02)
        return self

    def stop(self):
        """As Kubernetes does. Gives what was wrong with the process, as a list of texts."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self._judge(self.process.wait(timeout=40))
            except subprocess.TimeoutExpired:
                self.crashes.append("it did not end within 40 s of SIGTERM")
        else:
            self._judge(self.process.returncode)
        self.kill9()
        report = SANITIZER.search(self.text())
        if report:
            self.crashes.append(self.text()[report.start():][:3000])
        return self.crashes
