"""The operator's engine and runtime, by test/terraform/driver.c."""

import json
import subprocess

from kusion_terraform.catalog import provider_of
from kusion_terraform.names import import_id, moved_from
from kusion_terraform.paths import DRIVER

PROVIDERS = ["kusion/probe", "kusion/legacy", "hashicorp/random", "hashicorp/tls", "hashicorp/time"]


def id_of(kind, name):
    return ":".join([*provider_of(kind), kind, name])


class Ours:
    def __init__(self, mirror, folder):
        self._log = open(folder / "driver.log", "w+")
        self._process = subprocess.Popen([DRIVER, mirror, folder / "state", *PROVIDERS], text=True,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log)

    def ask(self, do, name, resources, **more):
        """more: what driver.c says, such as `export`."""
        print(json.dumps({"do": do, "name": name, "resources": resources, **more}), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            self._log.seek(0)
            raise RuntimeError(f"the driver ended: {self._log.read()[-3000:]}")
        return json.loads(line)

    def close(self):
        """The exit status."""
        self._process.stdin.close()
        status = self._process.wait(60)
        self._log.close()
        return status


def render(value, ids):
    """A value for a Spec. ids: key to id."""
    if isinstance(value, dict):
        if set(value) == {"$"}:
            key, path = value["$"]
            return f"$kusion_path.{ids[key]}.{path}"
        return {name: render(one, ids) for name, one in value.items()}
    return [render(one, ids) for one in value] if isinstance(value, list) else value


def more_extensions(case, key, one):
    """What was there before."""
    old, found = moved_from(case, key, one), import_id(case, key, one)
    return {**({"kusionstack.io/moved-from": id_of(*old)} if old else {}),
            **({"kusionstack.io/import-id": found} if found else {})}


def resource(one, name, ids, address, more=None):
    """more: of its extensions."""
    kind = one["kind"]
    extensions = {"provider": "registry.terraform.io/" + "/".join(provider_of(kind)), "resourceType": kind,
                  **(more or {})}
    if provider_of(kind)[0] == "kusion":
        extensions["providerMeta"] = {"address": address}
    if one["lifecycle"]:
        extensions["lifecycle"] = one["lifecycle"]
    made = {"id": id_of(kind, name), "type": "Terraform", "attributes": render(one["attributes"], ids),
            "extensions": extensions}
    if one.get("after"):
        made["dependsOn"] = [ids[other["$"][0]] for other in one["after"]]
    return made
