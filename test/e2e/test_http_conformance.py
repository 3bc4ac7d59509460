"""What a second runtime has to withstand (test_second_runtime.py), over HTTP: the same tests, with
things of a REST server (rest.py) in place of those of the tests' own runtime."""

import types

import pytest

import test_second_runtime as of_cloud
from kusion_e2e import rest
from kusion_e2e.controller import Controller
from kusion_e2e.specs import Spec
from kusion_e2e.states import states

# An API has no answer that says that a thing was made in part, and a status of 500 is tried again
# as long as the operation lasts (test_http.py).
OTHERS = {"test_one_that_was_made_in_part_is_replaced",
          "test_one_that_was_changed_in_part_is_changed_to_the_end"}


@pytest.fixture(scope="module")
def cloud():
    server = rest.Rest()
    yield server
    server.close()


@pytest.fixture(scope="module")
def controller(state_namespace, cloud):
    """A controller at work: the one that is shipped."""
    controller = Controller(state_namespace, flags=cloud.flags)
    yield controller.wait_leading()
    assert controller.stop() == 0


@pytest.fixture
def spec(controller, cloud, tenant):
    cloud.forget_log()
    cloud.secret(controller.cluster, tenant)
    of_things["thing"] = cloud.thing
    spec = Spec(controller.cluster, tenant)
    yield spec
    for name in cloud.faults():
        cloud.fault(name, None)
    if spec.get():
        spec.delete()
    assert not cloud.things() and not states(controller.cluster, tenant)


of_things = {**vars(of_cloud), "thing_id": rest.thing_id, "reference": rest.reference}


def over_http(test):
    made = types.FunctionType(test.__code__, of_things, test.__name__, test.__defaults__, test.__closure__)
    made.pytestmark = getattr(test, "pytestmark", [])
    made.__doc__ = test.__doc__
    return made


globals().update({name: over_http(test) for name, test in vars(of_cloud).items()
                  if name.startswith("test_") and name not in OTHERS})
