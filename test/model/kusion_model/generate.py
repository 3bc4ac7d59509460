"""Sequences by chance. Pure: a seed gives the same sequence each time.

A sequence is a list of steps, a step a list of actions, [verb, argument…] (world.World._do_…). The
actions of a step follow each other at once; after each step the Spec is compared with the model. All
is plain JSON, so that a sequence can be printed, and given again."""

import copy
import random

from kusion_model.catalog import CREATOR, KUBECTL, NAMES, REFERENCE, RESOURCES, SOMEONE, complete
from kusion_model.world import AUTOMATIC, LIVE, MANUAL, World

SPEC = ("put", "drop", "mode", "touch")
SOURCES = ("ConfigMap", "Secret")
APPROVALS = ("approve", "approve_in_spec")

# How often each is chosen, where it makes sense.
WEIGHTS = {"put": 24, "drop": 10, "mode": 3, "touch": 2, "edit": 12, "take": 7, "delete": 8, "make": 3,
           "approve": 40, "approve_older": 3, "approve_ended": 2, "approve_in_spec": 6,
           "rollback": 6, "destroy": 3, "kill": 3}


class Generator:
    def __init__(self, seed):
        self._random = random.Random(seed)
        self._source = random.Random(f"{seed} source").choice((None, None, None, *SOURCES))
        self._world = World()
        self._digests = 0

    def sequence(self):
        """Of 6 to 12 actions, after the first Spec."""
        first = [self._put(name) for name in self._random.sample(NAMES, self._random.randint(1, 4))]
        if self._random.random() < 0.6:
            first.insert(0, ["mode", MANUAL])
        if self._source:
            first.insert(0, ["source", self._source])
        steps, left = [self._play(first)], self._random.randint(6, 12)
        while left > 0:
            size = min(left, self._random.choice((1, 1, 1, 1, 2, 2, 3)))
            steps.append(self._play(self._step(size)))
            left -= size
        return steps

    def _step(self, size):
        """No live change follows an approval at once. Between the operator's last look at an object and
        its write, nobody could say which of the two came first."""
        step = [self._action() for _ in range(size)]
        approvals = [i for i, action in enumerate(step) if action[0] in APPROVALS]
        return [action for i, action in enumerate(step)
                if not approvals or i < approvals[0] or action[0] not in LIVE]

    def _play(self, step):
        """So that what is chosen next makes sense. One outcome is enough for that."""
        for action in step:
            self._world.act(action)
        self._world.converge()
        self._world.seen = self._world.waiting
        if self._world.shown:
            plan = self._world.shown
            self._digests += 1
            self._world.plans.setdefault((plan.core, plan.whole), f"digest {self._digests}")
        return step

    def _action(self):
        while True:
            verb = self._random.choices([*WEIGHTS], [*WEIGHTS.values()])[0]
            action = getattr(self, f"_{verb}")()
            if action:
                return action

    # ---- each: an action, or None where it makes no sense

    def _put(self, name=None):
        name = name or self._random.choice(NAMES)
        kind, fields = RESOURCES[name], {}
        for short, values in kind.wanted.items():
            if short not in kind.optional or self._random.random() < 0.6:
                fields[short] = self._random.choice(values)
        if name == "addr":
            fields["k"] = REFERENCE
        depends_on = [one for one in NAMES[:NAMES.index(name)] if self._random.random() < 0.2]
        return ["put", name, fields, depends_on]

    def _drop(self):
        names = [*complete(self._world.wanted)]
        return ["drop", self._random.choice(names)] if names else None

    def _mode(self):
        return ["mode", AUTOMATIC if self._world.mode == MANUAL else MANUAL]

    def _touch(self):
        return ["touch"]

    def _live(self):
        names = sorted(self._world.objects)
        return self._random.choice(names) if names else None

    def _edit(self):
        name = self._live()
        if not name:
            return None
        short = self._random.choice([*RESOURCES[name].foreign])
        return ["edit", name, short, self._random.choice(RESOURCES[name].foreign[short]),
                self._random.choice((SOMEONE, KUBECTL))]

    def _take(self):
        name = self._live()
        if not name:
            return None
        short = self._random.choice([*RESOURCES[name].foreign])
        return ["take", name, short, self._random.choice((None, *RESOURCES[name].foreign[short]))]

    def _delete(self):
        name = self._live()
        return ["delete", name] if name else None

    def _make(self):
        absent = [name for name in NAMES if name not in self._world.objects]
        manager = self._random.choice((SOMEONE, CREATOR))
        return ["make", self._random.choice(absent), manager] if absent else None

    def _approve(self):
        return ["approve"] if self._world.shown else None

    def _approve_older(self):
        return ["approve_older"] if self._world.shown else None

    def _approve_ended(self):
        return ["approve_ended"] if self._world.history else None

    def _approve_in_spec(self):
        """The digest that is shown, or that was shown so many before it."""
        if self._world.mode == AUTOMATIC or not self._digests:
            return None
        return ["approve_in_spec", self._random.choice((0, 0, 1))]

    def _rollback(self):
        back = self._random.choice((None, 0, 1, 2))
        return ["rollback", back] if self._world.target(back) else None

    def _destroy(self):
        return ["destroy"] if self._world.history else None

    def _kill(self):
        return ["kill"]


def sequence(seed, number):
    return copy.deepcopy(Generator(f"{seed} {number}").sequence())


def text(step):
    """For people, in a line."""
    return " + ".join(" ".join(str(one) for one in action) for action in step)
