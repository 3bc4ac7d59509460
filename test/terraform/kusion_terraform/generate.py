"""Cases by chance: the configurations of a few resources, one after the other.

A case is a list of steps; a step is {"resources": {key: {kind, attributes, lifecycle}}, "drift": [[key,
how], …]}. What was done outside comes before the step's configuration is applied. The last step has no
resources. A reference to another resource is {"$": [key, path]}. All is plain JSON.

A resource may have more: `after`, references that are none of its attributes; `as`, a part of its id, and
`moved`, the kind and the part that it had before; `born`, the kind that its object was made as; `import`,
the key of another resource: an object like that one's is there, and is taken over."""

import copy
import random

from kusion_terraform.catalog import DATA, FRESH, KINDS, MADE, OURS, REAL, REFERRED, Group, Keyed, Many

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


def member(rng, name, kind):
    """Of an object, a map or a list; others, and sets, as a whole."""
    if rng.random() < 0.5:
        return name
    if isinstance(kind, Many) and not kind.is_set:
        return member(rng, f"{name}{rng.choice(['[0]', '[0]', '[1]', '.0'])}", kind.of)
    names = list(kind.kinds) if isinstance(kind, Group) else ["k1", "k2"] if isinstance(kind, Keyed) else []
    if not names:
        return name
    below = rng.choice(names)
    return member(rng, f"{name}.{below}", kind.kinds[below]) if isinstance(kind, Group) else f"{name}.{below}"


def ignored(rng, kind, attributes):
    if rng.random() < 0.1:
        return "all"
    names = [name for name in attributes if name != "name"]
    if not names or rng.random() < 0.2:
        names = [name for name in KINDS[kind].kinds if name != "name"]
    return [member(rng, name, KINDS[kind].kinds[name]) for name in rng.sample(names, min(len(names), rng.randint(1, 2)))]


def lifecycle(rng, kind, attributes):
    made = {}
    if rng.random() < 0.15:
        made["createBeforeDestroy"] = True
    if rng.random() < 0.05:
        made["preventDestroy"] = True
    if rng.random() < 0.15:
        made["ignoreChanges"] = ignored(rng, kind, attributes)
    return made


def set_attributes(one, attributes):
    one["attributes"] = {k: v for k, v in attributes.items() if v is not None}


def resource(chance, kind):
    made, rng = {"kind": kind, "lifecycle": {}}, chance.rng
    set_attributes(made, KINDS[kind].make(chance))
    if kind not in DATA:
        made["lifecycle"] = lifecycle(rng, kind, made["attributes"])
    after = [{"$": [key, ""]} for key in chance.others if rng.random() < (0.3 if kind in DATA else 0.07)]
    return {**made, "after": after} if after else made


def kind_of(chance):
    finds = any(kind in MADE for kind in chance.others.values())
    return chance.rng.choice(FRESH * 5 + list(REAL) + list(DATA) * (4 if finds else 0))


def references_of(value):
    """Keys of the resources that it refers to."""
    if isinstance(value, dict):
        if set(value) == {"$"}:
            return {value["$"][0]}
        return set().union(*map(references_of, value.values()))
    return set().union(*map(references_of, value)) if isinstance(value, list) else set()


def earlier(resources, key):
    return {other: one["kind"] for other, one in resources.items() if other < key}


def importable(resources, key):
    """Keys of resources that an object may be made like, for a new one of that key."""
    return [other for other, one in resources.items() if one["kind"] in FRESH and "import" not in one
            and references_of(one["attributes"]) <= set(earlier(resources, key))]


def imported(chance, resources, source):
    """A resource that takes over an object like the one of another resource, and may change it."""
    kind = resources[source]["kind"]
    made = {"kind": kind, "import": source, "lifecycle": {}}
    attributes = copy.deepcopy(resources[source]["attributes"])
    for _ in range(chance.rng.choice([0, 0, 1, 2])):
        attributes = KINDS[kind].change(chance, attributes)
    set_attributes(made, attributes)
    made["lifecycle"] = {k: v for k, v in lifecycle(chance.rng, kind, made["attributes"]).items() if k != "ignoreChanges"}
    return made


def move(rng, one):
    """It gets another id, perhaps one of another kind."""
    one["moved"] = [one["kind"], one.get("as", "")]
    one["as"] = {"": "m1", "m1": "m2", "m2": "m1"}[one.get("as", "")]
    if one["kind"] == "probe_thing" and rng.random() < 0.6:
        one["born"], one["kind"] = one["kind"], "probe_renamed"


def new(chance, resources, key):
    sources = importable(resources, key)
    if sources and chance.rng.random() < 0.4:
        return imported(chance, resources, chance.rng.choice(sources))
    return resource(chance, kind_of(chance))


def is_removable(resources, key):
    return not resources[key]["lifecycle"].get("preventDestroy") and \
        not any(key in references_of(one) for one in resources.values())


def change(chance, resources, gone):
    """One change to one of them. gone: keys that were removed in this step, and are not used again."""
    rng, key = chance.rng, chance.rng.choice([key for key in KEYS if key not in gone] or ["d"])
    chance.others = earlier(resources, key)
    if key in gone:
        return
    if key not in resources:
        resources[key] = new(chance, resources, key)
        return
    one, how = resources[key], rng.random()
    if how < 0.12 and is_removable(resources, key):
        del resources[key]
        gone.add(key)
    elif how < 0.24 and one["kind"] not in DATA and "import" not in one:
        move(rng, one)
    elif how < 0.3 and one["kind"] not in DATA:
        one["lifecycle"] = lifecycle(rng, one["kind"], one["attributes"])
    else:
        set_attributes(one, KINDS[one["kind"]].change(chance, one["attributes"]))


def settle(rng, resources):
    """What a next step begins with: what was to be taken over has been, and some do not fail any more."""
    for one in resources.values():
        one.pop("import", None)
        if rng.random() < 0.4:
            one["attributes"].pop("fail_on", None)


def fails(steps):
    """Something may go wrong in it, which matters to others."""
    return any("fail_on" in one["attributes"] or "import" in one or one["lifecycle"].get("preventDestroy")
               for step in steps for one in step["resources"].values())


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


def last(resources):
    """All goes, and before that what prevents it."""
    settled = copy.deepcopy(resources)
    for one in settled.values():
        one.pop("import", None)
        one["lifecycle"].pop("preventDestroy", None)
    guarded = any(one["lifecycle"].get("preventDestroy") for one in resources.values())
    return [{"resources": one, "drift": []} for one in ([settled] if guarded else []) + [{}]]


def case(seed, number):
    rng = random.Random(f"{seed}/{number}")
    chance, resources, steps = Chance(rng), {}, []
    for key in KEYS[:rng.choice([1, 1, 2, 2, 3, 4])]:
        chance.others = earlier(resources, key)
        resources[key] = resource(chance, kind_of(chance))
    steps.append({"resources": copy.deepcopy(resources), "drift": []})
    for _ in range(rng.randint(1, 3)):
        drifted, gone = drifts(rng, resources), set()
        settle(rng, resources)
        for _ in range(rng.choice([0, 1, 1, 2, 3])):
            change(chance, resources, gone)
        steps.append({"resources": copy.deepcopy(resources), "drift": drifted})
    steps += last(resources)
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
