"""The oracle: OpenTofu."""

import json
import os
import re
import shutil
import subprocess

from kusion_terraform.names import import_id, moved_from, resource_name

PROVIDERS = [("kusion", "probe"), ("kusion", "legacy"),
             ("hashicorp", "random"), ("hashicorp", "tls"), ("hashicorp", "time")]


def program_folder(mirror, namespace, name):
    """The folder with the newest version of the provider."""
    folders = mirror.glob(f"registry.terraform.io/{namespace}/{name}/*/*")
    return max(folders, key=lambda one: [int(part) for part in one.parent.name.split(".")])


def configure(mirror, folder):
    """OpenTofu's own configuration: it takes the providers from there, and installs nothing."""
    overrides = "".join(f'    "registry.terraform.io/{namespace}/{name}" = '
                        f'"{program_folder(mirror, namespace, name)}"\n' for namespace, name in PROVIDERS)
    file = folder / "tofurc"
    file.write_text(f"disable_checkpoint = true\nprovider_installation {{\n  dev_overrides {{\n{overrides}  }}\n}}\n")
    return file


class Failed(Exception):
    pass


class Theirs:
    """One module."""

    def __init__(self, tofu, rc, folder, address):
        self._tofu, self.folder, self.address = tofu, folder, address
        folder.mkdir(parents=True)
        self._environment = {**os.environ, "TF_CLI_CONFIG_FILE": str(rc), "TF_IN_AUTOMATION": "1",
                             "CHECKPOINT_DISABLE": "1"}

    def _run(self, *arguments):
        done = subprocess.run([self._tofu, *arguments], cwd=self.folder, env=self._environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True)
        return done.returncode, done.stdout, done.stderr

    def write(self, resources, blocks=""):
        """resources: {kind: {name: rendered}}; blocks: more, as text."""
        providers = {name: {"source": f"registry.terraform.io/{namespace}/{name}"} for namespace, name in PROVIDERS}
        module = {"terraform": {"required_providers": providers},
                  "provider": {"probe": {"address": self.address}, "legacy": {"address": self.address}}}
        for kind, named in resources.items():
            mode = "data" if kind.startswith("data.") else "resource"
            module.setdefault(mode, {})[kind.removeprefix("data.")] = named
        (self.folder / "main.tf.json").write_text(json.dumps(module))
        (self.folder / "blocks.tf").write_text(blocks)

    def plan(self):
        """Its plan, as JSON."""
        status, _, errors = self._run("plan", "-input=false", "-no-color", "-out=planned")
        if status:
            raise Failed(errors)
        status, text, errors = self._run("show", "-json", "planned")
        if status:
            raise Failed(errors)
        return json.loads(text)

    def apply(self):
        """What went wrong, as text; "": nothing."""
        status, _, errors = self._run("apply", "-input=false", "-no-color", "planned")
        return errors if status else ""

    def refresh(self):
        """Reads all objects again into State."""
        status, _, errors = self._run("apply", "-refresh-only", "-auto-approve", "-input=false", "-no-color")
        if status:
            raise Failed(errors)

    def state(self):
        """The instances in State by (kind, name); those deposed are left out."""
        file = self.folder / "terraform.tfstate"
        found = json.loads(file.read_text())["resources"] if file.exists() else []
        return {(one["type"], one["name"]): instance for one in found for instance in one["instances"]
                if "deposed" not in instance and one["mode"] == "managed"}

    def close(self):
        shutil.rmtree(self.folder)


def render(value, kinds, names):
    """A value for OpenTofu's JSON. kinds, names: of the resources by key."""
    if isinstance(value, dict):
        if set(value) == {"$"}:
            key, path = value["$"]
            return "${" + f"{kinds[key]}.{names[key]}.{path}" + "}"
        return {name: render(one, kinds, names) for name, one in value.items()}
    return [render(one, kinds, names) for one in value] if isinstance(value, list) else value


LIFECYCLE = {"createBeforeDestroy": "create_before_destroy", "preventDestroy": "prevent_destroy",
             "ignoreChanges": "ignore_changes"}


def lifecycle(one):
    """Keys of maps and indices of lists as OpenTofu has them."""
    made = {LIFECYCLE[name]: value for name, value in one["lifecycle"].items()}
    if isinstance(made.get("ignore_changes"), list):
        made["ignore_changes"] = [re.sub(r"\.(\d+)\b", r"[\1]", re.sub(r"\.(k\d)$", r'["\1"]', path))
                                  for path in made["ignore_changes"]]
    return made


def more_blocks(case, key, one):
    """What was there before."""
    old, found = moved_from(case, key, one), import_id(case, key, one)
    to = f"{one['kind']}.{resource_name(case, key, one)}"
    moved = f"moved {{\n  from = {'.'.join(old)}\n  to = {to}\n}}\n" if old else ""
    return moved + (f"import {{\n  to = {to}\n  id = \"{found}\"\n}}\n" if found else "")


def resource(one, kinds, names):
    made = render(one["attributes"], kinds, names)
    if one["lifecycle"]:
        made["lifecycle"] = lifecycle(one)
    if one.get("after"):
        keys = [other["$"][0] for other in one["after"]]
        made["depends_on"] = [f"{kinds[key]}.{names[key]}" for key in keys]
    return made
