"""Cases by chance: the configurations of a few resources, one after the other.

A case is a list of steps; a step is {"resources": {key: {kind, attributes, lifecycle}}, "drift": [[key,
how], …]}. What was done outside comes before the step's configuration is applied. The last step has no
resources. A reference to another resource is {"$": [key, path]}. All is plain JSON."""

import copy
import random

from kusion_terraform.catalog import DATA, KINDS, MADE, OURS, REAL, REFERRED

KEYS = ["a", "b", "c", "d"]
FAILING = 0.5  # share of the cases in which something may be told to fail: they are played one by one
DRIFTS = ["delete", "text", "filled", "nested", "nothing"]


class Chance:
    def __init__(self, rng):
        self.rng = rng
        self.others = {}  # resources that may be referred to: key to kind

    def count(self, most):
        return min(most, self.rng.choice([0, 1, 1, 2, 2, 3, 4]))

    def reference(self):
        keys = [key for key, kind in self.others.items() if kind in REFERRED]
        if not keys:
            return "c"
        key = self.rng.choice(keys)
        return {"$": [key, self.rng.choice(REFERRED[self.others[key]])]}


def lifecycle(rng, kind, attributes):
    made = {}
    if rng.random() < 0.15:
        made["createBeforeDestroy"] = True
    names = [name for name in attributes if name != "name"]
    if names and rng.random() < 0.12:
        made["ignoreChanges"] = rng.sample(names, 1)
    return made


def resource(chance, kind):
    attributes = KINDS[kind].make(chance)
    made = {"kind": kind, "attributes": {k: v for k, v in attributes.items() if v is not None}}
    if kind not in DATA:
        return {**made, "lifecycle": lifecycle(chance.rng, kind, attributes)}
    after = [{"$": [key, ""]} for key in chance.others if chance.rng.random() < 0.3]
    return {**made, "lifecycle": {}, **({"after": after} if after else {})}


def kind_of(chance):
    finds = any(kind in MADE for kind in chance.others.values())
    return chance.rng.choice(list(OURS) * 5 + list(REAL) + list(DATA) * (4 if finds else 0))


def references_of(value):
    """Keys of the resources that it refers to."""
    if isinstance(value, dict):
        if set(value) == {"$"}:
            return {value["$"][0]}
        return set().union(*map(references_of, value.values()))
    return set().union(*map(references_of, value)) if isinstance(value, list) else set()


def earlier(resources, key):
    return {other: one["kind"] for other, one in resources.items() if other < key}


def change(chance, resources):
    """One change to one of them."""
    rng, key = chance.rng, chance.rng.choice(KEYS)
    chance.others = earlier(resources, key)
    if key not in resources:
        resources[key] = resource(chance, kind_of(chance))
    elif rng.random() < 0.12 and not any(key in references_of(one) for one in resources.values()):
        del resources[key]
    else:
        one = resources[key]
        changed = KINDS[one["kind"]].change(chance, one["attributes"])
        one["attributes"] = {k: v for k, v in changed.items() if v is not None}


def fails(steps):
    """Something is to go wrong in it."""
    return any("fail_on" in one["attributes"] for step in steps for one in step["resources"].values())


def creates_first(steps):
    return any(one["lifecycle"].get("createBeforeDestroy") for step in steps for one in step["resources"].values())


def drifts(rng, resources):
    return [[key, rng.choice(DRIFTS)] for key, one in resources.items()
            if one["kind"] in OURS and rng.random() < 0.2]


def without_failures(steps):
    for step in steps:
        for one in step["resources"].values():
            one["attributes"].pop("fail_on", None)
    return steps


def case(seed, number):
    rng = random.Random(f"{seed}/{number}")
    chance, resources, steps = Chance(rng), {}, []
    for key in KEYS[:rng.choice([1, 1, 2, 2, 3, 4])]:
        chance.others = earlier(resources, key)
        resources[key] = resource(chance, kind_of(chance))
    steps.append({"resources": copy.deepcopy(resources), "drift": []})
    for _ in range(rng.randint(1, 3)):
        drifted = drifts(rng, resources)
        for _ in range(rng.choice([0, 1, 1, 2, 3])):
            change(chance, resources)
        steps.append({"resources": copy.deepcopy(resources), "drift": drifted})
    steps.append({"resources": {}, "drift": []})
    return steps if rng.random() < FAILING else without_failures(steps)


# ---- What happens outside ----

def drift(how, object):
    """The object after it; None: it is deleted."""
    if how == "delete":
        return None
    object = copy.deepcopy(object)
    if how in ("text", "filled") and how in object:
        object[how] = "from outside"
    for value in object.values() if how == "nested" else ():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict) and "text" in one:
                one["text"] = "from outside"
                return object
    return object
