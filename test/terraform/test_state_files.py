"""State files of Terraform: what OpenTofu has made is taken over without a change, and what is
written out OpenTofu plans no change to. By configurations of all kinds, by chance."""

import itertools
import json
import os
from pathlib import Path

import pytest

from kusion_terraform import ours, theirs
from kusion_terraform.generate import case

SEED = int(os.environ.get("KUSION_TEST_SEED", 7))  # hack/soak terraform: another each time
CASES = int(os.environ.get("KUSION_TEST_STATE_FILES", 30))


class Files:
    """One world, which both sides have: OpenTofu's module in a folder, and Specs of ours."""

    def __init__(self, stage, name):
        self.stage, self.name = stage, name
        self.world, self.address = stage.backend.worlds[name], stage.backend.address(name)
        self.module = theirs.Theirs(stage.tofu, stage.rc, stage.folder / name, self.address)
        self.file = Path(self.module.folder) / "terraform.tfstate"

    def configure(self, cases):
        """The first steps of all: a Spec's resources, and the module's."""
        spec, module = [], {}
        for number, steps in enumerate(cases):
            resources = steps[0]["resources"]
            names = {key: f"c{number}-{key}-{one['kind'].replace('_', '-')}" for key, one in resources.items()}
            kinds = {key: one["kind"] for key, one in resources.items()}
            ids = {key: ours.id_of(kinds[key], names[key]) for key in resources}
            for key, one in resources.items():
                attributes = {k: v for k, v in one["attributes"].items() if k != "fail_on"}
                if "name" in attributes:
                    attributes["name"] = names[key]
                one = {**one, "attributes": attributes}
                spec.append(ours.resource(one, names[key], ids, self.address))
                module.setdefault(one["kind"], {})[names[key]] = theirs.resource(one, kinds, names)
        self.module.write(module)
        return spec

    def ask(self, do, spec, **more):
        answer = self.stage.driver.ask(do, self.name, spec, **more)
        assert not answer["error"], answer["error"]
        return answer

    def tofu_applies(self):
        self.module.plan()
        assert not self.module.apply()

    def changed_by_tofu(self):
        """{id: actions} of the resources of which it plans a change."""
        plan = self.module.plan()
        return {ours.id_of(one["type"], one["name"]): one["change"]["actions"]
                for one in plan.get("resource_changes", []) if one["change"]["actions"] != ["no-op"]}


def case_of(id):
    return id.rpartition(":")[2].split("-")[0]


def without_replaced(spec, restless):
    """Without the cases in which OpenTofu replaces at once what it has just made: we would, too, but
    not what is taken over."""
    bad = {case_of(id) for id, actions in restless.items() if actions != ["update"]}
    assert len(bad) < CASES / 2
    return [one for one in spec if case_of(one["id"]) not in bad]


def has_data(steps):
    return any(one["kind"].startswith("data.") for one in steps[0]["resources"].values())


@pytest.fixture
def cases():
    """Without data sources: a state that is taken over or written has none."""
    made = (case(SEED, number) for number in itertools.count())
    return list(itertools.islice((one for one in made if not has_data(one)), CASES))


def changed(plan):
    return {one["id"]: one["action"] for one in plan if one["action"] != "unchanged"}


def action_of(actions):
    return {"update": "update", "create": "create"}[actions[0]] if len(actions) == 1 else "replace"


def test_what_opentofu_has_made_is_taken_over_without_a_change(stage, cases):
    files = Files(stage, "taken-over")
    spec = files.configure(cases)
    files.tofu_applies()
    restless = files.changed_by_tofu()  # some providers change what they have just made
    spec, before = without_replaced(spec, restless), list(files.world.log)

    planned = files.ask("plan", spec, **{"from": files.file.read_text()})
    assert not [one for one in planned["plan"] if one["error"]]
    assert {one["action"] for one in planned["plan"]} == {"adopt"}
    done = files.ask("apply", spec, **{"from": files.file.read_text()})
    assert {one["action"] for one in done["results"]} == {"adopt"}
    touched = {place for _, place in files.world.log[len(before):]}
    assert not [place for place in touched if not any(place.split("/")[1] in id for id in restless)]
    assert not [one for one in files.world.log[len(before):] if one[0] != "PUT"], "made or deleted"

    # From now on the file means nothing.
    again = files.ask("plan", spec, **{"from": json.dumps({"version": 4, "resources": []})})
    assert not {id for id in changed(again["plan"]) if id not in restless}


def test_opentofu_plans_no_change_to_what_is_written_out(stage, cases):
    files = Files(stage, "written-out")
    spec = files.configure(cases)
    files.ask("apply", spec)
    answer = files.ask("plan", spec, export=True)
    files.file.write_text(answer["file"])
    assert {id: action_of(one) for id, one in files.changed_by_tofu().items()} == changed(answer["plan"])


def test_there_and_back(stage, cases):
    """OpenTofu's, taken over, written out again: what OpenTofu reads is what it wrote."""
    files = Files(stage, "there-and-back")
    spec = files.configure(cases)
    files.tofu_applies()
    files.module.refresh()  # SDK v2 reads other nulls than it made
    restless = files.changed_by_tofu()
    spec, written = without_replaced(spec, restless), instances(files.file)
    files.ask("apply", spec, **{"from": files.file.read_text()})
    answer = files.ask("plan", spec, export=True)
    files.file.write_text(answer["file"])
    found = instances(files.file)
    assert found.keys() == {one["id"] for one in spec}
    assert [line for id in found.keys() - restless.keys() for line in differences(id, written[id], found[id])] == []
    planned = {id: action_of(one) for id, one in files.changed_by_tofu().items() if id in found}
    assert planned == changed(answer["plan"]) and planned.keys() <= restless.keys()


def differences(id, one, other):
    return [f"{id} {key}: {one[key]} is {other[key]}" for key in one if one[key] != other[key]]


def instances(file):
    found = {}
    for resource in json.loads(file.read_text())["resources"]:
        for instance in resource["instances"]:
            # Not dependencies of dependencies, and what inherits create_before_destroy.
            found[ours.id_of(resource["type"], resource["name"])] = {
                **instance["attributes"], "(sensitive)": sensitive(instance),
                **{f"({key})": instance.get(key) for key in ("schema_version", "private", "identity", "identity_schema_version")}}
    return found


def sensitive(instance):
    """The paths, in an order: OpenTofu writes them in any."""
    return sorted(json.dumps(path, sort_keys=True) for path in instance.get("sensitive_attributes") or [])
