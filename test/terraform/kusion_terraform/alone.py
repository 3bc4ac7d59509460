"""Plays cases through our engine alone: what must hold without an oracle."""

import shutil

from kusion_terraform import ours
from kusion_terraform.backend import Backend
from kusion_terraform.catalog import OURS
from kusion_terraform.generate import drift, fails
from kusion_terraform.names import import_id, named, object_name, put_object, resource_name
from kusion_terraform.paths import new_folder


class Alone:
    def __init__(self, mirror):
        self.folder = new_folder()
        self.backend = Backend()
        self.driver = ours.Ours(mirror, self.folder)

    def close(self):
        status = self.driver.close()
        self.backend.close()
        shutil.rmtree(self.folder)
        return status

    def play(self, name, steps):
        """What does not hold, as texts."""
        return Play(self, name, steps).play()


class Play:
    def __init__(self, stage, name, steps):
        self.stage, self.name, self.steps = stage, name, steps
        self.world = stage.backend.worlds["alone"]  # one for all: their processes have one configuration
        self.address = stage.backend.address("alone")
        self.others = set()  # objects that nobody has taken over

    def play(self):
        for number, step in enumerate(self.steps):
            self._put(self.steps[number - 1]["resources"] if number else {}, step["resources"])
            for key, how in step["drift"]:
                self._drift(self.steps[number - 1]["resources"].get(key), key, how)
            wrong = self._step(step["resources"])
            if wrong:
                return [f"step {number + 1}: {line}" for line in wrong]
        return []

    def _put(self, before, after):
        for key, one in after.items():
            put_object(self.world, self.name, key, after, before)
            self.others.add(import_id(self.name, key, one))

    def _drift(self, one, key, how):
        for place, object in list(self.world.of(object_name(self.name, key, one)).items()) if one else ():
            changed = drift(how, object)
            if changed is None:
                del self.world.objects[place]
            else:
                self.world.objects[place] = changed

    def _spec(self, resources):
        names = {key: resource_name(self.name, key, one) for key, one in resources.items()}
        ids = {key: ours.id_of(one["kind"], names[key]) for key, one in resources.items()}
        return [ours.resource(named(self.name, key, one), names[key], ids, self.address,
                              ours.more_extensions(self.name, key, one)) for key, one in resources.items()]

    def _step(self, resources):
        spec = self._spec(resources)
        answer = self.stage.driver.ask("apply", self.name, spec)
        wrong = self._unknown_to_state(answer)
        if fails(self.steps):
            return wrong
        if answer["error"]:
            return [*wrong, f"apply: {answer['error']}"]
        again = self.stage.driver.ask("plan", self.name, spec)
        # A provider may plan to change what it has just made; it may not be gone, or another one.
        changed = [one for one in again["plan"] if one["action"] not in ("unchanged", "update", "replace", "read")]
        return [*wrong, *(f"planned again: {one}" for one in changed), *self._differ(resources)]

    def _unknown_to_state(self, answer):
        """Objects that State has lost."""
        known = {one["result"]["id"] for one in answer["state"] if one["result"]}
        self.others -= known
        return [f"State does not know {id}" for id in self._objects() if id not in known | self.others]

    def _objects(self):
        return [id for id in self.world.objects if id.split("/")[1].startswith(f"{self.name}-")]

    def _differ(self, resources):
        """There is one object for each resource, as configured, and no other."""
        wrong, count = [], 0
        for key, one in resources.items():
            if one["kind"] not in OURS:
                continue
            count += 1
            found = list(self.world.of(object_name(self.name, key, one)).values())
            if len(found) != 1:
                wrong.append(f"{len(found)} objects of {key}")
                continue
            wrong += [f"{key}.{name} is {found[0][name]!r} in the back end, {value!r} is configured"
                      for name, value in self._texts(one) if found[0][name] != value]
        if len(self._objects()) != count:
            wrong.append(f"there are {self._objects()}")
        return wrong

    @staticmethod
    def _texts(one):
        ignored = one["lifecycle"].get("ignoreChanges", [])
        if ignored == "all":
            return []
        return [(name, one["attributes"][name]) for name in ("text", "color", "zone", "filled")
                if isinstance(one["attributes"].get(name), str) and one["attributes"][name] and name not in ignored]
