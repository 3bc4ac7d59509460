"""What goes wrong with Terraform resources, by the person who writes them and by the provider: what the
person sees says where it is and what to do, everything else of the Spec is applied, and when it is mended,
the operator goes on by itself.

kusion/broken (test/provider/broken) does what a provider must not, as it is told while it runs. All cases
are at work at once, in one operator; so it is one fixture, and each case is a test of what came of it."""

import contextlib
import os
import re
import time
from dataclasses import dataclass
from datetime import datetime, timezone

import pytest

from kusion_e2e.broken import Whisperer, broken
from kusion_e2e.controller import Controller
from kusion_e2e.long import sampled
from kusion_e2e.rights import account, bound, wait_until_may
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.states import open_text, remove_states
from kusion_e2e.terraform import flags, need_providers, thing_id

NAME = "the provider kusion/broken 1.0.0"
THING = thing_id("broken_thing", "a")
FOUND = thing_id("data.broken_found", "a")
CANARY = "correct-horse-battery-staple"

# What to do, in messages.
ANEW = "\nthe next attempt is made with a new process of it; "
MORE_TIME = ANEW + "if it needs more time, raise the timeout of the Spec"
OTHER_VERSION = ANEW + "if that fails, too, use another version of the provider (extensions.provider)"
DEFECT = ("\nthis is a defect of the provider: use another version of it (extensions.provider), and tell its "
          "authors")
PACKAGE = ("\ncheck that its package has a provider of Terraform for this platform, or use another version of it "
           "(extensions.provider)")


def good(name="a", **attributes):
    return broken(name, **attributes)


def parts(**attributes):
    return broken(kind="broken_parts", **attributes)


def extended(**extensions):
    return broken(extensions=extensions)


def annotated(name, value):
    return broken(extensions={f"kusionstack.io/{name}": value})


def configured(**settings):
    return extended(providerMeta=settings)


def named(kind):
    return {**broken(kind=kind), "id": THING}


# ---- What a person wrote: the resource, what its message has, and the resource as it should be ----

SECRET = broken("secret", secret=CANARY)
INTO_SECRET = f"$kusion_path.{SECRET['id']}.secret"

# One resource is wrong: the others of its Spec are applied.
WRONG_RESOURCES = {
    "an unknown argument": (
        good(txet="x"), "InvalidAttribute", ['attributes.txet: there is no such argument; is "text" meant?'],
        good(text="x")),
    "an unknown argument in a block": (
        parts(part=[{"size": 1, "sise": 2}]), "InvalidAttribute",
        ['attributes.part[0].sise: there is no such argument; is "size" meant?'], parts(part={"size": 1})),
    "several at once": (
        broken(txet="x", size="many", extensions={"lifecycle": {"ignoreChanges": ["tagz"]}}), "InvalidAttribute",
        ['attributes.txet: there is no such argument; is "text" meant?', "; attributes.size: must be a number",
         "; extensions.lifecycle.ignoreChanges[0]: tagz: there is no such argument"], good(text="x", size=1)),
    "a wrong type": (
        good(size="many"), "InvalidAttribute", ["attributes.size: must be a number, and is of type string"],
        good(size=3)),
    "a wrong type in a map": (
        good(tags={"a": ["b"]}), "InvalidAttribute", ["attributes.tags.a: must be a string"],
        good(tags={"a": "b"})),
    "a missing argument": (
        {**good(), "attributes": {}}, "InvalidAttribute", ["attributes.name: is required"], good()),
    "a missing block": (
        parts(), "InvalidAttribute", ["attributes.part: a block of this name is required"],
        parts(part={"size": 1})),
    "too many blocks": (
        parts(part=[{"size": 1}] * 3), "InvalidAttribute",
        ["attributes.part: there are 3 blocks of this name, and 2 are allowed"],
        parts(part=[{"size": 1}] * 2)),
    "a block that is none": (
        parts(part="x"), "InvalidAttribute", ["attributes.part: must be a list of objects"],
        parts(part={"size": 1})),
    "a reference into a secret": (
        good(text=INTO_SECRET + ".inside"), "InvalidReference",
        [f'{SECRET["id"]} has no field "secret.inside" (found up to "secret")'], good(text=INTO_SECRET)),
    "a secret of a wrong type": (
        good(size=INTO_SECRET), "InvalidAttribute", ["attributes.size: must be a number"],
        good(text=INTO_SECRET)),
    "an ignored argument that is none": (
        extended(lifecycle={"ignoreChanges": ["tagz"]}), "InvalidAttribute",
        ['extensions.lifecycle.ignoreChanges[0]: tagz: there is no such argument; is "tags" meant?'],
        extended(lifecycle={"ignoreChanges": ["tags"]})),
    "an ignored argument of a block that is a list": (
        parts(part={"size": 1}, extensions={"lifecycle": {"ignoreChanges": ["part.size"]}}), "InvalidAttribute",
        ["extensions.lifecycle.ignoreChanges[0]: part.size: part is a list: name an element of it, as in part[0]"],
        parts(part={"size": 1}, extensions={"lifecycle": {"ignoreChanges": ["part[0].size"]}})),
    "no such type": (
        named("broken_thin"), "UnknownResourceType",
        [f'extensions.resourceType: {NAME} has no resources of the type "broken_thin"; is "broken_thing" meant?'],
        named("broken_thing")),
    "no such data source": (
        named("data.broken_fund"), "UnknownResourceType",
        [f'extensions.resourceType: {NAME} has no data source of the type "broken_fund"; is "data.broken_found" '
         "meant?"], named("data.broken_found")),
    "a data source as a resource": (
        named("broken_found"), "UnknownResourceType",
        ['has no resources of the type "broken_found"; is "data.broken_found" meant?'],
        named("data.broken_found")),
    "a version that nobody has": (
        extended(provider="kusion/broken/~> 2.0"), "ProviderNotFound", ["kusion/broken", "~> 2.0"], good()),
    "a setting that the provider does not have": (
        configured(regoin="x"), "InvalidAttribute",
        ['extensions.providerMeta.regoin: there is no such argument; is "region" meant?'], configured(region="x")),
    "a setting of a wrong type": (
        configured(region=["x"]), "InvalidAttribute", ["extensions.providerMeta.region: must be a string"],
        configured(region="x")),
}

# The Spec is refused as a whole, with the place.
WRONG_SPECS = {
    "an expression": (
        good(text="${var.x}"), "InvalidSpec",
        ['attributes.text): has "${": expressions of Terraform are not evaluated',
         "make the whole string a reference, $kusion_path.ID.PATH"]),
    "another provider": (
        extended(provider="hashicorp/aws"), "Unsupported",
        ["extensions.provider): the provider hashicorp/aws is not one that the operator may run; its flag "
         "--terraform-provider allows kusion/broken"]),
    "no provider's name": (
        extended(provider="kusion"), "InvalidSpec",
        ['extensions.provider): "kusion" is not a provider, as "hashicorp/random" and']),
    "a constraint that is none": (
        extended(provider="kusion/broken/1.x"), "InvalidSpec",
        ['extensions.provider): "1.x" is not a constraint on versions, as "3.7.2", "~> 3.6" and']),
    "a lifecycle that is none": (
        extended(lifecycle="x"), "InvalidSpec", ["extensions.lifecycle): must be an object"]),
    "a lifecycle with a typo": (
        extended(lifecycle={"preventDestory": True}), "InvalidSpec",
        ["extensions.lifecycle): preventDestory: there is no such setting; there are createBeforeDestroy, "
         "preventDestroy and ignoreChanges"]),
    "a lifecycle with a word": (
        extended(lifecycle={"preventDestroy": "yes"}), "InvalidSpec",
        ["extensions.lifecycle): preventDestroy: must be true or false"]),
    "a lifecycle with a path that is none": (
        extended(lifecycle={"ignoreChanges": ["a..b"]}), "InvalidSpec",
        ['extensions.lifecycle): ignoreChanges[0]: the path "a..b", byte 2: a key that is empty']),
    "an import id that is none": (
        annotated("import-id", 7), "InvalidSpec", ["extensions[kusionstack.io/import-id]): must be a string"]),
    "an old id that is none": (
        annotated("moved-from", 7), "InvalidSpec", ["extensions[kusionstack.io/moved-from]): must be a string"]),
    "an old id that is the id": (
        annotated("moved-from", THING), "InvalidSpec",
        ["extensions[kusionstack.io/moved-from]): is the id that the resource has"]),
    "a revision that is none": (
        annotated("not-created", "x"), "InvalidSpec",
        ["extensions[kusionstack.io/not-created]): must be the number of the revision"]),
}


# ---- What a provider does: when, what, and what the message of the resource has ----

@dataclass
class Behaviour:
    moment: str              # "Start", or a method of the protocol
    word: str                # what it is to do there
    reason: str
    texts: list
    resource: dict = None    # None: a good one
    before: dict = None      # is applied beforehand, by a good provider
    right: dict = None       # what the person has to write then; None: nothing
    is_creation: bool = False  # goes wrong, and nobody knows whether it was carried out
    stays: bool = False      # it is not mended here
    effect: tuple = None     # at least and at most so many seconds it is left alone


def started(word, reason, *texts):
    return Behaviour("Start", word, reason, [f"{NAME} did not start: ", *texts])


def hanging(method, **more):
    return Behaviour(method, "hang", "Timeout", [f"{NAME}: {method}: no answer within ", MORE_TIME], **more)


def dying(method, **more):
    return Behaviour(method, "die", "Unavailable",
                     [f"{NAME}: {method}: its process cannot be reached (killed by signal 9 (Killed))",
                      OTHER_VERSION], **more)


def nonsense(method, word, text, reason="ProviderFailed", **more):
    return Behaviour(method, word, reason, [f"{NAME}: {text}", DEFECT], **more)


def quoting(method, attribute, resource):
    """A careless provider."""
    return Behaviour(method, f"refuse {attribute.rpartition('.')[2]} it is {CANARY}", "ProviderError",
                     [f"{attribute}: it is (sensitive value)"], resource=resource)


def doubtful(word, at_least, at_most):
    """There is no answer to a creation, and for so many seconds it may still take effect.
    test_terraform_kill.py goes on."""
    return Behaviour(
        "ApplyResourceChange", word, "Deferred",
        ["its creation was begun, and may still take effect: it is left alone until ",
         ", so that nothing is made twice"], is_creation=True, stays=True,
        effect=(at_least, at_most))


def unknown(word):
    """The answer to a creation cannot be read."""
    return Behaviour(
        "ApplyResourceChange", word, "OutcomeUnknown",
        ["it is held, so that nothing is made twice. Look for it where it is made.",
         "set its extensions[kusionstack.io/not-created] to 1, and it is created"],
        is_creation=True, right=annotated("not-created", 1))


def found(**attributes):
    return broken(kind="data.broken_found", **attributes)


UNREADABLE = "a value of the provider cannot be read"
BEHAVIOURS = {
    "a secret is quoted": quoting(
        "ValidateResourceConfig", "attributes.text", good(secret=CANARY, text="x")),
    "a secret of a data source is quoted": quoting(
        "ValidateDataResourceConfig", "attributes.secret", found(secret=CANARY)),
    "a secret setting is quoted": quoting(
        "ConfigureProvider", "extensions.providerMeta.region", configured(region="x", token=CANARY)),

    "several errors, and a warning": Behaviour(
        "PlanResourceChange", "refuse text is bad|size is bad, too|warn tags are deprecated", "ProviderError",
        ["attributes.text: is bad; attributes.size: is bad, too; warning: attributes.tags: are deprecated"]),

    "it wants to start a program": Behaviour(
        "PlanResourceChange", 'refuse text exec: "aws": executable file not found in $PATH', "ProviderError",
        ['attributes.text: exec: "aws": executable file not found in $PATH', "providers start no programs here"]),
    "another program": Behaviour(
        "ConfigureProvider", "refuse region fork/exec /bin/sh: operation not permitted", "ProviderError",
        ["extensions.providerMeta.region: fork/exec /bin/sh: operation not permitted",
         "providers start no programs here"]),

    "no handshake": started("silent", "Timeout", "it printed nothing in time", MORE_TIME),
    "another line": started(
        "print Hello", "InvalidProvider", "its first line of output is not that of a provider", PACKAGE),
    "protocol 4": started(
        "print 1|4|unix|x|grpc|", "InvalidProvider",
        "it speaks protocol 4 of Terraform's providers; 5 and 6 are supported", PACKAGE),
    "a line without an end": started(
        "pour", "TooLarge", "its first line of output has more than 4096 bytes", PACKAGE),
    "it ends": started(
        "exit I need a license", "Unavailable",
        "it ended before its first output (exit status 1) (I need a license )", OTHER_VERSION),
    "nothing listens": started("absent", "Unavailable", "its process cannot be reached", OTHER_VERSION),
    "nothing answers": started("deaf", "Timeout", "no answer within ", MORE_TIME),
    "rubbish on the socket": started("noise", "Unavailable", "its process cannot be reached", OTHER_VERSION),

    "it hangs in its schema": hanging("GetProviderSchema"),
    "it hangs in its configuration": hanging("ConfigureProvider"),
    "it hangs in a validation": hanging("ValidateResourceConfig"),
    "it hangs in a plan": hanging("PlanResourceChange"),
    "it hangs in a reading": hanging("ReadResource", before=good()),
    "it hangs in a data source": hanging("ReadDataSource", resource=found()),
    "all of it hangs": Behaviour("PlanResourceChange", "freeze", "Timeout", ["no answer within ", MORE_TIME]),

    "it dies in its schema": dying("GetProviderSchema"),
    "it dies in its configuration": dying("ConfigureProvider"),
    "it dies in a validation": dying("ValidateResourceConfig"),
    "it dies in a plan": dying("PlanResourceChange"),
    "it dies in a reading": dying("ReadResource", before=good()),
    "it dies in an import": dying("ImportResourceState", resource=annotated("import-id", "by-hand")),
    "it dies in a data source": dying("ReadDataSource", resource=found()),
    "it dies in a change": dying("ApplyResourceChange", before=good(), resource=good(text="2")),
    "it dies in a creation": doubtful("die", 0, 60),  # no process is left that sends anything
    "a status of a creation that may go on": doubtful("status 14 oh%20no", 600, 3600),

    "more than a schema may have": nonsense(
        "GetProviderSchema", "big", "GetProviderSchema: its answer has more than 256 MiB", "TooLarge"),
    "more than a plan may have": nonsense(
        "PlanResourceChange", "big", "PlanResourceChange: its answer has more than 32 MiB", "TooLarge"),
    "no message": nonsense("PlanResourceChange", "garble", "PlanResourceChange: its answer cannot be read"),
    "half a message": nonsense("PlanResourceChange", "cut", "PlanResourceChange: its answer is not one message"),
    "a page": nonsense("PlanResourceChange", "page",
                       "PlanResourceChange: its answer has no status of gRPC (HTTP status 502)"),
    "no status": nonsense("PlanResourceChange", "endless",
                          "PlanResourceChange: its answer has no status of gRPC (HTTP status 200)"),
    "a bad status": nonsense("PlanResourceChange", "status 13 oh%20no",
                             "PlanResourceChange: status 13 of gRPC: oh no"),
    "a schema that is none": nonsense("GetProviderSchema", "ill", "the provider's schema cannot be read"),
    "a plan that is none": nonsense("PlanResourceChange", "ill", UNREADABLE),
    "a plan that is too deep": nonsense("PlanResourceChange", "deep", UNREADABLE),
    "a plan of another type": nonsense("PlanResourceChange", "other", UNREADABLE),
    "an object that is none": nonsense("ReadResource", "ill", UNREADABLE, before=good()),
    "a change that is none": nonsense(
        "ApplyResourceChange", "ill", UNREADABLE, before=good(), resource=good(text="2")),
    "a creation that is none": unknown("ill"),
    "no message after a creation": unknown("garble"),
    "half a message after a creation": unknown("cut"),
    "more than a creation may have": unknown("big"),
    "a page after a creation": unknown("page"),
    "no status after a creation": unknown("endless"),
    "a bad status after a creation": unknown("status 13 oh%20no"),
}


# ---- Lives: a Spec, and what becomes of it ----

class Life:
    """Beside its resources there is always a ConfigMap. asks: whose behaviour its provider has; None:
    its own, in processes of its own."""

    def __init__(self, cluster, whisperer, namespace, number, asks=None):
        self.asks = asks or f"case-{number}"
        self.cluster, self.whisperer, self.key = cluster, whisperer, f"case-{number}"
        self.spec = Spec(cluster, namespace, self.key)

    def apply(self, *resources):
        self.spec.apply([*resources, config_map(self.key, self.spec.namespace)], timeout="15s",
                        retryInterval="3s", interval="3s",
                        context={"BROKEN": self.whisperer.address(self.asks)})

    def is_refused(self, reason, texts):
        """As a whole."""
        ready = self.spec.condition()
        assert ready and (ready["status"], ready["reason"]) == ("False", reason), ready
        assert not [text for text in texts if text not in ready["message"]], ready
        return True

    def is_failed(self, id, reason, texts):
        """One resource, and nothing else."""
        ready, known = self.spec.condition(), self.told()
        assert ready and ready["status"] == "False", ready
        assert id in known, (ready, known)
        assert known[id]["reason"] == reason, known[id]
        assert not [text for text in texts if text not in known[id]["message"]], known[id]
        place = f"/api/v1/namespaces/{self.spec.namespace}/configmaps/{self.key}"
        assert self.cluster.api.get(place).ok, "the rest is not applied"
        return True

    def told(self):
        """What the status has of resources, by id."""
        resources = self.spec.get().get("status", {}).get("resources", {})
        return {one["id"]: one for kind in ("failed", "pending") for one in resources.get(kind, [])}

    def is_left_alone(self, id, at_least, at_most):
        until = datetime.fromisoformat(re.search(r"left alone until (\S+Z)", self.told()[id]["message"])[1])
        left = (until - datetime.now(timezone.utc)).total_seconds()
        assert at_least - World.PATIENCE <= left <= at_most, until
        return True

    def is_mended(self):
        ready = self.spec.condition()
        assert ready and ready["status"] == "True", ready
        return True

    def shown(self):
        return open_text(self.cluster, self.spec)

    def delete(self):
        self.cluster.api.delete(self.spec.path).must()


def missing(checks, seconds):
    """Waits for all, side by side. Gives what those lack that did not come true, by name."""
    lacks = {name: "it was not looked at" for name in checks}
    end = time.monotonic() + seconds
    while lacks and time.monotonic() < end:
        for name in list(lacks):
            try:
                if checks[name]():
                    del lacks[name]
            except AssertionError as error:
                lacks[name] = str(error)
        time.sleep(0.2)
    return lacks


def of_case(name, resource):
    """With an id of its own."""
    return {**resource, "id": f"{resource['id'].rpartition(':')[0]}:{name.replace(' ', '-')}"}


class World:
    """All lives. `lacks`: what was not seen, by phase and case; `times`: of the phases, in s."""

    PATIENCE = 180

    def __init__(self, cluster, whisperer, namespaces):
        self.cluster, self.lacks, self.times, self.texts = cluster, {}, {}, ""
        self.whisperer, self._namespaces, self._number = whisperer, namespaces, 0
        self.wrong = self._life("nobody")
        self.refused = {name: self._life("nobody") for name in WRONG_SPECS}
        self.broken = {name: self._life() for name in BEHAVIOURS}

    def _life(self, asks=None):
        self._number += 1
        return Life(self.cluster, self.whisperer, self._namespaces[self._number % len(self._namespaces)],
                    self._number, asks)

    def _wait(self, phase, checks):
        self.lacks[phase] = missing(checks, self.PATIENCE)

    def set_up(self):
        first = {name: life for name, life in self.broken.items() if BEHAVIOURS[name].before}
        for name, life in first.items():
            life.apply(BEHAVIOURS[name].before)
        self._wait("set up", {name: life.is_mended for name, life in first.items()})

    def go_wrong(self):
        self.wrong.apply(SECRET, *(of_case(name, wrong) for name, (wrong, *_) in WRONG_RESOURCES.items()))
        for name, life in self.refused.items():
            life.apply(WRONG_SPECS[name][0])
        for name, life in self.broken.items():
            case = BEHAVIOURS[name]
            self.whisperer.tell(life.key, **{case.moment: case.word})
            if case.resource or not case.before:
                life.apply(case.resource or good())

    def see(self):
        def check_resource(name):
            wrong, reason, texts, _ = WRONG_RESOURCES[name]
            return lambda: self.wrong.is_failed(of_case(name, wrong)["id"], reason, texts)

        def check_behaviour(name, case):
            id = (case.resource or case.before or good())["id"]
            life = self.broken[name]
            return lambda: life.is_failed(id, case.reason, case.texts) and (
                not case.effect or life.is_left_alone(id, *case.effect))

        self._wait("seen", {
            **{name: check_resource(name) for name in WRONG_RESOURCES},
            **{name: lambda name=name: self.refused[name].is_refused(*WRONG_SPECS[name][1:])
               for name in WRONG_SPECS},
            **{name: check_behaviour(name, case) for name, case in BEHAVIOURS.items()}})
        self.creations = self._count_changes()
        self.had_processes = any(is_provider(pid) for pids in self.whisperer.pids.values() for pid in list(pids))

    def _count_changes(self):
        """Of the Specs whose creation goes wrong."""
        return {name: self.whisperer.asked[life.key].count("ApplyResourceChange")
                for name, life in self.broken.items() if BEHAVIOURS[name].is_creation}

    def lives(self):
        return [self.wrong, *self.refused.values(), *self.broken.values()]

    def mend(self):
        self.texts = "".join(life.shown() for life in [self.wrong, *self.broken.values()])
        self.wrong.apply(SECRET, *(of_case(name, right) for name, (*_, right) in WRONG_RESOURCES.items()))
        for life in self.refused.values():
            life.apply(good())
        for name, life in self.broken.items():
            self.whisperer.tell(life.key)
            if BEHAVIOURS[name].right:
                life.apply(BEHAVIOURS[name].right)
        self._wait("mended", {
            **{name: self.wrong.is_mended for name in WRONG_RESOURCES},
            **{name: life.is_mended for name, life in self.refused.items()},
            **{name: life.is_mended for name, life in self.broken.items() if not BEHAVIOURS[name].stays}})
        self.creations_in_the_end = self._count_changes()

    def end(self):
        """One that stays would hold its namespace for half an hour."""
        for life in self.lives():
            life.delete()
        for name, life in self.broken.items():
            if BEHAVIOURS[name].stays:
                self.cluster.api.patch(life.spec.path, {"metadata": {"finalizers": None}})
        self._wait("gone", {life.key: lambda life=life: life.spec.get() is None for life in self.lives()})


def is_provider(pid):
    try:
        return "terraform-provider-broken" in os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return False


@pytest.fixture(scope="module")
def whisperer():
    made = Whisperer()
    yield made
    made.close()


@pytest.fixture(scope="module")
def namespaces(state_namespace):
    """Enough for the processes that a namespace may have."""
    with contextlib.ExitStack() as stack:
        names = []
        for _ in range(8):
            name = state_namespace.new_namespace("tenant")
            stack.enter_context(bound(state_namespace, name, "cluster-admin", name))
            stack.callback(state_namespace.leave_namespace, name)
            names.append(name)
        wait_until_may(state_namespace, account(names[-1]), "*", "*", group="*")
        yield names
        for name in names:
            remove_states(state_namespace, name)


@pytest.fixture(scope="module")
def world(state_namespace, whisperer, namespaces):
    """When all is over, the operator's too."""
    need_providers("test")
    operator = Controller(state_namespace, flags=[*flags("kusion/broken", which=("test",)), "--concurrent", "64"])
    try:
        world = World(operator.wait_leading().cluster, whisperer, namespaces)
        for phase in (world.set_up, world.go_wrong, world.see, world.mend, world.end):
            start = time.monotonic()
            phase()
            world.times[phase.__name__] = round(time.monotonic() - start)
        world.texts += operator.log.read_text()
        world.status = operator.stop()
    finally:
        if operator.process.poll() is None:
            operator.crash()
    return world


# ---- The tests ----


def check(world, name):
    for phase, lacks in world.lacks.items():
        assert name not in lacks, f"{phase}: {lacks[name]}"


@pytest.mark.parametrize("name", [*WRONG_RESOURCES, *WRONG_SPECS])
@sampled
def test_what_a_person_writes(world, name):
    check(world, name)


@pytest.mark.parametrize("name", BEHAVIOURS)
@sampled
def test_what_a_provider_does(world, name):
    check(world, name)


def test_nothing_is_made_twice(world):
    assert set(world.creations.values()) == {1}, world.creations
    for name, count in world.creations_in_the_end.items():  # it is held until somebody says that it was not made
        assert count == (1 if BEHAVIOURS[name].stays else 2), (name, count)


def test_no_secret_is_told(world):
    assert "(sensitive value)" in world.texts
    assert CANARY not in world.texts


def test_nothing_is_left(world):
    assert world.had_processes
    assert world.status == 0 and not world.lacks["gone"], (world.lacks["gone"], world.times)
    left = {key: pid for key, pids in world.whisperer.pids.items() for pid in pids if is_provider(pid)}
    assert not left
