"""The smallest case that still differs, told to people."""

import copy
import json
import os
import time

from kusion_terraform.generate import KEYS, references_of

SHRINKING = int(os.environ.get("KUSION_TEST_SHRINKING", 60))  # seconds


def smaller(steps):
    """Cases with something less."""
    for i in range(len(steps) - 1):
        if len(steps) > 1:
            yield steps[:i] + steps[i + 1:]
    yield steps[:-1]
    for key in sorted({key for step in steps for key in step["resources"]}):
        yield without(steps, lambda step: step["resources"].pop(key, None))
    for key in KEYS:
        for marks in (["import"], ["after"], ["moved", "as"]):
            yield without(steps, lambda step: [step["resources"].get(key, {}).pop(mark, None) for mark in marks])
    for i, step in enumerate(steps):
        for at in range(len(step["drift"])):
            yield at_step(steps, i, lambda one: one["drift"].pop(at))
    for key in sorted({key for step in steps for key in step["resources"]}):
        for path in paths(steps, key):
            yield without(steps, lambda step: remove(step["resources"].get(key), path))


def is_whole(steps):
    """No reference is to what is not there."""
    return steps and all(references_of(step["resources"]) <= set(step["resources"]) for step in steps)


def without(steps, cut):
    changed = copy.deepcopy(steps)
    for step in changed:
        cut(step)
    return changed


def at_step(steps, i, cut):
    changed = copy.deepcopy(steps)
    cut(changed[i])
    return changed


def paths(steps, key):
    """Of members, at any depth, shallow ones first."""
    found = {}
    for step in steps:
        if key in step["resources"]:
            one = step["resources"][key]
            walk(one["attributes"], ("attributes",), found)
            walk(one["lifecycle"], ("lifecycle",), found)
    return sorted(found, key=len)


def walk(value, path, found):
    if isinstance(value, dict) and set(value) != {"$"}:
        for name, one in value.items():
            if name not in ("name", "key"):
                found[(*path, name)] = True
            walk(one, (*path, name), found)
    elif isinstance(value, list):
        for i, one in enumerate(value):
            found[(*path, i)] = True
            walk(one, (*path, i), found)


def remove(value, path):
    for step in path[:-1]:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return
    if isinstance(value, dict):
        value.pop(path[-1], None)
    elif isinstance(value, list) and isinstance(path[-1], int) and path[-1] < len(value):
        del value[path[-1]]


def shrink(stage, steps, end):
    """steps, and its differences."""
    differences = stage.play([steps])[0]
    if not differences:
        return steps, []
    again = True
    while again and time.monotonic() < end:
        again = False
        for one in smaller(steps):
            if time.monotonic() > end:
                break
            if one == steps or not is_whole(one):
                continue
            found = stage.play([one])[0]
            if found and ("no plan" in found[0]) == ("no plan" in differences[0]):
                steps, differences, again = one, found, True
                break
    return steps, differences


def tell(stage, where, steps, differences):
    shrunk, found = shrink(stage, steps, time.monotonic() + SHRINKING)
    note = "shrunk" if found else "alone it does not differ, so it is not shrunk"
    lines = [f"FOUND {where} ({note})", *(f"  {json.dumps(step)}" for step in shrunk),
             *(f"  ! {line}" for line in found or differences),
             f"  again:  KUSION_TEST_CASE='{json.dumps(shrunk)}' hack/soak terraform"]
    return "\n".join(lines)
