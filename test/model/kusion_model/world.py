"""The model: what there is after each action, as the documents say (docs/approval.md, README, the
descriptions of the CRDs). No input, no output.

A World is the Spec, the live objects by field and owner, State, the Releases that succeeded, the plan
that waits for approval, and the hold. `act` carries out an action of a person or of another program;
`converge` is what the operator makes of the result. Real events overlap: `after` gives every World that
a burst of actions can end in, with or without the operator acting in between. Where the documents leave
it open, there are two such Worlds, too (`strict`)."""

import copy
from dataclasses import dataclass, field
from itertools import combinations, product

from kusion_model.catalog import NAMES, OTHER, OURS, REFERENCE, RESOURCES, complete, is_kubectl

REQUESTS = ("rollback", "rollback_to", "destroy")
LIVE = ("edit", "take", "delete", "make")  # an object, by name
OF_SPEC = ("put", "drop", "mode", "touch", "source", "approve_in_spec", *REQUESTS)
MOST_PARTS = 5  # changes of a plan that may be done in part
EITHER = "either"  # an action may be taken or refused
UNKNOWN = "(known after apply)"
AUTOMATIC, MANUAL = "Automatic", "Manual"


@dataclass
class Object:
    """uid: a number of the model. fields: by short name. owners: the managers of each field."""

    uid: int
    fields: dict
    owners: dict
    ours: bool


@dataclass(frozen=True)
class Change:
    """One step of a plan. fields: those that it changes. core: two plans with different cores have
    different digests. whole: two plans that are equal in it have the same digest."""

    name: str
    action: str
    fields: tuple
    core: tuple
    whole: tuple


@dataclass(frozen=True)
class Plan:
    """The Changes, by name; none: nothing is to be done. gone: names that only leave State."""

    changes: tuple
    gone: tuple

    def __bool__(self):
        return bool(self.changes)

    def actions(self):
        return {one.name: one.action for one in self.changes}

    @property
    def core(self):
        return tuple(one.core for one in self.changes)

    @property
    def whole(self):
        return tuple(one.whole for one in self.changes), self.gone


@dataclass
class Revision:
    """One that succeeded. wanted: what it applied; None: it destroyed."""

    operation: str
    wanted: dict | None


def in_order(wanted):
    """What a Spec lists, to compare two; None: nothing is in force."""
    return None if wanted is None else list(complete(wanted).items())


@dataclass
class World:
    mode: str = AUTOMATIC
    wanted: dict = field(default_factory=dict)     # by name: fields, depends_on
    source: str | None = None                      # the kind of the object that has the resources
    touched: int = 0                               # changes of the Spec that change no resource
    approved_in_spec: str | None = None            # a digest
    objects: dict = field(default_factory=dict)
    state: dict = field(default_factory=dict)      # by name: uid
    history: list = field(default_factory=list)    # Revisions
    asked: Revision | None = None                  # what is to be done with a Release of its own
    shown: Plan | None = None                      # the plan that waits
    waiting: int = 0                               # number of its Release
    seen: int = 0                                  # the Release that people see
    known: int = 0                                 # the newest revision that was seen
    approved: bool = False                         # it was approved, in its Release
    asked_in: int = 0                              # the Release in which a person approved last
    is_old: bool = False                           # it is of an earlier generation
    hold: Revision | None = None
    before: Revision | None = None                 # the hold before the newest request
    is_unseen: bool = False                        # the operator may not have seen that request yet
    visited: set = field(default_factory=set)      # names that the operation under way is done with
    corrections: int = 0                           # since the last change of the Spec
    corrected: set = field(default_factory=set)
    uids: int = 0
    made: dict = field(default_factory=dict)       # by name: how many objects there were
    real: dict = field(default_factory=dict)       # the real uid of each uid, as far as it was seen
    addresses: dict = field(default_factory=dict)  # of the Services, by uid
    plans: dict = field(default_factory=dict)      # digests of plans that were seen, by core, whole
    names: dict = field(default_factory=dict)      # of the Releases that waited, by number
    is_loose: bool = False                         # a correction may have been counted or not
    strict: bool = False

    # ---- the Spec

    def desired(self):
        """By name: fields and dependencies, with references resolved as far as is known."""
        if self.hold:
            wanted = complete(self.hold.wanted or {})
        else:
            wanted = complete(self.wanted)
        address = UNKNOWN
        if "svc" in self.objects:
            address = ("address", self.objects["svc"].uid)
        return {name: ({short: address if value == REFERENCE else value
                        for short, value in fields.items()}, depends_on)
                for name, (fields, depends_on) in wanted.items()}

    def in_force(self):
        """What an operation does now, and what its Release says."""
        return copy.deepcopy(self.hold or Revision("Apply", self.wanted))

    def _edited(self):
        """The Spec has another generation."""
        self.hold, self.before, self.is_unseen, self.visited = None, None, False, set()
        self.asked = self.in_force()
        self.is_old = True
        self.corrections, self.corrected, self.is_loose = 0, set(), False

    # ---- the plan

    def plan(self):
        desired = self.desired()
        changes = [self._change(name, *desired[name]) for name in desired]
        left = [name for name in NAMES if name in self.state and name not in desired]
        gone = tuple(name for name in left if not self._is_removable(name))
        changes += [self._removal(name) for name in left if name not in gone]
        return Plan(tuple(sorted((one for one in changes if one), key=lambda one: one.name)), gone)

    def _change(self, name, fields, depends_on):
        live = self.objects.get(name)
        sent = tuple(sorted(fields.items(), key=str))
        if live is None:
            return Change(name, "create", (), (name, "create", sent), (name, sent, depends_on))
        given_up = [short for short in live.fields if short not in fields and self._goes(live, short)]
        changed = sorted([short for short in fields if live.fields.get(short) != fields[short]] + given_up)
        action = "update" if live.ours else "adopt"
        if live.ours and not changed:
            return None
        before = tuple((short, live.fields.get(short)) for short in sorted({*fields, *given_up}))
        core = (name, action, live.uid, sent, before)
        return Change(name, action, tuple(changed), core, (*core, depends_on))

    @staticmethod
    def _goes(live, short):
        """Whether a field that the Spec lacks is removed: nobody else has it but us and kubectl."""
        owners = live.owners.get(short, set())
        return bool(owners) and all(one == OURS or is_kubectl(one) for one in owners)

    def _is_removable(self, name):
        return name in self.objects and self.objects[name].uid == self.state[name]

    def _removal(self, name):
        live = self.objects[name]
        return Change(name, "delete", (), (name, "delete", live.uid),
                      (name, live.uid, tuple(sorted(live.fields.items(), key=str))))

    # ---- the operator

    def converge(self):
        """What the operator does until it is quiet."""
        self.before, self.is_unseen = None, False
        if self.visited:
            self._go_on()
        plan = self.plan()
        if plan and self.mode == MANUAL and not self._is_approved(plan):
            self._show(plan)
            return self
        self._carry_out(plan)
        self._record(plan)
        self.shown, self.approved, self.is_old = None, False, False
        return self

    def converge_partly(self, names, is_recorded=True):
        """An operation that has done so much of its plan is ended; with is_recorded, after it saw that what
        it deleted is gone. False: there is none."""
        plan, records = self.plan(), dict(self.state)
        if self.mode == MANUAL and not self._is_approved(plan):
            return False
        self._carry_out(plan, names)
        if not is_recorded:
            self.state = {**records, **self.state}
        self.shown, self.approved, self.is_old = None, False, False
        return True

    def visit(self, name):
        """The operation with a Release of its own is done with name, and goes on. False: there is none."""
        plan = self.plan()
        if name not in {*self.desired(), *self.state} or not self.asked:
            return False
        if self.mode == MANUAL and not self._is_approved(plan):
            return False
        self._carry_out(plan, (name,))
        self.before, self.is_unseen = None, False
        self.visited.add(name)
        return True

    def _go_on(self):
        """It ends, without another look at what it is done with."""
        plan = self.plan()
        self._carry_out(plan, {*self.desired(), *plan.actions(), *plan.gone} - self.visited)
        self.history.append(self.asked)
        self.asked, self.visited = None, set()
        self.shown, self.approved, self.is_old = None, False, False

    def _is_shown(self, plan):
        """Whether it is the plan of the Release that waits. Equal in core alone: who knows?"""
        if not self.shown or self.shown.core != plan.core:
            return False
        return not self.strict or (self.shown.whole == plan.whole and not self.is_old)

    def _show(self, plan):
        if not self._is_shown(plan) or self.is_old:
            self.waiting += 1
        self.shown, self.approved, self.is_old = plan, False, False

    def _is_approved(self, plan):
        """What was to be deleted may be gone already: nothing else is done then."""
        is_less = self.shown and self._without(plan.gone) == plan.core
        if self.approved and (self._is_shown(plan) or (is_less and not self.strict)):
            return True
        return (self.approved_in_spec is not None
                and self.approved_in_spec in self._digests(plan))

    def _without(self, gone):
        return tuple(one.core for one in self.shown.changes
                     if one.action != "delete" or one.name not in gone)

    def _digests(self, plan):
        """Those that a plan with this core had; with strict, only those of the whole plan."""
        return {digest for (core, whole), digest in self.plans.items()
                if core == plan.core and (not self.strict or whole == plan.whole)}

    def _carry_out(self, plan, names=None):
        """names: of what is changed, or leaves State because it is gone; None: all."""
        for name in self.desired():
            if names is not None and name not in names:
                continue
            if name not in self.objects:
                self._make(name, {}, OURS)
            self._apply(name, self.desired()[name][0])
            self.state[name] = self.objects[name].uid
        for change in plan.changes:
            if change.action == "delete" and (names is None or change.name in names):
                del self.objects[change.name], self.state[change.name]
        for name in plan.gone:
            if names is None or name in names:
                del self.state[name]

    def _make(self, name, fields, manager):
        self.uids += 1
        self.made[name] = self.made.get(name, 0) + 1
        live = Object(self.uids, dict(fields), {short: {manager} for short in fields}, manager == OURS)
        for short, value in RESOURCES[name].defaults.items():
            if short not in fields:
                live.fields[short] = value
                # Who creates without server-side apply owns the defaults, too.
                live.owners[short] = {manager} - {OURS}
        self.objects[name] = live

    def _apply(self, name, fields):
        """Server-side apply by force, after a takeover of what kubectl has."""
        live = self.objects[name]
        for short, owners in live.owners.items():
            if any(is_kubectl(one) for one in owners):
                live.owners[short] = {one for one in owners if not is_kubectl(one)} | {OURS}
        for short in [*live.fields]:
            if short not in fields and OURS in live.owners.get(short, ()):
                self._give_up(name, short, OURS)
        for short, value in fields.items():
            self._set(live, short, value, OURS)
        live.ours = True

    @staticmethod
    def _set(live, short, value, manager):
        if live.fields.get(short) == value:
            live.owners.setdefault(short, set()).add(manager)
        else:
            live.fields[short], live.owners[short] = value, {manager}

    def _give_up(self, name, short, manager):
        live = self.objects[name]
        live.owners[short].discard(manager)
        if live.owners[short]:
            return
        del live.owners[short]
        default = RESOURCES[name].defaults.get(short)
        if default is None:
            del live.fields[short]
        else:
            live.fields[short] = default

    def _record(self, plan):
        if self.asked:
            self.history.append(self.asked)
            self.asked = None
        elif self.shown and not plan and self.strict:
            # Nothing is left to be done: the Release that waited may end so, or be cancelled.
            self.history.append(self.in_force())
        elif plan:
            # A correction that only repeats earlier ones gets no Release.
            entries = {(one.name, one.action, one.fields) for one in plan.changes}
            is_new = not entries <= self.corrected
            if not self.strict and is_new:
                is_new = not _single(entries) <= _single(self.corrected)
            if self.is_loose:
                is_new = self.strict
            if is_new or self.mode == MANUAL:
                self.history.append(self.in_force())
            self.corrections += 1
            self.corrected |= entries

    # ---- what people and programs do; each gives whether it was taken

    def act(self, action):
        verb, *arguments = action
        return getattr(self, f"_do_{verb}")(*arguments)

    def _do_put(self, name, fields, depends_on=()):
        self._change_wanted({**self.wanted, name: (dict(fields), tuple(depends_on))})
        return True

    def _do_drop(self, name):
        self._change_wanted({one: what for one, what in self.wanted.items() if one != name})
        return True

    def _change_wanted(self, wanted):
        before, self.wanted = complete(self.wanted), wanted
        if complete(wanted) != before:
            self._edited()

    def _do_mode(self, mode):
        if mode != self.mode:
            self.mode = mode
            if mode == AUTOMATIC:
                self.approved_in_spec = None
            self._edited()
        return True

    def _do_source(self, kind):
        """The Spec's resources come from a ConfigMap or a Secret. What is wanted is the same."""
        self.source = kind
        return True

    def _do_touch(self):
        self.touched += 1
        self._edited()
        return True

    def _do_edit(self, name, short, value, manager):
        """An update of one field, by a program or with kubectl."""
        live = self.objects.get(name)
        if live and live.fields.get(short) != value:
            live.fields[short], live.owners[short] = value, {manager}
        return live is not None

    def _do_take(self, name, short, value):
        """Server-side apply by force, by another manager. No value: the one that is there."""
        live = self.objects.get(name)
        if live is None or (value is None and short not in live.fields):
            return False
        self._set(live, short, live.fields[short] if value is None else value, OTHER)
        return True

    def _do_delete(self, name):
        return self.objects.pop(name, None) is not None

    def _do_make(self, name, manager):
        """An object that belongs to nobody."""
        if name in self.objects:
            return False
        short = next(iter(RESOURCES[name].foreign))
        self._make(name, {short: RESOURCES[name].foreign[short][0]}, manager)
        return True

    def _do_approve(self):
        if self.asked_in == self.seen != 0:
            return True  # a second time: that changes nothing
        if not self.shown or self.waiting != self.seen:
            return False
        # After a change of the Spec the operator may have ended the Release already, and no more.
        is_sure = not self.is_old
        self._approve(is_sure)
        return is_sure or EITHER

    def _approve(self, taken):
        self.approved, self.asked_in = taken, self.seen if taken else 0

    def _do_approve_ended(self):
        """The digest of a Release that has ended: the API server refuses it."""
        return False

    def _do_approve_older(self):
        """In the Release that waits, the digest of another plan: the API server refuses it."""
        return False

    def digest(self, back):
        """The one that was shown last, or so many before it; None: there is none."""
        digests = [*dict.fromkeys(self.plans.values())]
        return digests[-1 - back] if back < len(digests) else None

    def _do_approve_in_spec(self, back):
        digest = self.digest(back)
        if self.mode != MANUAL or digest is None:
            return False
        if digest != self.approved_in_spec:
            self.approved_in_spec = digest
            self._edited()
        return True

    def _do_rollback(self, back):
        """To the revision so many before the newest, of those that succeeded; None: by default."""
        return self._roll_back(self.target(back))

    def _do_rollback_to(self, index):
        """To that one of the history."""
        is_there = 0 <= index < len(self.history) and self.history[index].wanted is not None
        return self._roll_back(self.history[index] if is_there else None)

    def _roll_back(self, target):
        if target is None:
            return False
        return self._request(Revision("Rollback", copy.deepcopy(target.wanted)))

    def _request(self, revision):
        self.before, self.is_unseen, self.visited = self.hold, True, set()
        self.hold = self.asked = revision
        self.is_old = True
        return True

    def unseen(self):
        """The newest request was not seen before another takes its place."""
        world = copy.deepcopy(self)
        world.hold, world.before, world.is_unseen = world.before, None, False
        return world

    def target(self, back):
        """The Revision. None: the last that succeeded with other resources than those in force."""
        if back is None:
            now = in_order(self.in_force().wanted)
            earlier = [one for one in self.history if in_order(one.wanted) not in (None, now)]
            return earlier[-1] if earlier else None
        if back >= len(self.history) or self.history[-1 - back].wanted is None:
            return None
        return self.history[-1 - back]

    def _do_destroy(self):
        if not self.history:
            return False
        return self._request(Revision("Destroy", None))

    def _do_kill(self):
        return True

    # ---- what can be seen

    def ready(self):
        """Status and reason of the condition."""
        if self.shown:
            return "Unknown", "AwaitingApproval"
        if self.hold:
            return "False", {"Rollback": "RolledBack", "Destroy": "Destroyed"}[self.hold.operation]
        return "True", "ReconciliationSucceeded"

    def remove(self):
        """The Spec is deleted: what State records goes, without approval."""
        for name, uid in self.state.items():
            if name in self.objects and self.objects[name].uid == uid:
                del self.objects[name]
        self.state, self.shown, self.hold, self.visited = {}, None, None, set()
        return self


def _single(entries):
    """A change of several fields, as changes of one."""
    return {(name, action, short) for name, action, fields in entries for short in fields or ("",)}


def after(world, actions, taken):
    """All Worlds that the actions can end in, each of which was taken or refused as it says."""
    found = []
    for strict, (ordered, its_taken) in product((True, False), _orders(world, actions, taken)):
        begin = copy.deepcopy(world)
        begin.strict = strict
        for end in _ends(begin, ordered, its_taken):
            end.strict = False
            if end not in found:
                found.append(end)
    return found


def _orders(world, actions, taken):
    """A request counts as later than a change of the Spec in the same second: it may come after any of
    the actions that follow it, and stays before the next request. The revision that it names is one of
    those before the step."""
    pairs = [(_with_index(world, action), was_taken) for action, was_taken in zip(actions, taken, strict=True)]
    places = [number for number, (action, _) in enumerate(pairs) if action[0] in REQUESTS]
    rest = [pair for number, pair in enumerate(pairs) if number not in places]
    earliest = [place - number for number, place in enumerate(places)]  # so many of the rest are before it
    for later in product(*(range(first, len(rest) + 1) for first in earliest)):
        if sorted(later) == [*later]:
            yield tuple(zip(*_merged(rest, [pairs[place] for place in places], later), strict=True))


def _merged(rest, requests, places):
    """Each request after so many of the rest."""
    found = []
    for number in range(len(rest) + 1):
        found += [one for one, place in zip(requests, places, strict=True) if place == number]
        found += rest[number:number + 1]
    return found


def _with_index(world, action):
    if action[0] != "rollback" or action[1] is None:
        return action
    return ["rollback_to", len(world.history) - 1 - action[1]]


def _ends(world, actions, taken):
    """world is changed."""
    if not actions:
        yield world.converge()
        return
    was_taken = world.act(actions[0])
    if was_taken == EITHER:
        world._approve(taken[0])
    elif was_taken != taken[0]:
        return
    between = _between(world, *actions[1]) if actions[1:] else [world]
    for one in between:
        yield from _ends(one, actions[1:], taken[1:])


def _between(world, verb, name=None, *_):
    """What the operator may have done before the next action, which ends what it does if that is a
    change of the Spec, and is not seen by it any more if that is of an object that it is done with."""
    yield copy.deepcopy(world)
    yield copy.deepcopy(world).converge()
    if verb in REQUESTS and world.is_unseen:
        yield world.unseen()
    visited = copy.deepcopy(world)
    if verb in LIVE and visited.visit(name):
        yield visited
    names = tuple(world.plan().actions())
    if verb not in OF_SPEC or len(names) > MOST_PARTS:
        return
    for size in range(len(names) + 1):
        for part in combinations(names, size):
            for is_recorded in (True, False):
                cut = copy.deepcopy(world)
                if cut.converge_partly(part, is_recorded):
                    yield cut
