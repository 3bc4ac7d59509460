"""Resources of type HTTP: a process that is killed in the middle of a request."""

from kusion_e2e.controller import Controller
from kusion_e2e.rest import Rest
from kusion_e2e.specs import Spec
from kusion_e2e.wait import eventually
from kusion_e2e.wrong_clock import WrongClock

LATER = 600  # seconds: by then no create of the process before may still take effect


def test_a_create_that_a_killed_process_had_begun_is_found(state_namespace, tenant, tmp_path):
    """Where it can be found; nobody else is at work meanwhile. The one that finds it has a clock that is ahead,
    so that nobody has to wait until the create counts as done."""
    rest = Rest()
    rest.secret(state_namespace, tenant)
    rest.fault("slow", "late")
    slow = rest.found("slow")
    slow["extensions"]["create"]["timeout"] = "30s"
    slow["extensions"]["read"]["timeout"] = "5s"
    spec = Spec(state_namespace, tenant)
    controller = Controller(state_namespace, flags=rest.flags).wait_leading()
    try:
        spec.apply([slow], retryInterval="2s")
        eventually(lambda: any(method == "POST" for method, *_ in rest.requests))
        controller.crash()
        eventually(lambda: [one["name"] for one in rest.things().values()] == ["slow"])
        rest.fault("slow", None)
        controller = Controller(state_namespace, flags=rest.flags).wait_leading()

        def waits():
            ready = spec.condition()
            assert ready and ready["reason"] == "Deferred" and "may still take effect" in ready["message"], ready
            return True

        eventually(waits)
        controller.crash()
        controller = Controller(state_namespace, flags=rest.flags,
                                environment=WrongClock(tmp_path).ahead(LATER)).wait_leading()
        spec.wait("True")
        assert len(rest.things()) == 1 and rest.log().count("begin slow") == 1
        spec.delete()
        assert not rest.things()
    finally:
        controller.crash()
        rest.close()
