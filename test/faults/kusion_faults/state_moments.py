"""A change of a Terraform resource, during which one of the writes of State is held, and the operator is
killed. What must hold of it afterwards.

Which write it is is told by its number alone, of those that the operator sends for the Spec from the
beginning of the change on: each is a moment, and where there is none of that number, nothing happens."""

import re
from dataclasses import dataclass

from kusion_faults import paths  # noqa: F401
from kusion_faults.faults import exactly, rule
from kusion_e2e.specs import Spec
from kusion_e2e.states import open_state
from kusion_e2e.terraform import thing, thing_id

# Of a held write: it was carried out, and its answer is held; it comes after the next operator; it never comes.
DONE, LATE, NEVER = "done", "late", "never"
FATES = (DONE, LATE, NEVER)
MOST = 12  # writes of a change, at least
# What changes: the requests that the back end then has had, and the numbers of the objects that are left.
CHANGES = {
    "create": (["POST 1"], ["1"]),
    "update": (["POST 1", "PUT 1"], ["1"]),
    "replace": (["POST 1", "DELETE 1", "POST 2"], ["2"]),
    "swap": (["POST 1", "POST 2", "DELETE 1"], ["2"]),  # a replacement that creates first
    "delete": (["POST 1", "DELETE 1"], []),
    "leave": (["POST 1", "DELETE 1"], []),
    "find": (["POST 1"], ["1"]),                        # a data source comes
    "drop": (["POST 1"], ["1"]),                        # it goes
    "move": (["POST 1"], ["1"]),                        # another id
    "move-update": (["POST 1", "PUT 1"], ["1"]),
    "move-replace": (["POST 1", "DELETE 1", "POST 2"], ["2"]),
}


@dataclass(frozen=True)
class Moment:
    change: str
    number: int  # of the write
    fate: str

    @property
    def name(self):
        return f"{self.change}-{self.number}-{self.fate}"

    @classmethod
    def named(cls, name):
        change, number, fate = name.rsplit("-", 2)
        return cls(change, int(number), fate)


def moments():
    return [Moment(change, number, fate) for change in CHANGES for number in range(MOST) for fate in FATES]


def without_repeated_puts(changes):
    return [one for i, one in enumerate(changes) if not (one.startswith("PUT") and one in changes[:i])]


class StateLife:
    """A Spec with one resource (and a data source of its object), to which one moment happens. world,
    address: of the back end."""

    def __init__(self, stage, moment, world, address):
        self.moment, self.name, self.stage, self.world, self.address = moment, moment.name, stage, world, address
        self.kind = ("probe_thing", "legacy_thing")[moment.number % 2]
        folder = {"probe_thing": "thing", "legacy_thing": "legacy"}[self.kind]
        self.place = f"{folder}/{self.name}"
        self.spec = Spec(stage.room, stage.tenant, self.name)
        self.was_held = False  # one of its writes
        self.made = None       # the changes that the back end had when the operator was killed

    # ---- What is configured ----

    def _thing(self, attributes, old=None, extensions=None):
        """old: it was there under this name; else it is where it always was."""
        more = {**({"kusionstack.io/moved-from": thing_id(self.kind, old)} if old else {}), **(extensions or {})}
        if self.moment.change == "swap":
            more["lifecycle"] = {"createBeforeDestroy": True}
        made = thing(self.kind, self.name, self.address, more, **attributes)
        if old:
            made["id"] += "-moved"
        return made

    def _found(self):
        kind, name = {"probe_thing": ("data.probe_found", "id"), "legacy_thing": ("data.legacy_found", "of")}[self.kind]
        made = thing(self.kind, self.name, self.address)
        made["id"] = f"kusion:{self.kind.split('_')[0]}:{kind}:{self.name}"
        made["attributes"] = {name: f"$kusion_path.{thing_id(self.kind, self.name)}.id"}
        return made

    def _apply(self, resources):
        self.spec.apply(resources, retryInterval="1s", context={"WHOSE": self.spec.namespace})

    def _before(self):
        first = [self._thing({"text": "1", "zone": "a"})]
        return [*first, self._found()] if self.moment.change == "drop" else first

    def attributes(self):
        """Of the object, after the change."""
        change = self.moment.change
        return {"text": "2" if change in ("update", "move-update") else "1",
                "zone": "b" if change in ("replace", "swap", "move-replace") else "a"}

    def _after(self, extensions=None):
        change = self.moment.change
        if change == "leave":
            return []
        old = self.name if change.startswith("move") else None
        first = [self._thing(self.attributes(), old, extensions)]
        return [*first, self._found()] if change == "find" else first

    # ---- Its steps ----

    def set_up(self):
        if self.moment.change != "create":
            self._apply(self._before())

    def is_set_up(self):
        if self.moment.change != "create":
            self.stage.ready(self.spec)

    def rules(self):
        """Of the proxy."""
        path = exactly(f"/api/v1/namespaces/{self.stage.room.state}/")[:-1] + "(configmaps|secrets)"
        fault = {"at": "after"} if self.moment.fate == DONE else {"at": "before", "detached": True}
        return [rule(self.name, "hold", path=path, contains=f'"api.kusion.io/spec-name":"{self.name}"',
                     skip=self.moment.number, **fault)]

    def begin(self):
        if self.moment.change == "delete":
            self.stage.api.delete(self.spec.path).must()
        else:
            self._apply(self._after())

    def is_at_its_moment(self):
        """Or there is none."""
        self.was_held = self.stage.main.fired(self.name) > 0
        return self.was_held or self.is_over()

    def killed(self):
        """The operator was."""
        self.made = self.changes()

    @property
    def comes_late(self):
        return self.was_held and self.moment.fate == LATE

    def release(self):
        """If nothing was held, nothing is any more: neither of the next operator's writes."""
        self.stage.main.release(self.name, "drop" if self.was_held and self.moment.fate == NEVER else "pass")

    # ---- What there is ----

    def changes(self):
        """The methods of what was done, in their order, with the number of the object."""
        return [f"{method} {place.rpartition('/')[2]}" for method, place in self.world.changes(self.name)]

    def objects(self):
        return {place.rpartition("/")[2]: one for place, one in self.world.of(self.name).items()}

    def records(self):
        """Of State, by id."""
        heads = self.stage.api.get(f"/api/v1/namespaces/{self.stage.room.state}/configmaps"
                                   "?labelSelector=api.kusion.io/state,api.kusion.io/document!=spec").must()
        for head in heads.object["items"]:
            state = open_state(head)
            if state and state["spec"]["name"] == self.name:
                return [(one["id"], one["record"]) for one in state["resources"]]
        return []

    def is_in_doubt(self):
        """State says that a creation was begun."""
        return any(record["status"] == "creating" for _, record in self.records())

    # ---- What must be ----

    def check_doubt(self):
        """When the operator is dead: State doubts a creation only if it was sent, or if that it begins is the
        very write whose answer was held: then the next operator cannot know."""
        if self.is_in_doubt() and self.moment.fate != DONE:
            wanted = CHANGES[self.moment.change][0]
            sent = [one for one in self.made if one.startswith("POST")]
            assert self.made == wanted[:len(self.made)], (self.name, self.made)
            assert self.made and self.made[-1] == sent[-1], (self.name, self.made, self.records())

    def check_known(self):
        """No object is there of which State knows nothing, and none was made that nobody wants."""
        records = [record for _, record in self.records()]
        in_doubt = sum(record["status"] == "creating" for record in records)
        assert len(self.objects()) <= len(records), (self.name, self.objects(), records)
        assert in_doubt <= 1, (self.name, records)
        wanted = CHANGES[self.moment.change][0]
        changes = without_repeated_puts(self.changes())
        assert changes == wanted[:len(changes)], (self.name, changes)

    def is_over(self):
        """As if nobody had been killed."""
        if self.moment.change == "delete":
            assert self.spec.get() is None, self.name
        else:
            ready = self.spec.condition()
            assert ready and ready["status"] == "True", (self.name, ready, self.made, self.changes())
        changes, objects = CHANGES[self.moment.change]
        assert without_repeated_puts(self.changes()) == changes, (self.name, self.changes())
        assert list(self.objects()) == objects, self.name
        for one in self.objects().values():
            assert {key: one[key] for key in ("text", "zone")} == self.attributes(), self.name
        if self.moment.change != "delete":
            expected = [one["id"] for one in self._after()]
            assert sorted(id for id, _ in self.records()) == sorted(expected), (self.name, self.records())
        return True

    def is_held(self, *words):
        """Nobody knows whether the object was made; nothing is made again, and nothing is deleted."""
        ready = self.spec.condition()
        assert ready and ready["status"] == "False", (self.name, ready)
        assert ready["reason"] in ("Deferred", "OutcomeUnknown"), (self.name, ready)
        assert any(word in ready["message"] for word in words), (self.name, ready)
        assert self.changes() == self.made, (self.name, self.changes(), self.made)
        return True

    def tell(self):
        """What somebody finds out who looks at the back end, and the condition."""
        said = self.spec.condition()["message"]
        revision, = re.findall(r"extensions\[kusionstack.io/not-created\] to (\d+)", said)
        number = CHANGES[self.moment.change][1][0]
        if number in self.objects():
            known = {"kusionstack.io/import-id": f"{self.place}/{number}"}
        else:
            known = {"kusionstack.io/not-created": int(revision)}
        self._apply(self._after(known))

    def end(self):
        if self.spec.get():
            self.stage.api.delete(self.spec.path).must()
