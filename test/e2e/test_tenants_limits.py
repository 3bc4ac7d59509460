"""What a tenant can make the operator use: memory, in a control group with the chart's limit; records
of State; connections to what it serves."""

import json
import os
import selectors
import socket
import string
import threading
import time

import pytest
import yaml

from kusion_e2e.cgroup import Cgroup
from kusion_e2e.controller import PROGRAM
from kusion_e2e.long import takes_long
from kusion_e2e.paths import CHART
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.tenancy import DEPLOYER, fetch
from kusion_e2e.wait import eventually

UNITS = {"Mi": 1 << 20, "Gi": 1 << 30}
FEW, MANY = 10, 24  # objects; ten are worked on at a time
MORE = 500_000  # bytes for each object more: a fraction of what it is in memory
PROBE = 1  # seconds that kubelet waits for an answer, where a probe does not say

LETTERS = string.ascii_lowercase + string.digits
DATA = {
    # Without values: of all objects, they take the most memory for their bytes.
    "many-keys": {a + b + c: "" for a in LETTERS[:5] for b in LETTERS for c in LETTERS},
    "long-values": {"v": "x" * 900_000},
}


def limit():
    """Bytes: the chart's."""
    text = yaml.safe_load((CHART / "values.yaml").read_text())["resources"]["limits"]["memory"]
    return int(text[:-2]) * UNITS[text[-2:]]


class TestMemory:
    @pytest.fixture
    def group(self, tenancy):
        """With an operator in it, which ends with it."""
        try:
            made = Cgroup("kusion-e2e", limit())
        except OSError as error:
            pytest.skip(f"there can be no control group here: {error}")
        tenancy.run(program=made.wrap(PROGRAM, tenancy.directory))
        yield made
        tenancy.operator.stop()
        made.remove()

    @pytest.fixture
    def tenant(self, tenancy, group):
        made = tenancy.tenant("large").allow("", "configmaps", "secrets")
        yield made
        tenancy.cluster.delete_namespace(made.namespace)

    @staticmethod
    def fill(tenancy, tenant, name, count, data):
        """Objects of the tenant's, made by other means. Gives them as resources of a Spec that
        wants them otherwise."""
        path = f"/api/v1/namespaces/{tenant.namespace}/configmaps"
        names = [f"{name}-{number}" for number in range(count)]
        for one in names:
            tenancy.cluster.api.create(path, {"apiVersion": "v1", "kind": "ConfigMap", "data": data,
                                              "metadata": {"name": one}}).must()
        return [config_map(one, tenant.namespace) for one in names]

    @staticmethod
    def take_over(tenancy, tenant, group, name, things):
        """Until nothing goes on. Gives the most memory that was in use so far."""
        spec = Spec(tenant, tenant.namespace, name)
        assert len(json.dumps(things)) < 12_000
        spec.apply(things, serviceAccountName=DEPLOYER)

        def is_settled():
            assert tenancy.operator.process.poll() is None, f"killed {group.kills()} times"
            ready = spec.condition()
            return ready and ready["reason"] != "Progressing" and ready

        ready = eventually(is_settled, 120)
        assert ready["status"] == "True" or ready["reason"] == "TooLarge", ready
        return group.peak()

    @pytest.mark.parametrize("what", DATA)
    @takes_long
    def test_the_memory_for_large_objects_is_bounded(self, tenancy, tenant, group, what):
        """Their number does not matter, once there are more than are worked on at a time."""
        few = self.fill(tenancy, tenant, "few", FEW, DATA[what])
        many = self.fill(tenancy, tenant, "many", MANY, DATA[what])
        before = self.take_over(tenancy, tenant, group, f"few-{what}", few)
        after = self.take_over(tenancy, tenant, group, f"many-{what}", many)
        assert after < limit() and group.kills() == 0
        assert after - before < (MANY - FEW) * MORE, (before, after)

    @takes_long
    def test_several_such_specs_leave_room_for_another_tenant(self, tenancy, tenant, group):
        """All at once, and meanwhile another tenant's Specs are Ready soon."""
        other = tenancy.tenant("small").allow("", "configmaps")
        things = [self.fill(tenancy, tenant, f"at-once-{n}", FEW, DATA["long-values"])
                  for n in range(4)]
        specs = [Spec(tenant, tenant.namespace, f"at-once-{n}").apply(
            of_one, serviceAccountName=DEPLOYER) for n, of_one in enumerate(things)]
        took = []
        while any(spec.condition() is None or spec.condition()["reason"] == "Progressing"
                  for spec in specs):
            began = time.monotonic()
            name = f"small-{len(took)}"
            Spec(other, other.namespace, name).apply(
                [config_map(name, other.namespace)], serviceAccountName=DEPLOYER).wait("True")
            took.append(time.monotonic() - began)
        assert all(spec.condition()["status"] == "True" for spec in specs)
        assert group.kills() == 0 and group.peak() < limit() / 4, group.peak()
        assert not took or max(took) < 15, took

    def test_values_that_references_take_have_a_bound(self, tenancy, tenant, group):
        """Each is taken from an object of its own. They are kept: 24 of 0.9 MB are more than a
        quarter of --operation-memory."""
        spec = Spec(tenant, tenant.namespace, "references")
        large = self.fill(tenancy, tenant, "taken", MANY, DATA["long-values"])
        taking = [config_map(f"takes-{n}", tenant.namespace, f"$kusion_path.{one['id']}.data")
                  for n, one in enumerate(large)]
        spec.apply(large + taking, serviceAccountName=DEPLOYER)
        ready = spec.wait("False")
        assert ready["reason"] == "TooLarge", ready
        assert "may have 16Mi, a quarter of --operation-memory" in ready["message"], ready
        assert group.kills() == 0


@pytest.fixture
def operator(tenancy):
    """One without a limit."""
    if tenancy.operator is None or tenancy.operator.process.poll() is not None:
        tenancy.run()
    return tenancy.operator


class TestState:
    @takes_long
    def test_edits_that_fail_leave_nothing_in_it(self, tenancy, operator):
        """Each edit has other resources, all of which are refused."""
        tenant = tenancy.tenant("edits").allow("", "services")
        spec, count = Spec(tenant, tenant.namespace, "edits"), 100
        for edit in range(4):
            things = [resource({
                "apiVersion": "v1", "kind": "Service", "spec": {"type": "None"},
                "metadata": {"name": f"x{edit}-{number}", "namespace": tenant.namespace}})
                for number in range(count)]
            spec.apply(things, serviceAccountName=DEPLOYER, retryInterval="1h").wait("False")
        seen = spec.get()["status"]["resources"]["total"]
        assert seen <= count, seen
        assert len(Spec(tenancy.cluster, tenant.namespace, "edits").state() or ()) <= count


class Visitors(threading.Thread):
    """So many connections that send the begin of a request, and come again when they are closed."""

    def __init__(self, address, count):
        super().__init__(daemon=True)
        host, _, port = address.rpartition(":")
        self._address, self._count = (host, int(port)), count
        self._ended = threading.Event()
        self.opened = 0

    def _open(self, selector):
        one = socket.socket()
        one.setblocking(False)
        one.connect_ex(self._address)
        selector.register(one, selectors.EVENT_WRITE)
        self.opened += 1

    def run(self):
        selector = selectors.DefaultSelector()
        for _ in range(self._count):
            self._open(selector)
        while not self._ended.is_set():
            for key, events in selector.select(0.2):
                try:
                    if events & selectors.EVENT_WRITE:
                        key.fileobj.send(b"GET /m")
                        selector.modify(key.fileobj, selectors.EVENT_READ)
                        continue
                    if key.fileobj.recv(4096):
                        continue
                except OSError:
                    pass
                selector.unregister(key.fileobj)
                key.fileobj.close()
                self._open(selector)
        for key in list(selector.get_map().values()):
            key.fileobj.close()
        selector.close()

    def end(self):
        self._ended.set()
        self.join()


class TestConnections:
    @staticmethod
    def answers(operator, seconds):
        """Whether each probe was answered in time, as kubelet asks."""
        found, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                found.append(fetch(operator.health, "/healthz", PROBE)[0] == 200)
            except OSError:
                found.append(False)
            time.sleep(0.25)
        return found

    @staticmethod
    def files(operator):
        return len(os.listdir(f"/proc/{operator.process.pid}/fd"))

    def test_visitors_of_the_metrics_do_not_hurt_healthz(self, operator):
        assert all(self.answers(operator, 2))
        visitors = Visitors(operator.metrics, 800)
        visitors.start()
        try:
            eventually(lambda: visitors.opened >= 800)
            found = self.answers(operator, 10)
        finally:
            visitors.end()
        assert all(found), f"{found.count(False)} of {len(found)} without an answer"

    def test_they_hurt_for_no_longer_than_they_stay(self, operator):
        before = self.files(operator)
        visitors = Visitors(operator.metrics, 800)
        visitors.start()
        eventually(lambda: visitors.opened >= 800)
        time.sleep(3)
        assert self.files(operator) < 400
        visitors.end()
        eventually(lambda: all(self.answers(operator, 2)))
        eventually(lambda: self.files(operator) <= before + 5)
