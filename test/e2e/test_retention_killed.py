"""Releases that go later, or whose controller is killed while it removes them."""

import time

from kusion_e2e.controller import Controller
from kusion_e2e.releases import GC, left_of
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.wait import eventually


def test_an_orphaned_record_goes_after_a_while(state_namespace, tenant):
    cluster = state_namespace
    controller = Controller(cluster, flags=["--preview-ttl", "5s"]).wait_leading()
    try:
        spec = Spec(cluster, tenant).apply([config_map("a", tenant)])
        spec.wait("True")
        cluster.kubectl("delete", "spec.api.kusion.io", spec.name, "-n", tenant,
                        "--cascade=orphan", "--timeout=60s")
        # It is about Releases: what becomes of the resources is deletionPolicy's affair.
        assert cluster.api.get(f"/api/v1/namespaces/{tenant}/configmaps/a").code == 404
        eventually(lambda: left_of(cluster, tenant) == [], GC)
    finally:
        controller.stop()


def test_killed_while_it_collects(state_namespace, tenant):
    cluster = state_namespace
    controller = Controller(cluster).wait_leading()
    try:
        spec = Spec(cluster, tenant)
        for n in range(8):
            spec.apply([config_map("a", tenant, {"n": str(n)})]).wait("True")
        for n in range(8, 12):
            controller.wait_leading()
            before = len(spec.releases())
            spec.apply([config_map("a", tenant, {"n": str(n)})],
                       revisionHistoryLimit=max(1, 12 - n))
            deadline = time.monotonic() + 10
            while len(spec.releases()) >= before and time.monotonic() < deadline:
                time.sleep(0.002)
            controller.crash()
            controller = Controller(cluster).wait_leading()
            spec.wait("True")

            def collected():
                kept = [one["status"]["revision"] for one in spec.releases()]
                assert len(kept) == max(1, 12 - n), kept
                assert kept[-1] == spec.get()["status"]["lastAppliedRevision"]
                return True

            eventually(collected)
    finally:
        controller.stop()
