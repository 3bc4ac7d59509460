"""One sequence against a real Spec: after each step the Worlds that are possible are compared with
what there is."""

import copy
import random
import time
from dataclasses import dataclass, field
from functools import lru_cache

from kusion_model import paths  # noqa: F401
from kusion_model.catalog import CONFIG_MAP
from kusion_model.compare import Memory, bind, differences
from kusion_model.generate import text
from kusion_model.world import LIVE, Revision, World, after

QUIET = 60     # seconds within which the operator has to be done with a step
SAME = 25      # seconds more, in which what there is has to become what the model says
SUSPECT = 120  # seconds more after a kill: what was under way then waits so long for others
EVERY = 0.15
# Steps after which nothing tells the operator that there is something to do.
NEED_A_LOOK = {*LIVE, "kill", "approve_older", "approve_ended"}
OF_SPEC = ("put", "drop", "mode", "touch", "source")
FOREIGN = "foreign"
PAUSES = (0, 0, 0.02, 0.1, 0.3)  # seconds between two actions of a step


@dataclass
class Outcome:
    """violations: texts; empty: as the model says."""

    steps: list
    violations: list = field(default_factory=list)
    at: int = 0
    log: list = field(default_factory=list)
    seconds: float = 0

    def __bool__(self):
        return not self.violations


class Violation(Exception):
    """The sequence cannot go on."""


class Play:
    def __init__(self, real, steps, kills, seed=0):
        """kills(): how often the operator was killed, by any sequence."""
        self.real, self._kills = real, kills
        self._random = random.Random(seed)
        self._worlds, self._seen, self._memory = [World()], None, Memory()
        self.outcome = Outcome(steps)

    def run(self):
        began = time.monotonic()
        try:
            foreign = self._make_foreign()
            self.real.begin()
            for self.outcome.at, step in enumerate(self.outcome.steps):
                self._step(step)
            self._delete()
            if self._foreign().must().object != foreign:
                raise Violation("an object that is not ours was touched")
            made = self.real.made()
            if made is not None and made not in [world.made for world in self._worlds]:
                raise Violation(f"objects were made {made} times, not {self._worlds[0].made}")
        except Violation as violation:
            self.outcome.violations.extend(violation.args)
        self.outcome.seconds = time.monotonic() - began
        return self.outcome

    # ---- an object that no Spec has

    def _foreign(self):
        return self.real.api.get(f"{CONFIG_MAP.collection.format(self.real.namespace)}/{FOREIGN}")

    def _make_foreign(self):
        path = CONFIG_MAP.collection.format(self.real.namespace)
        self.real.api.create(path, {"metadata": {"name": FOREIGN}, "data": {"k": "v"}})
        return self._foreign().must().object

    # ---- a step

    def _step(self, step):
        kills, taken = self._kills(), []
        asked = copy.deepcopy(self._worlds[0])  # the Spec is the same in all of them
        if self._seen is None:
            return self._first(step)
        for action in step:
            taken.append(self.real.act(action, asked, self._seen))
            if len(step) > 1:
                time.sleep(self._random.choice(PAUSES))
        self.outcome.log.append(f"{text(step)}: {['refused', 'taken'][all(taken)]}")
        if not self._ends(step, taken, False):
            raise Violation(f"these actions were taken or refused, and should not have been: {taken}")
        if len(step) > 1 or step[0][0] in NEED_A_LOOK:
            self.real.ask()
        self._compare(lambda is_killed: self._ends(step, taken, is_killed), kills, len(step) == 1)

    def _first(self, step):
        """The Spec is created with all that the first step says of it."""
        kills, step = self._kills(), [action for action in step if action[0] in OF_SPEC]
        asked = copy.deepcopy(self._worlds[0])
        for action in step:
            asked.act(action)
        self.real.apply(asked)
        self.outcome.log.append(text(step))
        asked.asked = Revision("Apply", copy.deepcopy(asked.wanted))
        asked.converge()
        self._compare(lambda _: [asked], kills, True)

    def _ends(self, step, taken, is_killed):
        """All Worlds that are possible after the step."""
        begins = copy.deepcopy(self._worlds)
        for world in begins:
            world.is_loose |= is_killed
        return [one for world in begins for one in after(world, step, taken)]

    def _compare(self, ends, kills, is_single):
        """ends: the Worlds, by whether there was a kill. kills: how many there were before the step."""
        end, limit, last, ends = 0, None, None, lru_cache(ends)
        violations = ["the operator is not done"]
        while True:
            if self._kills() != last:  # then it begins again
                last, end, limit = self._kills(), self._within(QUIET), None
            seen = self.real.see()
            if seen:
                always = self._memory.look(seen, self._kills() > 0)
                if always:
                    raise Violation(*always)
                is_killed = self._kills() != kills
                is_calm = is_single and not is_killed
                found = [(differences(world, seen, is_calm), world) for world in ends(is_killed)]
                same = [world for violations, world in found if not violations]
                if same:
                    return self._keep(same, seen, is_killed)
                violations = min((one for one, _ in found), key=len)
                limit = limit or self._within(SAME)
            if time.monotonic() > (limit or end):
                raise Violation(*violations)
            time.sleep(EVERY)

    def _within(self, seconds):
        """When they are over. A Spec that was under way at any kill may be waiting still."""
        return time.monotonic() + seconds + (SUSPECT if self._kills() else 0)

    def _keep(self, worlds, seen, is_killed):
        self._worlds, self._seen = [], seen
        for world in worlds:
            bind(world, seen)
            world.is_loose |= is_killed
            if world not in self._worlds:
                self._worlds.append(world)

    # ---- the end

    def _delete(self):
        self.real.delete_spec()
        worlds, end = [world.remove() for world in self._worlds], self._within(QUIET)
        while True:
            left = self.real.left()
            if left:
                live, found = left
                uids = {name: one.uid for name, one in live.items()}
                wanted = [{name: world.real[one.uid] for name, one in world.objects.items()}
                          for world in worlds]
                if not found and uids in wanted:
                    self._worlds = [one for one, its in zip(worlds, wanted) if its == uids]
                    return
            if time.monotonic() > end:
                raise Violation(f"after the Spec was deleted there is {left}, not {wanted}" if left
                                else "the deleted Spec does not go")
            time.sleep(EVERY)
