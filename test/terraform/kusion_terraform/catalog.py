"""What resources there are, and by chance values for them: a description of the providers' schemas
(test/provider) and, of real providers, of what is worth trying.

A kind makes a value (`make`), changes one (`change`), and `plain` puts a value of State into one order."""

import json

SECRETS = ["secret-one", "secret-two"]  # not like other words: a plan shows them nowhere
WORDS = ["a", "b", "c", "x y", "", "ü€", "null", 55, True]


class Text:
    def __init__(self, *words, refers=True):
        self.words, self.refers = words or WORDS, refers

    def make(self, chance):
        if self.refers and chance.rng.random() < 0.12:
            return chance.reference()
        return chance.rng.choice(self.words)

    def change(self, chance, value):
        return self.make(chance)

    def plain(self, value):
        return value


class Any(Text):
    """Of any type."""

    VALUES = ["a", 1, 0.5, True, ["a", "b"], ["a", 1], {"a": "b"}, {"a": 1, "b": ["x"]}, [], {}, [{"k": None}]]

    def __init__(self):
        super().__init__(*self.VALUES)

    def plain(self, value):
        return value["value"] if isinstance(value, dict) and set(value) == {"value", "type"} else value


def numbers():
    return Text(0, 1, 3, 13, "7", -1, refers=False)


def ratios():
    return Text(0, 1, 0.1, 1.5, 1e3, "2.5", -0.25, 123456789.125, refers=False)


def big_numbers():
    return Text(0, 0.1, 1.5, 9007199254740993, 123456789012345678, "0.30000000000000004", 1e21, refers=False)


def flags():
    return Text(True, False, "true", refers=False)


class Many:
    """A list, or a set."""

    def __init__(self, of, is_set=False, most=4):
        self.of, self.is_set, self.most = of, is_set, most

    def make(self, chance):
        return [self.of.make(chance) for _ in range(chance.count(self.most))]

    def change(self, chance, value):
        items, rng = list(value), chance.rng
        how = rng.choice(["add", "drop", "turn", "change", "change", "change"])
        if how == "add" or not items:
            items.insert(rng.randint(0, len(items)), self.of.make(chance))
        elif how == "drop":
            items.pop(rng.randrange(len(items)))
        elif how == "turn":
            rng.shuffle(items)
        else:
            at = rng.randrange(len(items))
            items[at] = self.of.change(chance, items[at])
        return items[:self.most]

    def plain(self, value):
        items = [self.of.plain(one) for one in value or []]
        return sorted(items, key=lambda one: json.dumps(one, sort_keys=True)) if self.is_set else items


class Keyed:
    """A map."""

    KEYS = ["k1", "k2", "k.3", "k/4"]

    def __init__(self, of):
        self.of = of

    def make(self, chance):
        return {key: self.of.make(chance) for key in chance.rng.sample(self.KEYS, chance.count(3))}

    def change(self, chance, value):
        changed, key = dict(value), chance.rng.choice(self.KEYS)
        if key in changed and chance.rng.random() < 0.3:
            del changed[key]
        else:
            changed[key] = self.of.change(chance, changed[key]) if key in changed else self.of.make(chance)
        return changed

    def plain(self, value):
        return {key: self.of.plain(one) for key, one in (value or {}).items()}


class Group:
    """An object. required: its members that are always there; computed ones are only in `others`,
    by their kind."""

    def __init__(self, required, optional, others=None, share=0.3, all_or_none=False):
        self.required, self.optional, self.share = required, optional, share
        self.kinds = {**required, **optional, **(others or {})}
        self.all_or_none = all_or_none

    def make(self, chance):
        made = {name: kind.make(chance) for name, kind in self.required.items()}
        for name, kind in self.optional.items():
            if chance.rng.random() < self.share:
                made[name] = kind.make(chance)
        return made

    def change(self, chance, value):
        changed = dict(value)
        changeable = [name for name in self.kinds if name in value and name != "name"]
        absent = [name for name in self.optional if name not in value]
        how = chance.rng.random()
        if how < 0.2 and absent or not changeable:
            if absent:
                name = chance.rng.choice(absent)
                changed[name] = self.optional[name].make(chance)
        elif how < 0.35 and any(name in self.optional for name in changeable):
            del changed[chance.rng.choice([name for name in changeable if name in self.optional])]
        else:
            name = chance.rng.choice(changeable)
            changed[name] = self.kinds[name].change(chance, value[name])
        return changed

    def plain(self, value):
        if value is None:
            return None
        return {name: self.kinds[name].plain(one) if name in self.kinds and one is not None else one
                for name, one in value.items()}


class Object(Group):
    """All members of its type, or null."""

    def __init__(self, **members):
        super().__init__(members, {})


# ---- kusion/probe ----

def probe_plain():
    return {"text": Text(), "zone": Text("r1", "r2"), "secret": Text(*SECRETS), "list": Many(Text())}


def probe_attributes():
    return {**probe_plain(), "floating": Text(), "filled": Text(), "color": Text("red", "blue")}


def group(attributes, key=True, share=0.3, **inner):
    keyed = {"key": Text("k1", "k2", "k3")}
    return Group(keyed if key else {}, {**({} if key else keyed), **attributes, **inner}, share=share)


def inner():
    return group(probe_attributes(), inner_list=Many(group(probe_attributes()), most=2),
                 inner_set=Many(group(probe_attributes()), is_set=True, most=3))


def knobs():
    moments = Text("create", "create_half", "update", "update_half", "delete", refers=False)
    return {"fail_on": Rare(Many(moments, is_set=True, most=2)), "delay": Rare(Text("1ms", "30ms", refers=False)),
            }


class Rare:
    """Seldom there."""

    def __init__(self, of):
        self.of = of

    def make(self, chance):
        return self.of.make(chance) if chance.rng.random() < 0.5 else None

    def change(self, chance, value):
        return None if chance.rng.random() < 0.7 else self.make(chance)

    def plain(self, value):
        return self.of.plain(value)


def name():
    return {"name": Text("", refers=False)}  # which the case sets


PROBE_THING = Group(name(), {
    **knobs(), "deferred": flags(), "text": Text(), "zone": Text("r1", "r2"), "color": Text("red", "blue"),
    "site": Text("s1", "s2"), "filled": Text(), "floating": Text(), "flag": flags(), "count_of": numbers(),
    "ratio": ratios(), "number": big_numbers(), "secret": Text(*SECRETS), "token": Text("t1", "t2"),
    "token_version": Text("1", "2", refers=False), "any": Any(), "list": Many(Text()), "fixed": Many(Text()),
    "numbers": Many(big_numbers()), "set": Many(Text(), is_set=True), "map": Keyed(Text()),
    "deep": Keyed(Many(Many(Text(), is_set=True))),
    "object": Object(a=Text(), b=big_numbers(), c=flags()),
    "single": inner(), "list_of": Many(inner()), "set_of": Many(inner(), is_set=True),
    "map_of": Keyed(inner()), "plain_set": Many(group(probe_plain()), is_set=True),
    "maybe_single": group(probe_attributes()), "maybe_list": Many(group(probe_attributes())),
}, share=0.22)


def blocks(key=True):
    return group(probe_attributes(), key, inner_list=Many(group(probe_attributes()), most=2),
                 inner_set=Many(group(probe_attributes()), is_set=True, most=3),
                 inner_single=group(probe_attributes(), key=False))


PROBE_BLOCKS = Group(name(), {
    **knobs(), "text": Text(),
    "single_block": group(probe_attributes(), key=False, inner_list=Many(group(probe_attributes()))),
    "list_block": Many(blocks()), "set_block": Many(blocks(), is_set=True),
    "plain_block": Many(group(probe_plain()), is_set=True),
}, share=0.45)


# ---- kusion/legacy ----

def legacy_inside():
    return {"text": Text(), "size": numbers(), "flag": flags(), "zone": Text("r1", "r2"), "filled": Text(),
            "secret": Text(*SECRETS), "list": Many(Text())}


def legacy_deep():
    return group(legacy_inside(), inner_list=Many(group(legacy_inside()), most=2),
                 inner_set=Many(group(legacy_inside()), is_set=True, most=2))


LEGACY_THING = Group(name(), {
    **knobs(), "text": Text(), "size": numbers(), "ratio": ratios(), "flag": flags(),
    "color": Text("red", "blue", ""), "on": flags(), "filled": Text(), "zone": Text("r1", "r2"),
    "secret": Text(*SECRETS), "token": Text("t1", "t2"), "lower": Text("a", "A", "b", refers=False),
    "folded": Text("a", "A", "b"), "list": Many(Text()), "set": Many(Text(), is_set=True),
    "map": Keyed(Text()), "fixed": Many(numbers(), is_set=True), "single": Many(legacy_deep(), most=1),
    "blocks": Many(legacy_deep()), "sets": Many(legacy_deep(), is_set=True),
    "filled_blocks": Many(group(legacy_inside())),
    "as_blocks": Many(Group({"key": Text(), "text": Text()}, {})),
}, share=0.25)


# ---- Real ones ----

def small(*values):
    return Text(*values, refers=False)


KEEPERS = {"keepers": Keyed(Text())}
RANDOM_STRING = Group({"length": small(8, 9, 12)}, {
    "special": flags(), "upper": flags(), "min_lower": small(1, 2), "override_special": small("_", "!"), **KEEPERS})

REAL = {
    "random_string": RANDOM_STRING,
    "random_password": RANDOM_STRING,
    "random_id": Group({"byte_length": small(4, 8)}, {"prefix": small("p-", "q-"), **KEEPERS}),
    "random_pet": Group({}, {"length": small(1, 3), "separator": small("-", "."), "prefix": small("p", "q"), **KEEPERS}),
    "random_integer": Group({"min": small(1, 2), "max": small(5, 9)}, {"seed": small("s"), **KEEPERS}),
    "random_shuffle": Group({"input": Many(Text())}, {"result_count": small(1, 2), "seed": small("s"), **KEEPERS}),
    "random_uuid": Group({}, KEEPERS),
    "time_sleep": Group({"create_duration": small("1ms", "2ms")}, {"destroy_duration": small("1ms", "2ms"),
                             "triggers": Keyed(Text())}),
    "time_offset": Group({"base_rfc3339": small("2020-02-12T06:36:13Z", "2021-01-01T00:00:00Z"),
                          "offset_days": small(1, 7)}, {"triggers": Keyed(Text())}),
    "time_static": Group({}, {"rfc3339": small("2020-02-12T06:36:13Z"), "triggers": Keyed(Text())}),
    "time_rotating": Group({"rotation_days": small(30000, 40000)},
                           {"rfc3339": small("2020-02-12T06:36:13Z"), "triggers": Keyed(Text())}),
    "tls_private_key": Group({"algorithm": small("ED25519", "ECDSA")}, {"ecdsa_curve": small("P256", "P384")}),
}
RANDOM = {"random", "tls"}  # of these providers what is computed differs each time

# Data sources: an object of another resource, by its id.

class Id:
    """Of a resource that is there already."""

    def make(self, chance):
        return {"$": [chance.rng.choice([key for key, kind in chance.others.items() if kind in MADE]), "id"]}

    def change(self, chance, value):
        return self.make(chance) if any(kind in MADE for kind in chance.others.values()) else value

    def plain(self, value):
        return value


MADE = ["probe_thing", "probe_renamed", "legacy_thing"]  # kinds of resources that data sources find
READING = {"fail_on": Rare(Many(small("read", "null", "unknown"), is_set=True, most=1))}
DATA = {
    "data.probe_found": Group({"id": Id()}, {"label": Text(), "field": Many(Group({"name": small("text", "set")}, {})),
                                             **READING}),
    "data.legacy_found": Group({"of": Id()}, {"label": Text(), **READING}),
}

# Of kusion/probe and kusion/legacy. The objects of probe_renamed are made as those of probe_thing.
OURS = {"probe_thing": PROBE_THING, "probe_blocks": PROBE_BLOCKS, "legacy_thing": LEGACY_THING,
        "probe_renamed": PROBE_THING}
FRESH = ["probe_thing", "probe_blocks", "legacy_thing"]
KINDS = {**OURS, **REAL, **DATA}

# What others may refer to: known later, at once, or secret.
REFERRED = {
    "probe_thing": ["id", "filled", "floating", "made_list[0]", "color", "name"],
    "probe_renamed": ["id", "filled", "floating", "made_list[0]", "color", "name"],
    "probe_blocks": ["id", "name"],
    "legacy_thing": ["id", "made", "filled", "color"],
    "time_offset": ["rfc3339", "id"],
    "data.probe_found": ["id", "label", "text", "inner.text"],
    "data.legacy_found": ["label", "text", "inner[0].text"],
}


def provider_of(kind):
    """Namespace and name."""
    short = kind.removeprefix("data.").split("_")[0]
    return ("kusion" if kind in OURS or kind in DATA else "hashicorp"), short
