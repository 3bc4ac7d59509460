"""kill -9 between the request of a Rollback or a Destroy and its end: one outcome, told."""

import time

import pytest

from kusion_e2e.controller import Controller
from kusion_e2e.long import takes_long
from kusion_e2e.requested import Requested
from kusion_e2e.specs import config_map

MOMENTS = [0, 0.02, 0.05, 0.1, 0.2]  # seconds after the request


def restarted(cluster, controller):
    controller.crash()
    return Controller(cluster).wait_leading()


@pytest.mark.parametrize("operation, reason, level", [("Rollback", "RolledBack", {"level": "one"}),
                                                      ("Destroy", "Destroyed", None)])
@takes_long
def test_killed_on_the_way(state_namespace, tenant, operation, reason, level):
    cluster = state_namespace
    controller = Controller(cluster).wait_leading()
    try:
        specs = [Requested(cluster, tenant, f"spec-{i}") for i in range(len(MOMENTS))]
        for text in ("one", "two"):
            for i, spec in enumerate(specs):
                spec.apply([config_map(f"a-{i}", tenant, {"level": text})])
            for spec in specs:
                spec.wait("True")
        for spec, moment in zip(specs, MOMENTS):
            request = spec.request(operation)
            time.sleep(moment)
            controller = restarted(cluster, controller)
            release = spec.wait_request(request)
            assert release["status"]["revision"] == 3
            spec.wait_reason(reason)
        for i, spec in enumerate(specs):
            assert spec.data(f"a-{i}") == level
            assert [(one["spec"]["operation"], one["status"]["phase"]) for one in spec.records()] == [
                ("Apply", "succeeded"), ("Apply", "succeeded"), (operation, "succeeded")]
    finally:
        controller.crash()
