"""Terraform providers (hack/providers), real ones and those of test/provider, and resources of theirs."""

import functools
import importlib
import os
import subprocess
import sys
from contextlib import contextmanager

import pytest

from kusion_e2e.paths import ROOT
from kusion_e2e.specs import Spec
from kusion_e2e.states import states

sys.path.append(str(ROOT / "test/terraform"))  # kusion_terraform


@functools.lru_cache(maxsize=None)
def mirror(*which):
    """The folder with the providers; "test": with those of test/provider. Second: why there is none."""
    made = subprocess.run([ROOT / "hack/providers", *which], capture_output=True, text=True)
    if made.returncode:
        return None, f"no Terraform providers: {made.stderr.strip().splitlines()[-1]}"
    return made.stdout.strip(), None


def need_providers(*which):
    """Skips the tests where there are none."""
    why_not = "the chart mounts no providers" if os.environ.get("KUSION_E2E_POD") else mirror(*which)[1]
    if why_not:
        pytest.skip(why_not)


def flags(*providers, which=()):
    return ["--terraform-plugin-dir", mirror(*which)[0],
            *(flag for one in providers for flag in ("--terraform-provider", one))]


@contextmanager
def spec_of(cluster, namespace):
    """A Spec that leaves nothing."""
    spec = Spec(cluster, namespace)
    yield spec
    if spec.get():
        spec.delete()
    assert not states(cluster, namespace)


def new_backend():
    """The service that has the objects of the providers of test/provider (test/terraform)."""
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


def things_flags(*more):
    return [*flags("kusion/probe", "kusion/legacy", which=("test",)), *more]


def thing_id(kind, name):
    return f"kusion:{kind.split('_')[0]}:{kind}:{name}"


def thing(kind, name, address, extensions=None, meta=None, **attributes):
    """A resource of theirs. meta: more of its provider's configuration."""
    return {"id": thing_id(kind, name), "type": "Terraform", "attributes": {"name": name, **attributes},
            "extensions": {"providerMeta": {"address": address, **(meta or {})}, **(extensions or {})}}
