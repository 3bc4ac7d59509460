"""What a second runtime has to withstand (test_second_runtime.py), over HTTP: the same tests, with
things of a REST server (rest.py) in place of those of the tests' own runtime."""

import types

import pytest

import test_second_runtime as of_cloud
from kusion_e2e.rest import reference, thing_id
from test_http import controller, rest, spec  # fixtures

# An API has no answer that says that a thing was made in part, and a status of 500 is tried again
# as long as the operation lasts (test_http.py).
OTHERS = {"test_one_that_was_made_in_part_is_replaced",
          "test_one_that_was_changed_in_part_is_changed_to_the_end"}


@pytest.fixture(scope="module")
def cloud(rest):
    of_things["thing"] = rest.thing
    return rest


of_things = {**vars(of_cloud), "thing_id": thing_id, "reference": reference}


def over_http(test):
    made = types.FunctionType(test.__code__, of_things, test.__name__, test.__defaults__, test.__closure__)
    made.pytestmark = getattr(test, "pytestmark", [])
    made.__doc__ = test.__doc__
    return made


globals().update({name: over_http(test) for name, test in vars(of_cloud).items()
                  if name.startswith("test_") and name not in OTHERS})
