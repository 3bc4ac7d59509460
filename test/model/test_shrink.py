"""The shrinker, without a cluster."""

import pytest

from kusion_model.shrink import actions_of, shrink


def fails_if(check):
    """What plays sequences: the first of them for which it holds fails."""
    def first_failing(batch):
        return next((i for i, steps in enumerate(batch) if check(steps)), None)
    return first_failing


def has(*names):
    return lambda steps: set(names) <= {action for step in steps for action in step}


def beside(first, second):
    """In one step."""
    return lambda steps: any({first, second} <= set(step) for step in steps)


LONG = [["a", "b"], ["c"], ["d", "e", "f"], ["g"], ["h"], ["i", "j"]]


@pytest.mark.parametrize("check, shortest", [
    (has("e"), [["e"]]),
    (has("a", "j"), [["a"], ["j"]]),
    (has("d", "f"), [["d"], ["f"]]),
    (beside("d", "f"), [["d", "f"]]),
    (lambda steps: actions_of(steps) >= 4, None),
], ids=["one", "two", "two-of-a-step", "a-race", "any-four"])
def test_nothing_can_be_left_out(check, shortest):
    found = shrink(LONG, fails_if(check))
    assert check(found)
    assert found == shortest if shortest else actions_of(found) == 4


def test_it_ends_when_the_time_is_over():
    asked = []
    found = shrink(LONG, fails_if(has("e")), lambda: bool(asked) or asked.append(1))
    assert actions_of(found) < actions_of(LONG) and found != [["e"]]


def test_what_fails_by_all_its_parts_stays():
    assert shrink(LONG, lambda batch: None) == LONG
