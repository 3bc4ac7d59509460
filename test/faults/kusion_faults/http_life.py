"""A life of things behind a REST API (`type: HTTP`), and of a ConfigMap that refers to one.

The faults are at the API server: what was begun at the other server is known by State alone. What
must hold besides what holds of every life: each thing is made once, and deleted once."""

from collections import Counter

from kusion_faults.life import Life
from kusion_faults.world import World
from kusion_e2e.rest import Rest, reference

STEP = 200  # seconds: a create without an answer is looked at a minute after the time that it may take


class HttpWorld(World):
    def adopted(self):
        return []

    def first(self):
        return {"placed": "1", "found": "1"}

    def second(self):
        return {"placed": "2", "later": "1"}


class HttpLife(Life):
    world_type, step = HttpWorld, STEP

    def __init__(self, *args):
        super().__init__(*args)
        self.rest = Rest()
        self.rest.server.handle_error = lambda *_: None  # who is killed hangs up
        self.flags = self.rest.flags

    def run(self):
        try:
            return super().run()
        finally:
            self.rest.close()

    def _prepare(self):
        self.rest.secret(self.room.cluster, self.room.tenant)
        super()._prepare()

    def _thing(self, name, value):
        """One is known by its path, the others are found by their names."""
        return (self.rest.placed if name == "placed" else self.rest.found)(name, x=value)

    def _apply(self, things):
        made = [self._thing(*one) for one in things.items()]
        super()._apply([*made, self.world.config("refers", reference("placed", "x"))])

    def _is_as_wanted(self, resources):
        *_, config = resources
        super()._is_as_wanted([config])
        wanted = {one["extensions"]["parameters"]["name"]: one["attributes"]["x"] for one in resources[:-1]}
        there = {one["name"]: one["attributes"]["x"] for one in self.rest.things().values()}
        if there != wanted:
            self._broken(f"Ready, and there is {there}, not {wanted}")

    def _nothing_is_left(self):
        super()._nothing_is_left()
        if self.rest.things():
            self._broken(f"deleted, and there is {self.rest.things()}")

    def _once(self, but=()):
        super()._once(but)
        done = Counter(line for line in self.rest.log() if line.startswith(("create", "delete")))
        twice = [line for line, count in done.items() if count > 1]
        if twice:
            self._broken(f"more than once: {twice}")
