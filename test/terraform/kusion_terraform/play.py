"""Plays cases: through our engine and through OpenTofu, from the same start, and compares after each
step. Cases of one round share one Spec and one module: what tofu takes to begin is more than what it
takes for a resource."""

import itertools
import shutil
from pathlib import Path

from kusion_terraform import compare, generate, ours, theirs
from kusion_terraform.backend import Backend
from kusion_terraform.catalog import OURS
from kusion_terraform.names import named, object_name, put_object, resource_name
from kusion_terraform.paths import new_folder

NOTHING = ("absent", None)
OF_PROVIDERS = ("ProviderError", "ProviderFailed", "InvalidAttribute")  # reasons of ours, which OpenTofu has, too
# Not all is as it was planned, when what it depends on is known: we plan it anew.
INCONSISTENT = "Provider produced inconsistent final plan"


class Stage:
    """tofu: the program's path."""

    def __init__(self, mirror, tofu):
        self.folder = new_folder()
        self.mirror, self.tofu = Path(mirror), tofu
        self.backend = Backend()
        self.driver = ours.Ours(mirror, self.folder)
        self.rc = theirs.configure(self.mirror, self.folder)
        self.numbers = itertools.count()

    def close(self):
        status = self.driver.close()
        self.backend.close()
        shutil.rmtree(self.folder)
        return status

    def play(self, cases):
        """[differences of a case, …], each a list of texts. A failure matters to all of a Spec, so cases
        with failures are played alone."""
        if len(cases) > 1 and any(map(generate.fails, cases)):
            others = [one for one in cases if not generate.fails(one)]
            found = iter(self.play(others) if others else [])
            return [self.play([one])[0] if generate.fails(one) else next(found) for one in cases]
        try:
            return Round(self, cases).play()
        except Apart:
            half = len(cases) // 2
            return self.play(cases[:half]) + self.play(cases[half:])


class Apart(Exception):
    """Something of one of several cases is wrong, and that matters to the others."""


class Round:
    def __init__(self, stage, cases):
        self.stage, self.cases = stage, cases
        number = next(stage.numbers)
        self.name = f"round-{number}"
        self.worlds = [stage.backend.worlds[f"ours-{number}"], stage.backend.worlds[f"theirs-{number}"]]
        self.addresses = [stage.backend.address(f"ours-{number}"), stage.backend.address(f"theirs-{number}")]
        self.module = theirs.Theirs(stage.tofu, stage.rc, stage.folder / self.name, self.addresses[1])
        self.found = [[] for _ in cases]
        self.is_over = False  # neither side has a plan: what there is afterwards may differ
        self.has_failed = False
        self.kinds = [{} for _ in cases]  # by id: kind, and what was configured last

    def play(self):
        for number in range(max(map(len, self.cases))):
            self._step(number)
            if all(self.found) or self.is_over:
                break
        if not any(self.found):
            self.module.close()
        return self.found

    # ---- What is configured ----

    def _at(self, number):
        """(case, its resources, with their names)."""
        for case, steps in enumerate(self.cases):
            if self.found[case]:
                continue
            resources = steps[min(number, len(steps) - 1)]["resources"]
            names = {key: resource_name(f"c{case}", key, one) for key, one in resources.items()}
            for key, one in resources.items():
                yield case, resources, names, key, named(f"c{case}", key, one)

    def _configure(self, number):
        """Ours and theirs, and blocks of theirs."""
        spec, module, blocks = [], {}, ""
        self.configured = set()
        for case, resources, names, key, one in self._at(number):
            kinds = {key: one["kind"] for key, one in resources.items()}
            ids = {key: ours.id_of(kinds[key], names[key]) for key in resources}
            spec.append(ours.resource(one, names[key], ids, self.addresses[0],
                                      ours.more_extensions(f"c{case}", key, one)))
            module.setdefault(one["kind"], {})[names[key]] = theirs.resource(one, kinds, names)
            blocks += theirs.more_blocks(f"c{case}", key, one)
            self.kinds[case][ids[key]] = (one["kind"], self._counting(one))
            self.configured.add(ids[key])
        return spec, module, blocks

    @staticmethod
    def _counting(one):
        """The attributes that count: what differs each time may have come before what is ignored now."""
        ignored = one["lifecycle"].get("ignoreChanges", [])
        if one["kind"] in OURS:
            return one["attributes"]
        return {name: value for name, value in one["attributes"].items() if ignored != "all" and name not in ignored}

    def _drift(self, number):
        for case, steps in enumerate(self.cases):
            if number >= len(steps) or not number:
                continue
            before, after = steps[number - 1]["resources"], steps[number]["resources"]
            for world in self.worlds:
                for key in after:
                    put_object(world, f"c{case}", key, after, before)
                for key, how in steps[number]["drift"]:
                    if key in before:
                        self._drift_one(world, object_name(f"c{case}", key, before[key]), how)

    @staticmethod
    def _drift_one(world, name, how):
        for place, one in list(world.of(name).items()):
            changed = generate.drift(how, one)
            if changed is None:
                del world.objects[place]
            else:
                world.objects[place] = changed

    # ---- A step ----

    def _step(self, number):
        self._drift(number)
        spec, module, blocks = self._configure(number)
        self.module.write(module, blocks)
        our_first = self.stage.driver.ask("apply", self.name, spec)
        try:
            plan, problem = self.module.plan(), ""
            failed = self.module.apply()
            if failed and len(self.cases) > 1:
                raise Apart
        except theirs.Failed as error:
            plan, problem, failed = {}, str(error), ""
            if len(self.cases) > 1:
                raise Apart from None
        for case in range(len(self.cases)):
            if not self.found[case]:
                self.found[case] = [f"step {number + 1}: {line}" for line in
                                    self._compare(case, our_first, plan, problem, failed)]

    @staticmethod
    def _failed(failures, failed):
        """Who failed is the same on both sides."""
        said = [one["message"] for one in failures.values() if one["reason"] in OF_PROVIDERS]
        ours_alone = bool(said) != bool(failed)
        return [f"failures: ours {failures}, tofu's {failed[:500]}"] if ours_alone else []

    def _may_be_replaced(self, answer, kinds):
        """Something was to be replaced because of what was not known then, and has not been."""
        unknown = [one["id"] for one in answer["plan"] if one["unknown"] and one["action"] == "replace"]
        made = [place for method, place in self.worlds[0].log if method == "POST"]
        made_by_tofu = [place for method, place in self.worlds[1].log if method == "POST"]
        names = {kinds[id][1].get("name") for id in unknown if id in kinds}
        return any(place.split("/")[1] in names for place in {*made_by_tofu} - {*made})

    def _is_refused_by_us(self, one):
        """A change that we do not make: what is taken over is not replaced, and what was guarded is not deleted
        when it leaves the configuration."""
        return one["error"]["reason"] == "ImportFailed" and "replaced" in one["error"]["message"] or \
            one["error"]["reason"] == "PreventDestroy" and one["id"] not in self.configured

    def _changes(self, case, world, name):
        """In order, but for replacements in a case with createBeforeDestroy: for tofu what such a resource
        depends on is always created first, for us if both are replaced."""
        changes = [list(one) for one in world.changes(name)]
        return sorted(changes) if generate.creates_first(self.cases[case]) else changes

    def _compare(self, case, answer, plan, problem, failed):
        kinds = self.kinds[case]
        planned = {id: one for id, one in compare.our_plan(answer).items() if id in kinds}
        wrong = [one for one in answer.get("plan", []) if one["id"] in kinds and one["error"]]
        if wrong and all(map(self._is_refused_by_us, wrong)):
            self.is_over = True
            return []
        if problem:
            self.is_over = True
            if self.has_failed:  # tofu forgets what a provider keeps for itself, if a deletion fails
                return []
            return [] if wrong or "plan" not in answer else [f"only tofu has no plan: {problem[:1500]}"]
        if wrong or "plan" not in answer:
            return [f"we have no plan: {wrong or answer['error']}"]
        expected = {id: one for id, one in compare.their_plan(plan).items() if id in kinds}
        expected = {**{id: ("none", []) for id in planned}, **expected}
        planned = {**{id: ("none", []) for id in expected}, **planned}
        lines = []
        for id in sorted(expected):
            lines += compare.difference(f"plan of {id}", *compare.same_form(planned[id], expected[id]))
        failures = {one["id"]: one["error"] for one in answer["results"]
                    if one["id"] in kinds and one["error"] and not one["deposed"]}
        if self._may_be_replaced(answer, kinds):
            self.is_over = True
            return lines
        if failed and INCONSISTENT in failed and not failures:
            self.is_over = True
            return lines
        self.has_failed = self.has_failed or bool(failures or failed)
        if failures or failed:
            # In another order, and nothing is deleted by us: what did not fail may have come to less.
            kinds = {id: one for id, one in kinds.items()
                     if id in failures and failures[id]["reason"] in OF_PROVIDERS}
            lines += self._failed(failures, failed)
        state = compare.our_state(answer, kinds)
        their_state = compare.their_state(self.module.state(), kinds)
        for id in sorted({*state, *their_state}):
            one, other = state.get(id, NOTHING), their_state.get(id, NOTHING)
            if id in failures:  # it need not be as it was read before
                one, other = one[:1], other[:1]
            lines += compare.difference(f"state of {id}", one, other)
        for kind, attributes in kinds.values():
            if kind in OURS:
                name = attributes["name"]
                lines += compare.difference(f"objects of {name}", *(compare.objects(world, kind, name)
                                                                    for world in self.worlds))
                lines += compare.difference(f"changes of {name}", *(self._changes(case, world, name)
                                                                    for world in self.worlds))
        if (failures or failed) and not lines:
            self.is_over = compare.our_state(answer, self.kinds[case]) != compare.their_state(
                self.module.state(), self.kinds[case])
        if lines:
            lines += [f"  (ours said: {id}: {one})" for id, one in failures.items()]
            lines += [f"  (tofu said: {failed[:3000]})"] if failed else []
        return lines
