"""What one tenant does without end so that the operator has no time for another: for `hack/bench fairness`."""

import copy
import itertools
import multiprocessing
import re
import socket
import time

from kusion_e2e.kinds import new_release, path_of
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.starvation import FOR_EVER, Burden, balancer
from kusion_e2e.tenancy import DEPLOYER, ApiAs, fetch
from kusion_e2e.terraform import thing, things_flags

REQUESTED = "api.kusion.io/reconcile-requested-at"
MIB = 1 << 20  # most of a Spec
IDLE = 5  # keys that are ready, of an operator that has done what it was asked for


def is_ready(status):
    return any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions", []))


class Storm(Burden):
    """A burden that goes on until its end, in processes of its own, so that who measures has time: `work` is called
    in each. It is over when all have returned and the operator has nothing left to do."""

    PROCESSES = 1

    def __init__(self, tenancy, count):
        super().__init__(tenancy, count)
        self._context = multiprocessing.get_context("fork")
        self._is_ending = self._context.Event()
        self._done = self._context.Value("L")
        self._processes = []

    @property
    def done(self):
        """Of `count`, or how often."""
        return self._done.value

    def begin(self):
        self.tenant = self.tenancy.tenant("burden").allow("", "configmaps", "services")
        self.prepare()
        for share in range(self.PROCESSES):
            process = self._context.Process(target=self._run, args=(share,), daemon=True)
            process.start()
            self._processes.append(process)

    def _run(self, share):
        tenant = copy.copy(self.tenant)
        tenant.api = ApiAs(tenant.cluster.kubeconfig, tenant.user)  # the parent's connection is the parent's
        self.work(tenant, share)

    def prepare(self):
        """Before that, in the process that measures."""

    def work(self, tenant, share):
        raise NotImplementedError

    def until_end(self, things):
        """Of these, one after the other, those that come before the end."""
        for one in things:
            if self._is_ending.is_set():
                return
            yield one
            with self._done.get_lock():
                self._done.value += 1

    def apply(self, tenant, name, resources, **fields):
        return Spec(tenant, tenant.namespace, name).apply(resources, serviceAccountName=DEPLOYER, **fields)

    def is_over(self):
        return not any(process.is_alive() for process in self._processes) and self.depth() <= IDLE

    def depth(self):
        """Keys that are ready to be reconciled."""
        _, text = fetch(self.tenancy.operator.metrics, "/metrics")
        return sum(float(count) for count in re.findall(r"^workqueue_depth\{[^}]*\} (\S+)", text, re.M))

    def end(self):
        """Its Specs stay."""
        self._is_ending.set()
        for process in self._processes:
            process.join(10)
            process.kill()


class Annotated(Storm):
    """Specs that are asked for a reconciliation, 100 times a second together."""

    EVERY = 0.01

    def prepare(self):
        for number in range(self.count):
            self.apply(self.tenant, f"note-{number}", [config_map(f"c-{number}", self.tenant.namespace)])

    def work(self, tenant, share):
        due = time.monotonic()
        for number in self.until_end(itertools.count()):
            path = path_of("Spec", tenant.namespace, f"note-{number % self.count}")
            tenant.api.patch(path, {"metadata": {"annotations": {REQUESTED: str(number)}}}).must()
            due += self.EVERY
            time.sleep(max(0, due - time.monotonic()))


class New(Storm):
    """Specs of one ConfigMap."""

    PROCESSES = 4

    def work(self, tenant, share):
        for number in self.until_end(range(share, self.count, self.PROCESSES)):
            self.apply(tenant, f"new-{number}", [config_map(f"c-{number}", tenant.namespace)])


class Looks(Storm):
    """Previews of a Spec of one ConfigMap."""

    PROCESSES = 4

    def prepare(self):
        self.apply(self.tenant, "one", [config_map("one", self.tenant.namespace)], suspend=True)

    def work(self, tenant, share):
        for number in self.until_end(range(share, self.count, self.PROCESSES)):
            body = new_release(f"look-{number}", operation="Preview", specRef={"name": "one"})
            tenant.api.create(path_of("Release", tenant.namespace), body).must()


class Huge(Storm):
    """Specs of 1 MiB that never get healthy, one after another."""

    PIECES = 20

    def work(self, tenant, share):
        text = "x" * (MIB // self.PIECES - 600)
        for number in self.until_end(range(self.count)):
            things = [config_map(f"c-{number}-{i}", tenant.namespace, {"text": text}) for i in range(self.PIECES)]
            things.append(balancer(tenant.namespace, f"s-{number}"))
            self.apply(tenant, f"huge-{number}", things, timeout=FOR_EVER)


class Wide(Storm):
    """A Spec of many resources that all change again as soon as it is Ready."""

    def work(self, tenant, share):
        for _ in self.until_end(itertools.count()):
            data = {"text": str(time.monotonic_ns())}
            spec = self.apply(tenant, "wide", [config_map(f"c-{i}", tenant.namespace, data)
                                               for i in range(self.count)])
            while not self._is_ending.wait(1):
                status = tenant.api.get(spec.path).must().object.get("status", {})
                if status.get("observedGeneration") == spec.generation and is_ready(status):
                    break


class HangingProviders(Storm):
    """Specs whose providers hang, because what they ask does not answer."""

    RESOURCES = 10

    @staticmethod
    def flags():
        return things_flags()

    def prepare(self):
        self._silent = socket.create_server(("127.0.0.1", 0), backlog=4096)
        address = "http://127.0.0.1:{}/w".format(self._silent.getsockname()[1])
        for number in range(self.count):
            self.apply(self.tenant, f"hang-{number}", [thing("probe_thing", f"t-{number}-{i}", address)
                                                       for i in range(self.RESOURCES)], retryInterval="1s")

    def work(self, tenant, share):
        self._is_ending.wait()

    def end(self):
        super().end()
        self._silent.close()
