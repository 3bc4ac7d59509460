"""Whether a World is what was seen. Pure: what was seen comes as plain data (`Seen`)."""

from collections import Counter
from dataclasses import dataclass, field

from kusion_model.catalog import OURS, is_kubectl
from kusion_model.world import AUTOMATIC

ENDED = ("succeeded", "failed", "cancelled")


@dataclass
class Live:
    """An object. fields and owners: as in world.Object. owner: the value of our label."""

    uid: str
    fields: dict
    owners: dict
    owner: str | None


@dataclass
class Record:
    """A Release of the operator."""

    name: str
    operation: str
    revision: int
    phase: str
    reason: str
    generation: int
    digest: str | None
    counts: dict
    approved: str | None
    actions: dict
    asked: str | None    # the digest that a person wrote into it
    version: str
    source: str | None = None  # the version of the object that the resources came from


@dataclass
class Seen:
    """objects and state: by name. state: uids, None for an intent. records: by revision."""

    generation: int
    status: dict
    objects: dict
    state: dict
    records: list
    address: str | None
    requests: list = field(default_factory=list)   # Releases that a person made, as Records

    def condition(self, kind):
        return next((one for one in self.status.get("conditions", []) if one["type"] == kind), None)

    def waiting(self):
        return [one for one in self.records if one.phase == "awaitingApproval"]


def differences(world, seen, is_calm):
    """Texts. is_calm: nothing raced, so that each Release is known exactly."""
    found = []
    _objects(world, seen, found)
    _state(world, seen, found)
    _spec(world, seen, found, is_calm)
    _records(world, seen, found, is_calm)
    _waiting(world, seen, found)
    return found


def bind(world, seen):
    """What the World did not know: real uids, and the digest of the plan that waits."""
    for name, live in world.objects.items():
        world.real[live.uid] = seen.objects[name].uid
    if "svc" in world.objects:
        world.addresses[world.objects["svc"].uid] = seen.address
    world.known = seen.records[-1].revision if seen.records else 0
    world.seen = world.waiting if seen.waiting() else 0
    for one in seen.waiting():
        world.plans[world.shown.core, world.shown.whole] = one.digest
        world.names[world.waiting] = one.name


# ---- objects

def _objects(world, seen, found):
    for name in sorted({*world.objects, *seen.objects}):
        model, live = world.objects.get(name), seen.objects.get(name)
        if model is None or live is None:
            found.append(f"{name}: {'is there' if live else 'is not there'}")
            continue
        real = world.real.get(model.uid)
        if real is None and live.uid in world.real.values():
            found.append(f"{name}: is the old object, not a new one")
        elif real is not None and live.uid != real:
            found.append(f"{name}: is another object (uid {live.uid}, not {real})")
        if model.ours != (live.owner is not None):
            found.append(f"{name}: the label of its owner is {live.owner}")
        elif model.ours and live.owner != seen.status.get("owner"):
            found.append(f"{name}: belongs to {live.owner}, not to {seen.status.get('owner')}")
        _fields(name, model, live, world.addresses, seen.address, found)


def _fields(name, model, live, addresses, address, found):
    for short in sorted({*model.fields, *live.fields}):
        wanted, value = model.fields.get(short), live.fields.get(short)
        if isinstance(wanted, tuple):
            wanted = addresses.get(wanted[1], address)
        if wanted != value:
            found.append(f"{name}.{short}: is {value!r}, not {wanted!r}")
        owners, real = model.owners.get(short, set()), live.owners.get(short, set())
        if _others(owners) != _others(real):
            found.append(f"{name}.{short}: others that own it are {sorted(real)}, not {sorted(owners)}")
        if OURS in owners and OURS not in real:
            found.append(f"{name}.{short}: is not ours")
        # Of a field that another has, too, we may keep our share: giving it up changes nothing.
        if OURS in real and OURS not in owners and not owners:
            found.append(f"{name}.{short}: is ours, but is not in the Spec")


def _others(owners):
    """What kubectl has is taken over, but not where another has it, too: that would change nothing."""
    others = owners - {OURS}
    return {one for one in others if not is_kubectl(one)} or others


def _state(world, seen, found):
    # After a kill, and where an operation was ended, there may be intents, which have no uid: of what
    # was made, of what is wanted still, and, while a plan waits, of what was wanted.
    applied = {name for name, uid in seen.state.items() if uid}
    intents = {*seen.state} - applied
    more = intents if world.shown else intents & {*world.desired()}
    if not applied <= {*world.state} <= {*seen.state} <= {*world.state} | more:
        found.append(f"State has {seen.state}, not {sorted(world.state)}")
        return
    for name in world.state:
        uid = seen.state[name]
        live = seen.objects.get(name)
        is_live = name in world.objects and world.objects[name].uid == world.state[name]
        if is_live and live and uid not in (None, live.uid):
            found.append(f"State has {name} with uid {uid}, not {live.uid}")


# ---- the Spec

def _spec(world, seen, found, is_calm):
    status = seen.status
    ready = seen.condition("Ready") or {}
    if (ready.get("status"), ready.get("reason")) != world.ready():
        found.append(f"Ready is {ready.get('status')} {ready.get('reason')} ({ready.get('message')}), "
                     f"not {world.ready()}")
        return
    for one in status["conditions"]:
        if one.get("observedGeneration") != seen.generation:
            found.append(f"{one['type']} is of generation {one.get('observedGeneration')}")
    stalled = (seen.condition("Stalled") or {}).get("status") == "True"
    reconciling = (seen.condition("Reconciling") or {}).get("status") == "True"
    if stalled != bool(world.hold and not world.shown):
        found.append(f"Stalled is {stalled}")
    if reconciling != bool(world.shown):
        found.append(f"Reconciling is {reconciling}")
    if world.shown:
        return
    if status.get("inventory", {}).get("total", 0) != len(world.state):
        found.append(f"the inventory has {status.get('inventory')}, not {len(world.state)} objects")
    if not world.hold and status.get("resources", {}).get("ready", 0) != len(world.state):
        found.append(f"of the resources are ready {status.get('resources')}")
    corrections = status.get("driftCorrections", {}).get("count", 0)
    if (is_calm and not world.is_loose and world.mode == AUTOMATIC and not world.hold
            and corrections != world.corrections):
        found.append(f"{corrections} corrections of drift, not {world.corrections}")


# ---- Releases

def _records(world, seen, found, is_calm):
    revisions = [one.revision for one in seen.records]
    if len(set(revisions)) != len(revisions):
        found.append(f"revisions are there twice: {revisions}")
    open_ones = [one for one in seen.records if one.phase not in ENDED]
    if [one.phase for one in open_ones] != (["awaitingApproval"] if world.shown else []):
        found.append(f"Releases that have not ended: {[(one.name, one.phase) for one in open_ones]}")
    elif open_ones and open_ones[0] is not seen.records[-1]:
        found.append(f"{open_ones[0].name} waits, and {seen.records[-1].name} came later")
    succeeded = [one for one in seen.records if one.phase == "succeeded"]
    if len(succeeded) != len(world.history):
        found.append(f"{len(succeeded)} Releases succeeded, not {len(world.history)}: "
                     f"{[(one.name, one.operation, one.phase, one.reason) for one in seen.records]}")
        return
    for one, revision in zip(succeeded, world.history):
        if one.operation != revision.operation:
            found.append(f"{one.name} is of operation {one.operation}, not {revision.operation}")
    if is_calm:
        for one in seen.records:
            if one.phase == "failed" and one.revision > world.known:
                found.append(f"{one.name} failed: {one.reason}")
    if succeeded:
        _newest(world, seen, succeeded[-1], found)


def _newest(world, seen, newest, found):
    if not world.shown:
        if seen.records[-1] is not newest:
            found.append(f"the newest Release is {seen.records[-1].name}, and did not succeed")
        if newest.generation != seen.generation:
            found.append(f"{newest.name} is of generation {newest.generation}, not {seen.generation}")
        if seen.status.get("lastAppliedRevision") != newest.revision:
            found.append(f"lastAppliedRevision is {seen.status.get('lastAppliedRevision')}, "
                         f"not {newest.revision}")
    for one in seen.requests:
        if one.phase not in ENDED and not (world.shown and one.revision):
            found.append(f"{one.name}, which a person made, is {one.phase}")


def _done(actions):
    """Without what only leaves State."""
    return {name: action for name, action in actions.items() if action != "forget"}


def _waiting(world, seen, found):
    """The plan that waits is the model's; and it has the digest that such a plan had before."""
    waiting = seen.waiting()
    if not world.shown or len(waiting) != 1:
        return
    record, plan = waiting[0], world.shown
    # Where State has a record or an intent already, an adoption may be called an update.
    shown = {name: "adopt" if name in seen.state and plan.actions().get(name) == "adopt" else action
             for name, action in _done(record.actions).items()}
    if shown != plan.actions():
        found.append(f"{record.name} shows {record.actions}, not {plan.actions()}")
    counts = {action: count for action, count in record.counts.items()
              if count and action != "unchanged"}
    if counts != Counter(_done(record.actions).values()):
        found.append(f"{record.name} counts {counts}, and shows {record.actions}")
    if record.generation != seen.generation:
        found.append(f"{record.name} waits, of generation {record.generation}, not {seen.generation}")
    known = world.names.get(world.waiting)
    if known not in (None, record.name):
        found.append(f"{record.name} waits for the plan of {known}, which did not change")
    for (core, whole), digest in world.plans.items():
        if whole == plan.whole and digest != record.digest:
            found.append(f"one plan has two digests: {digest}, {record.digest}")
        if core != plan.core and digest == record.digest:
            found.append(f"two plans have one digest, {digest}")


# ---- what was seen before

class Memory:
    """What holds in each World: history only grows, and what was shown is what is done."""

    def __init__(self):
        self._ended = {}     # Records, by name
        self._revision = 0
        self._shown = {}     # actions, by digest

    def look(self, seen, was_killed=False):
        """What must hold at each moment: texts. After a kill, a step that was done before it is not
        told."""
        found = []
        newest = seen.records[-1].revision if seen.records else 0
        if newest < self._revision:
            found.append(f"the newest revision is {newest}, and was {self._revision}")
        self._revision = max(newest, self._revision)
        for one in seen.records:
            before = self._ended.get(one.name)
            if before and before != one:
                found.append(f"{one.name} had ended, and changed: {before}, {one}")
            if one.phase in ENDED:
                self._ended[one.name] = one
            if one.phase == "succeeded" and one.approved:
                self._approved(one, was_killed, found)
            if one.phase == "awaitingApproval":
                self._shown[one.digest] = one.actions
        if len(seen.waiting()) > 1:
            found.append(f"several Releases wait: {[one.name for one in seen.waiting()]}")
        return found

    def _approved(self, one, was_killed, found):
        if one.approved != one.digest:
            found.append(f"{one.name} carried out {one.digest}, and {one.approved} was approved")
        shown = self._shown.get(one.digest)
        if shown is not None and _done(shown) != _done(one.actions) and not was_killed:
            found.append(f"{one.name} did {one.actions}, and {shown} was shown")
