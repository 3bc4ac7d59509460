"""Where providers come from: packed mirrors, a network mirror, a registry; and that a provider that
was changed does not run."""

import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

from kusion_e2e import tofu
from kusion_e2e.controller import Controller
from kusion_e2e.registry import HOST, Registry, pack, unpacked
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.terraform import mirror, need_providers, resource_id, terraform
from kusion_e2e.wait import eventually

HASH = re.compile(r"h1:[A-Za-z0-9+/]{43}=")
PET = resource_id("random_pet", "p")


@pytest.fixture(scope="module", autouse=True)
def providers():
    need_providers()


@pytest.fixture
def operator(state_namespace, tmp_path):
    """Starts one with these flags; ends the one before."""
    running = []

    def start(*flags, providers=("hashicorp/random",)):
        stop()
        named = [flag for one in providers for flag in ("--terraform-provider", one)]
        running.append(Controller(state_namespace, flags=[*named, *map(str, flags)]))
        return running[0].wait_leading()

    def stop():
        while running:
            last = running.pop()
            assert last.process.poll() is not None or last.stop() == 0

    yield start
    stop()


@pytest.fixture
def registry(tmp_path):
    folder = tmp_path / "registry"
    folder.mkdir()
    registry = Registry(folder, "random")
    yield registry
    registry.close()


def pet(**extensions):
    return terraform("random_pet", "p", length=2, extensions=extensions)


def failure(spec, id=PET):
    return {one["id"]: one for one in spec.get()["status"]["resources"]["failed"]}[id]


def finish(spec):
    spec.delete()


def test_a_packed_mirror(operator, tenant, tmp_path):
    pack("random", tmp_path / "mirror")
    controller = operator("--terraform-plugin-dir", tmp_path / "mirror",
                          "--terraform-cache-dir", tmp_path / "cache")
    spec = Spec(controller.cluster, tenant)
    spec.apply([pet()]).wait("True")
    copies = os.listdir(tmp_path / "cache/kusion-packages")
    assert len(copies) == 1 and copies[0].startswith("zh-"), copies
    finish(spec)


def test_a_provider_that_comes_later(operator, tenant, tmp_path):
    """The Spec goes on by itself."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    controller = operator("--terraform-plugin-dir", folder)
    spec = Spec(controller.cluster, tenant)
    spec.apply([pet()], retryInterval="1s").wait("False")
    assert failure(spec)["reason"] == "ProviderNotFound", failure(spec)
    assert "--terraform-plugin-dir" in failure(spec)["message"], failure(spec)
    pack("random", folder)
    spec.wait("True")
    finish(spec)


def test_a_network_mirror(operator, tenant, registry):
    controller = operator("--terraform-network-mirror", registry.mirror, "--terraform-ca-file", registry.ca)
    spec = Spec(controller.cluster, tenant)
    spec.apply([pet(provider=f"hashicorp/random/~> {registry.version}")]).wait("True")
    assert not any(path.startswith(("/.well-known", "/v1")) for path in registry.requests)
    finish(spec)


def test_a_registry(operator, tenant, registry, tmp_path):
    """Its host is in the provider's name. Nothing is downloaded from a host that no flag names."""
    provider = f"{registry.host}/hashicorp/random"
    flags = ["--terraform-ca-file", registry.ca, "--terraform-cache-dir", tmp_path / "cache"]
    controller = operator("--terraform-download-from", "registry.example.com", *flags, providers=[provider])
    spec = Spec(controller.cluster, tenant)
    spec.apply([pet(provider=provider)], retryInterval="1s").wait("False")
    assert failure(spec)["reason"] == "ProviderHostNotAllowed", failure(spec)
    assert "--terraform-download-from" in failure(spec)["message"]
    assert not registry.requests

    controller = operator("--terraform-download-from", registry.host, *flags, providers=[provider])
    spec.wait("True")
    assert sum(path.endswith(".zip") for path in registry.requests) == 1
    # Where the copy is kept, the next operator does not download it again.
    operator("--terraform-download-from", registry.host, *flags, providers=[provider])
    spec.apply([terraform("random_pet", "p", length=3, extensions={"provider": provider})]).wait("True")
    assert sum(path.endswith(".zip") for path in registry.requests) == 1
    finish(spec)


def test_kills_while_it_is_fetched(operator, tenant, registry, tmp_path):
    """Nothing is left of what was under way; and others need not wait for it."""
    provider, copies = f"{registry.host}/hashicorp/random", tmp_path / "cache/kusion-packages"
    flags = ["--terraform-download-from", registry.host, "--terraform-ca-file", registry.ca,
             "--terraform-cache-dir", tmp_path / "cache"]
    registry.be_slow(30)
    spec = other = None
    for delay in (0, 0.3, 1):
        known = len(registry.requests)
        controller = operator(*flags, providers=[provider])
        if not spec:
            spec, other = (Spec(controller.cluster, tenant, name) for name in ("spec", "other"))
            spec.apply([pet(provider=provider)])
        eventually(lambda: any(path.endswith(".zip") for path in registry.requests[known:]) or None)
        other.apply([config_map("c", tenant, {"delay": str(delay)})]).wait("True", 10)
        time.sleep(delay)
        controller.crash()
    assert any(name.startswith(".new-") for name in os.listdir(copies)), "what was under way"
    registry.be_slow(1)
    operator(*flags, providers=[provider])
    spec.wait("True")
    left, = os.listdir(copies)
    assert left.startswith("zh-")
    finish(other)
    finish(spec)


def test_a_wrong_checksum(operator, tenant, registry):
    registry.sum = registry.sum[::-1]
    provider = f"{registry.host}/hashicorp/random"
    controller = operator("--terraform-download-from", registry.host, "--terraform-ca-file", registry.ca,
                          providers=[provider])
    spec = Spec(controller.cluster, tenant)
    spec.apply([pet(provider=provider)]).wait("False")
    assert failure(spec)["reason"] == "ProviderChecksum", failure(spec)
    assert f"has to be {registry.sum}" in failure(spec)["message"]
    finish(spec)


def test_a_provider_that_was_changed_does_not_run(operator, tenant, tmp_path):
    package, version = unpacked("random")
    copy = tmp_path / "mirror" / HOST / "hashicorp/random" / version / package.name
    shutil.copytree(package, copy)
    flags = ["--terraform-plugin-dir", tmp_path / "mirror"]
    controller = operator(*flags)
    spec, other = (Spec(controller.cluster, tenant, name) for name in ("spec", "other"))
    spec.apply([pet()]).wait("True")

    (copy / "NOTICE").write_text("It is another package now.")
    operator(*flags)
    another = terraform("random_pet", "q", length=1)
    changed = [terraform("random_pet", "p", length=3), another]
    spec.apply(changed, retryInterval="1s").wait("False")
    said = failure(spec)
    assert said["reason"] == "ProviderChanged", said
    assert said["message"].startswith(f"the provider hashicorp/random {version} is another program than")
    assert failure(spec, another["id"])["reason"] == "ProviderChanged", "a new resource does not run it, too"
    was, now = HASH.findall(said["message"])
    assert was != now
    # A Spec that never used it does not know better.
    other.apply([pet()]).wait("True")

    # The Spec accepts it; from then on it is the one that State knows.
    spec.apply(changed, context={"terraformProviderHashes": [now]}).wait("True")
    spec.apply([pet(), another]).wait("True")

    # The old one is refused in its turn, unless the platform's lock file lists it.
    (copy / "NOTICE").unlink()
    controller = operator(*flags)
    spec.apply([pet()], retryInterval="1s").wait("False")
    assert HASH.findall(failure(spec)["message"]) == [now, was]
    lock = tmp_path / "lock.hcl"
    lock.write_text(f'provider "{HOST}/hashicorp/random" {{\n  version = "{version}"\n'
                    f'  hashes = [\n    "{was}",\n  ]\n}}\n')
    operator(*flags, "--terraform-lock-file", lock)
    spec.wait("True")
    finish(other)
    finish(spec)


def test_an_idle_process_makes_room_for_another_version(operator, tenant, tmp_path):
    """The copy that it has is all that there is room for."""
    package, version = unpacked("random")
    other_version = "99.0.0"
    for one in (version, other_version):
        copy = tmp_path / "mirror" / HOST / "hashicorp/random" / one / package.name
        shutil.copytree(package, copy)
        (copy / "NOTICE").write_text(f"It is another package than others: {one}.")
    size = sum(path.stat().st_size for path in copy.rglob("*") if path.is_file())
    controller = operator("--terraform-plugin-dir", tmp_path / "mirror", "--terraform-cache-dir", tmp_path / "cache",
                          "--terraform-cache-size", f"{size * 3 // 2 // 1024}Ki")
    specs = [Spec(controller.cluster, tenant, name) for name in ("one", "another")]
    for spec, wanted in zip(specs, (version, other_version)):
        spec.apply([pet(provider=f"hashicorp/random/{wanted}")]).wait("True", 20)
        assert len(os.listdir(tmp_path / "cache/kusion-packages")) == 1, "the other's copy made room"
    for spec in specs:
        finish(spec)


def test_what_the_lock_file_does_not_list_does_not_run(operator, tenant, tmp_path):
    package, version = unpacked("random")
    lock = tmp_path / "lock.hcl"
    lock.write_text(f'provider "{HOST}/hashicorp/random" {{\n  version = "{version}"\n'
                    f'  hashes = ["zh:{"0" * 64}"]\n}}\n')
    controller = operator("--terraform-plugin-dir", mirror()[0], "--terraform-lock-file", lock)
    spec = Spec(controller.cluster, tenant)
    spec.apply([pet()]).wait("False")
    assert failure(spec)["reason"] == "ProviderChecksum", failure(spec)
    finish(spec)


def test_the_hash_is_that_of_opentofu(operator, tenant, tmp_path):
    """The lock file that `tofu init` writes for a packed mirror is one for the operator."""
    if not tofu.program():
        pytest.skip(tofu.WHY_NOT)
    packed, work = tmp_path / "mirror", tmp_path / "work"
    pack("random", packed)
    work.mkdir()
    (work / "main.tf").write_text(
        f'terraform {{\n  required_providers {{\n    random = {{ source = "{HOST}/hashicorp/random" }}\n'
        "  }\n}\n")
    config = tmp_path / "tofurc"
    config.write_text(f'provider_installation {{\n  filesystem_mirror {{\n    path = "{packed}"\n  }}\n}}\n')
    subprocess.run([tofu.program(), "init", "-no-color"], cwd=work, check=True, capture_output=True,
                   env={**os.environ, "TF_CLI_CONFIG_FILE": str(config)})
    lock = pathlib.Path(work / ".terraform.lock.hcl")
    assert HASH.search(lock.read_text()), lock.read_text()
    controller = operator("--terraform-plugin-dir", packed, "--terraform-lock-file", lock)
    spec = Spec(controller.cluster, tenant)
    spec.apply([pet()]).wait("True")
    # Also without a lock file, by the hash that a message tells.
    lock.write_text(HASH.sub("h1:" + "A" * 43 + "=", lock.read_text()))
    operator("--terraform-plugin-dir", packed, "--terraform-lock-file", lock)
    spec.apply([terraform("random_pet", "p", length=4)]).wait("False")
    assert failure(spec)["reason"] == "ProviderChecksum", failure(spec)
    operator("--terraform-plugin-dir", packed)
    spec.apply([terraform("random_pet", "p", length=5)]).wait("True")
    finish(spec)
