"""The tests' own runtime (test/runtime/cloud.h): the directory that its things live in."""

import json
import os
from pathlib import Path

from kusion_e2e.paths import ROOT
from kusion_e2e.specs import config_map, resource

PROGRAM = os.environ.get("KUSION_TEST_OPERATOR", str(ROOT / "build/debug/bin/kusion-operator"))


def thing(name, extensions=None, depends_on=(), **attributes):
    made = {"id": thing_id(name), "type": "Cloud", "attributes": attributes}
    if extensions:
        made["extensions"] = extensions
    if depends_on:
        made["dependsOn"] = list(depends_on)
    return made


def thing_id(name):
    return f"cloud:thing:{name}"


def reference(name, field):
    return f"$kusion_path.{thing_id(name)}.{field}"


def address_book(namespace):
    """A ConfigMap with the address of the thing "db"."""
    return config_map("book", namespace, {"db": reference("db", "address")})


def addresses(cluster, namespace):
    """What is in it; None: it is not there."""
    found = cluster.get_json("configmap", "book", "-n", namespace)
    return found and found["data"]


def deployment(namespace, image="nginx:1"):
    """Something that has nothing to do with things."""
    labels = {"app": "beside"}
    return resource({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "beside", "namespace": namespace},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels},
                 "template": {"metadata": {"labels": labels},
                              "spec": {"containers": [{"name": "c", "image": image}]}}}})


class Cloud:
    """What lives in one directory. `environment` is for the controllers that work on it."""

    def __init__(self, directory):
        self.directory = Path(directory)
        (self.directory / "faults").mkdir(parents=True)
        self.environment = {"KUSION_TEST_CLOUD": str(self.directory)}

    def things(self):
        """All that there are, by id."""
        found = [json.loads(path.read_text()) for path in self.directory.glob("things/*.json")]
        return {one["id"]: one for one in found}

    def only(self, name):
        """The one of that name: two are an error."""
        one, = [one for one in self.things().values() if one["name"] == name]
        return one

    def log(self):
        """What was done, in the order in which it was: ["begin db", "create db", …]."""
        path = self.directory / "log"
        return path.read_text().splitlines() if path.exists() else []

    def forget_log(self):
        (self.directory / "log").unlink(missing_ok=True)

    def hurry(self):
        """Creates end at once, those that are under way, too."""
        (self.directory / "hurry").touch()

    def fault(self, name, what):
        """What goes wrong with the things of that name, until it is set anew; None: nothing."""
        path = self.directory / "faults" / name
        if what:
            path.write_text(what)
        else:
            path.unlink(missing_ok=True)

    def faults(self):
        return [path.name for path in self.directory.glob("faults/*")]

    def delete(self, id):
        """Somebody else does."""
        (self.directory / "things" / f"{id}.json").unlink()

    def secrets(self):
        """What nobody may read: of each thing that there is."""
        return [f"{what}-{id}" for id in self.things() for what in ("secret", "memory")]
