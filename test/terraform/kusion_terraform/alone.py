"""Plays cases through our engine alone: what must hold without an oracle."""

import shutil

from kusion_terraform import ours
from kusion_terraform.backend import Backend
from kusion_terraform.catalog import OURS
from kusion_terraform.generate import drift, fails
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

    def play(self):
        for number, step in enumerate(self.steps):
            for key, how in step["drift"]:
                self._drift(self.steps[number - 1]["resources"].get(key), key, how)
            wrong = self._step(step["resources"])
            if wrong:
                return [f"step {number + 1}: {line}" for line in wrong]
        return []

    def _name(self, key, one):
        return f"{self.name}-{key}-{one['kind'].replace('_', '-').replace('.', '-')}"

    def _drift(self, one, key, how):
        for place, object in list(self.world.of(self._name(key, one)).items()) if one else ():
            changed = drift(how, object)
            if changed is None:
                del self.world.objects[place]
            else:
                self.world.objects[place] = changed

    def _spec(self, resources):
        ids = {key: ours.id_of(one["kind"], self._name(key, one)) for key, one in resources.items()}
        spec = []
        for key, one in resources.items():
            if "name" in one["attributes"]:
                one = {**one, "attributes": {**one["attributes"], "name": self._name(key, one)}}
            spec.append(ours.resource(one, self._name(key, one), ids, self.address))
        return spec

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
        return [f"State does not know {id}" for id in self._objects() if id not in known]

    def _objects(self):
        return [id for id in self.world.objects if id.split("/")[1].startswith(f"{self.name}-")]

    def _differ(self, resources):
        """There is one object for each resource, as configured, and no other."""
        wrong, count = [], 0
        for key, one in resources.items():
            if one["kind"] not in OURS:
                continue
            count += 1
            found = list(self.world.of(self._name(key, one)).values())
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
        return [(name, one["attributes"][name]) for name in ("text", "color", "zone", "filled")
                if isinstance(one["attributes"].get(name), str) and one["attributes"][name] and name not in ignored]
