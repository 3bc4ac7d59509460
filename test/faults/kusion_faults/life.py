"""One life of a Spec, with one fault, and what must hold of it.

The life: a Spec of twelve resources is created, updated (two objects change, two are pruned, one is
made, one is adopted) and deleted, each time as soon as the last is done. `positions` names each of
its requests, so that a fault can be aimed at one of them in another life."""

import re
import secrets
import time
from collections import Counter
from dataclasses import dataclass, field

from kusion_faults.faults import ALL, KILLS, SLOW, WATCH_SLOW, exactly, rule
from kusion_faults.operator import Operator
from kusion_faults.world import World, wanted
from kusion_e2e.specs import Spec

STEP = 60          # seconds within which each of the three steps must be done
SLOW_STEP = 140    # the same, where a request never gets an answer
QUIET = 0.7        # seconds without a write, when all is done
TRIES = 3          # of the request that the fault is at, meanwhile
LEFT = re.compile(r"DELETE .*/(configmaps|secrets)/kusion-(plan|approval)-")  # kept beside Releases
ENOUGH = 700       # requests of a life; one without faults has 180
RULE = "fault"


def new_mark():
    """A part of names that nobody else has: objects without a namespace are all lives' own."""
    return secrets.token_hex(4)


@dataclass
class Result:
    """What a life showed."""
    position: str | None
    kind: str | None
    fired: bool = False
    seconds: float = 0
    violations: list = field(default_factory=list)
    requests: list = field(default_factory=list)
    log: str = ""
    positions: list = field(default_factory=list)


class Violation(Exception):
    """The life cannot go on."""


# ---- positions

IDS = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{10,}")
VERSIONS = re.compile(r"resourceVersion=\d+|timeoutSeconds=\d+|continue=[^&]*")


def normal(path, room, world):
    """A path without what differs from life to life."""
    path = path.replace(room.tenant, "TENANT").replace(room.state, "STATE").replace(world.mark, "MARK")
    path = VERSIONS.sub(lambda found: found[0].partition("=")[0] + "=N", path)
    return IDS.sub("ID", path)


def position_of(verb, path, number):
    return f"{verb} {path} #{number}"


def positions(requests, room, world):
    """Of the requests of a life: verb, normal path, and how many such came before."""
    seen = Counter()
    for one in requests:
        key = one["verb"], normal(one["path"], room, world)
        yield position_of(*key, seen[key])
        seen[key] += 1


def expression(path, room, world):
    """A regular expression for the paths that a normal path is of."""
    text = exactly(path)
    for word, name in (("TENANT", room.tenant), ("STATE", room.state), ("MARK", world.mark)):
        text = text.replace(word, name)
    text = text.replace("ID", "[0-9a-f-]+")
    return text.replace("continue=N", "continue=[^&]*").replace("=N", "=[0-9]+")


def rule_at(position, kind, room, world):
    verb, path, number = position.split(" ")
    fault = dict(ALL[kind])
    return rule(RULE, verb=verb, path=expression(path, room, world), skip=int(number[1:]),
                times=fault.pop("times", 1), at=fault.pop("at", "after"), **fault)


# ---- the life

class Life:
    enough, succeeded = ENOUGH, 3  # requests, and Releases that succeed, at most
    step = STEP
    world_type, flags = World, ()  # of its objects; of the operator

    def __init__(self, room, proxy, position=None, kind=None):
        self.room, self.api = room, room.api
        self.world = self.world_type(room.tenant, new_mark())
        self.kind = kind
        self.lane = proxy.lane()
        self.result = Result(position, kind)
        if position:
            self.lane.rules(rule_at(position, kind, room, self.world))
        self.spec = Spec(room, room.tenant, self.world.name("spec"))
        self.operator = None
        self._killed = False
        self._uids = {}

    def run(self):
        began = time.monotonic()
        try:
            self._prepare()
            self._steps()
        except (Violation, AssertionError, OSError) as violation:
            self._broken(f"{type(violation).__name__}: {violation}")
        finally:
            self._end()
        self.result.seconds = time.monotonic() - began
        return self.result

    def _steps(self):
        self._apply(self.world.first())
        self._apply(self.world.second())
        self._rest()
        self._delete()
        self._nothing_is_left()

    def _prepare(self):
        self.world.prepare(self.api)
        self._foreign = self.api.get(self.world.path("ConfigMap", self.world.foreign())).must().object
        for name in self.world.adopted():
            found = self.api.get(self.world.path("ConfigMap", name)).must().object
            self._uids["ConfigMap", name] = found["metadata"]["uid"]
        self.operator = Operator(self.room, self.lane, self.room, self.flags)

    def _broken(self, text):
        self.result.violations.append(text)

    def _until(self, check, what):
        """Until it is so; meanwhile the process is killed, if that is the fault, or started again,
        if it ended."""
        seconds = SLOW_STEP if self.kind in {**SLOW, **WATCH_SLOW} else self.step
        end = time.monotonic() + seconds
        while not check():
            self._look_after_process()
            if time.monotonic() > end:
                raise Violation(f"not {what} within {seconds} s: {self._story()}")
            time.sleep(0.03)

    def _look_after_process(self):
        if self.kind in KILLS and not self._killed and self.lane.fired(RULE):
            self._killed = True
            self.operator.kill9()
            if self.kind != "kill-after":
                self.lane.release(RULE, "drop")
            self.operator.restart()
        self.operator.watch()

    def _story(self):
        spec = self.spec.get()
        return str(spec and {key: spec.get("status", {}).get(key) for key in ("phase", "conditions")})

    def _apply(self, resources):
        self.spec.apply(resources, **self._fields())
        self._until(self._is_ready, f"Ready in generation {self.spec.generation}")
        self._is_as_wanted(resources)

    def _kept(self):
        return self.room.kept()

    def _fields(self):
        """Of the Spec, beside its resources."""
        return {"retryInterval": "1s"}

    def _is_ready(self):
        ready = self.spec.condition()
        return ready and ready["status"] == "True" and ready["reason"] != "Progressing"

    def _is_as_wanted(self, resources):
        there = self.world.objects(self.api)
        for key, attributes in wanted(resources).items():
            if key not in there:
                self._broken(f"Ready, and {key} is not there")
                continue
            value = attributes.get("data", {}).get("value", "$")
            if not value.startswith("$") and there[key]["data"]["value"] != value:
                self._broken(f"Ready, and {key} is {there[key]['data']}")
            uid = self._uids.setdefault(key, there[key]["metadata"]["uid"])
            if there[key]["metadata"]["uid"] != uid:
                self._broken(f"{key} was made anew")
        extra = {key for key, one in there.items() if is_ours(one)} - set(wanted(resources))
        if extra:
            self._broken(f"Ready, and there are still {sorted(extra)}")

    def _is_of_fault(self, write):
        """What the fault was at may have landed without its answer: then it is tried again, later."""
        verb, path = write.split(" ", 1)
        return (self.result.position or "").startswith(f"{verb} {normal(path, self.room, self.world)} #")

    def _rest(self):
        """When all is done, nothing is written. Events and answers that a fault delays come later."""
        time.sleep(0.3)
        since = len(self.lane.requests())
        time.sleep(QUIET)
        writes = [f"{one['verb']} {one['path']}" for one in self.lane.requests(since)
                  if one["verb"] not in ("GET", "WATCH") and not re.search("/leases/|/events", one["path"])]
        if self._killed:  # what was left is removed when the next operator has led for two seconds
            writes = [one for one in writes if not LEFT.match(one)]
        if len(writes) <= TRIES and all(map(self._is_of_fault, writes)):
            return
        if writes:
            self._broken(f"Ready, and it still writes: {writes}")

    def _delete(self):
        self.api.delete(self.spec.path).must()
        self._until(lambda: self.api.get(self.spec.path).code == 404, "deleted")

    def _nothing_is_left(self):
        # A request that is under way although the operator gave it up may come late.
        if self.kind == "delay-detached":
            time.sleep(1)
        left = [key for key, one in self.world.objects(self.api).items()
                if key[1] != self.world.foreign() and not one["metadata"].get("deletionTimestamp")]
        if left:
            self._broken(f"deleted, and {left} are left")
        if self._kept():
            self._broken(f"deleted, and {self._kept()} are left")
        foreign = self.api.get(self.world.path("ConfigMap", self.world.foreign()))
        if not foreign.ok or foreign.object != self._foreign:
            self._broken(f"the object of another was touched: {foreign.text}")

    def _end(self):
        if self.operator:
            self.result.violations += self.operator.stop()
            self.result.log = self.operator.text()
            self.operator.log.unlink()
        self.result.requests = self.lane.requests()
        if self.kind:
            self.result.fired = self.lane.fired(RULE) > 0
        if len(self.result.requests) > self.enough:
            self._broken(f"{len(self.result.requests)} requests")
        self._once()
        self._nowhere_else()
        self._releases()
        self.lane.close()
        self.world.clean(self.api)

    def _once(self, but=()):
        """By the API server's answers: what was made, and what was deleted."""
        made = Counter(one["path"].partition("?")[0] for one in self.result.requests
                       if one["code"] == 201 and self.world.mark in one["path"]
                       and "dryRun=" not in one["path"])
        for path, count in made.items():
            if count > 1 and path not in but and not path.endswith(("/releases", "/events")):
                self._broken(f"{path} was made {count} times")

    def _nowhere_else(self):
        """It writes to nothing but the life's objects, and what it keeps."""
        for one in self.result.requests:
            path = one["path"].partition("?")[0]
            if one["verb"] in ("GET", "WATCH") or path.endswith(("/releases", "/events")):
                continue
            if self.world.mark not in path and f"/{self.room.state}/" not in path \
                    or self.world.foreign() in path:
                self._broken(f"it wrote to {one['verb']} {path}")

    def _releases(self):
        """Each revision once; each ended; one that succeeded for each generation. The Spec is gone:
        the garbage collector may have deleted some already."""
        found = [one.get("status", {}) for one in self.spec.releases()]
        revisions = [one.get("revision") for one in found]
        if len(set(revisions)) < len(revisions) or None in revisions:
            self._broken(f"the revisions are {revisions}")
        phases = [one.get("phase") for one in found]
        if not set(phases) <= {"succeeded", "failed", "cancelled"}:
            self._broken(f"the phases are {phases}")
        if phases.count("succeeded") > self.succeeded:
            self._broken(f"{phases.count('succeeded')} Releases succeeded, of three operations")


def is_ours(one):
    return "api.kusion.io/owner" in one["metadata"].get("labels", {})
