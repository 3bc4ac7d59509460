"""Terraform providers (hack/providers), real ones and those of test/provider, and resources of theirs."""

import functools
import importlib
import subprocess
import sys

from kusion_e2e.paths import ROOT

sys.path.append(str(ROOT / "test/terraform"))  # kusion_terraform


@functools.lru_cache(maxsize=None)
def mirror(*which):
    """The folder with the providers; "test": with those of test/provider. Second: why there is none."""
    made = subprocess.run([ROOT / "hack/providers", *which], capture_output=True, text=True)
    if made.returncode:
        return None, f"no Terraform providers: {made.stderr.strip().splitlines()[-1]}"
    return made.stdout.strip(), None


def flags(*providers, which=()):
    return ["--terraform-plugin-dir", mirror(*which)[0],
            *(flag for one in providers for flag in ("--terraform-provider", one))]


def backend():
    """The service that has the objects of the providers of test/provider (test/terraform)."""
    sys.path.insert(0, str(ROOT / "test/terraform"))
    return importlib.import_module("kusion_terraform.backend").Backend()


def resource_id(kind, name):
    return f"hashicorp:{kind.split('_')[0]}:{kind}:{name}"


def terraform(kind, name, depends_on=(), extensions=None, **attributes):
    made = {"id": resource_id(kind, name), "type": "Terraform", "attributes": attributes,
            "extensions": {"provider": f"registry.terraform.io/hashicorp/{kind.split('_')[0]}",
                           "resourceType": kind, **(extensions or {})}}
    if depends_on:
        made["dependsOn"] = list(depends_on)
    return made


def reference(kind, name, field):
    return f"$kusion_path.{resource_id(kind, name)}.{field}"


# ---- kusion/probe and kusion/legacy, whose objects are in a back end of the test ----


@functools.lru_cache(maxsize=None)
def things_mirror():
    """The folder with the real ones, and those of test/provider. Second: why there is none."""
    made = subprocess.run([ROOT / "hack/providers", "test"], capture_output=True, text=True)
    if made.returncode:
        return None, f"no Terraform providers: {made.stderr.strip().splitlines()[-1]}"
    return made.stdout.strip(), None


def things_flags(*more):
    return ["--terraform-plugin-dir", things_mirror()[0], "--terraform-provider", "kusion/probe",
            "--terraform-provider", "kusion/legacy", *more]


def new_backend():
    return importlib.import_module("kusion_terraform.backend").Backend()


def thing_id(kind, name):
    return f"kusion:{kind.split('_')[0]}:{kind}:{name}"


def thing(kind, name, address, extensions=None, meta=None, **attributes):
    """A resource of theirs. meta: more of its provider's configuration."""
    return {"id": thing_id(kind, name), "type": "Terraform", "attributes": {"name": name, **attributes},
            "extensions": {"providerMeta": {"address": address, **(meta or {})}, **(extensions or {})}}
