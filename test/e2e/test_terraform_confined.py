"""A provider is somebody else's program, and a tenant chooses its arguments: the real provider `local`,
which reads and writes the files that it is told, gets at nothing of the operator's, and writes nothing
but in a folder of its own."""

import os
import threading
from pathlib import Path

import pytest

from kusion_e2e.broken import Whisperer, broken
from kusion_e2e.controller import Controller
from kusion_e2e.rights import account, bound, wait_until_may
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.states import open_text
from kusion_e2e.terraform import flags, mirror, need_providers, terraform
from kusion_e2e.wait import eventually
from test_preview_resources import Preview

CANARY = "canary-8c1f5d-of-the-host"
DENIED = "permission denied"
DATA = "hashicorp:local:data.local_file:f"


@pytest.fixture(scope="module", autouse=True)
def providers():
    need_providers()


@pytest.fixture(scope="module")
def controller(state_namespace):
    controller = Controller(state_namespace, flags=flags("hashicorp/local"))
    yield controller.wait_leading()
    assert controller.stop() == 0


@pytest.fixture
def spec(controller, tenant):
    spec = Spec(controller.cluster, tenant)
    yield spec
    spec.delete()


def reading(name, place):
    return {"id": f"hashicorp:local:data.local_file:{name}", "type": "Terraform",
            "attributes": {"filename": str(place)},
            "extensions": {"provider": "registry.terraform.io/hashicorp/local", "resourceType": "data.local_file"}}


def failures(spec):
    failed = spec.get().get("status", {}).get("resources", {}).get("failed", [])
    return {one["id"].rpartition(":")[2]: one for one in failed}


def test_reads_nothing_of_the_operators(controller, spec, tmp_path):
    """Whatever it reads would be in the results, where the tenant's other resources can use it."""
    secret = tmp_path / "token"
    secret.write_text(CANARY)
    pid = controller.process.pid
    (tmp_path / "link").symlink_to(secret)
    places = {"file": secret, "link": tmp_path / "link", "kubeconfig": controller.cluster.kubeconfig,
              "environment": f"/proc/{pid}/environ", "addresses": f"/proc/{pid}/maps", "passwd": "/etc/passwd",
              "root": f"/proc/{pid}/root{secret}"}
    assert all(os.access(place, os.R_OK) for place in places.values()), "we may"
    spec.apply([config_map("c", spec.namespace), *(reading(name, place) for name, place in places.items())])
    spec.wait("False")
    found = failures(spec)
    assert set(found) == set(places)
    for name, one in found.items():
        assert one["reason"] == "ProviderError" and DENIED in one["message"], (name, one)
    assert CANARY not in open_text(spec.cluster, spec)


def test_writes_nothing_of_the_hosts(spec, tmp_path):
    places = {"temporary": tmp_path / "file", "home": Path.home() / ".kusion-test", "mirror": Path(mirror()[0], "file")}
    assert all(os.access(place.parent, os.W_OK) for place in places.values()), "we may"
    spec.apply([terraform("local_file", name, filename=str(place), content="x") for name, place in places.items()])
    spec.wait("False")
    found = failures(spec)
    written = [place for place in places.values() if place.exists()]
    for place in written:  # others use these folders, too
        place.unlink()
    assert not written
    assert {name: DENIED in one["message"] for name, one in found.items()} == dict.fromkeys(places, True), found


@pytest.mark.parametrize("of", ["spec", "no-such-spec"])
def test_a_preview_finds_nothing_that_the_spec_left(spec, of):
    """Whoever may only create Releases, and chooses their resources."""
    spec.apply([terraform("local_file", "f", filename="shared.txt", content=CANARY)]).wait("True")
    preview = Preview(spec.cluster, spec.namespace, spec=of, resources=[
        reading("f", "shared.txt"), config_map("c", spec.namespace, {"a": f"$kusion_path.{DATA}.content"})])
    result, = [one for one in preview.status["results"] if one["id"] == DATA]
    assert preview.status["phase"] == "failed" and "no such file" in result["message"], preview.status
    assert CANARY not in str(preview.status)


def test_a_preview_of_the_spec_itself_still_works(spec):
    spec.apply([terraform("local_file", "f", filename="shared.txt", content="x")]).wait("True")
    assert Preview(spec.cluster, spec.namespace).actions() == {"f": "unchanged"}


@pytest.fixture
def cgroup():
    """A cgroup of 128 MiB, as a container's; skipped where none can be made."""
    root = Path("/sys/fs/cgroup")
    is_v2 = (root / "cgroup.controllers").exists()
    path = (root if is_v2 else root / "memory") / f"kusion-e2e-{os.getpid()}"
    try:
        path.mkdir()
        (path / ("memory.max" if is_v2 else "memory.limit_in_bytes")).write_text(str(128 << 20))
    except OSError as error:
        pytest.skip(f"no cgroup of memory can be made here: {error}")
    yield path
    path.rmdir()  # its processes have ended


def ooms(cgroup):
    """How many processes the kernel has ended there."""
    names = [cgroup / name for name in ("memory.events", "memory.oom_control")]
    lines = next(name for name in names if name.exists()).read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))


def test_the_kernel_ends_a_provider_before_the_operator(controller, state_namespace, tenant, cgroup):
    """Its memory grows beyond what the container has, before it is beyond --terraform-memory."""
    assert controller.stop() == 0
    own = Controller(state_namespace, flags=[*flags("hashicorp/random"), "--terraform-memory", "4Gi"]).wait_leading()
    greedy, modest = (Spec(state_namespace, tenant, name) for name in ("greedy", "modest"))
    try:
        (cgroup / "cgroup.procs").write_text(str(own.process.pid))
        greedy.apply([terraform("random_string", "s", length=400_000_000)]).wait("False", seconds=400)
        assert ooms(cgroup) > 0, failures(greedy)
        assert own.process.poll() is None, failures(greedy)
        modest.apply([terraform("random_id", "i", byte_length=2)]).wait("True")
        modest.delete()
        greedy.cluster.api.patch(greedy.path, {"spec": {"deletionPolicy": "Orphan"}}).must()
        greedy.delete()
    finally:
        own.stop()


def test_an_argument_that_takes_all_memory_ends_the_provider_alone(controller, state_namespace, tenant):
    """The operator, and the others, go on; the resource says what was wrong."""
    assert controller.stop() == 0
    own = Controller(state_namespace, flags=[*flags("hashicorp/random"), "--terraform-memory", "128Mi"]).wait_leading()
    greedy, modest = (Spec(state_namespace, tenant, name) for name in ("greedy", "modest"))
    try:
        greedy.apply([terraform("random_string", "s", length=400_000_000)]).wait("False")
        assert "took too much memory" in failures(greedy)["s"]["message"], failures(greedy)
        assert own.process.poll() is None
        modest.apply([terraform("random_id", "i", byte_length=2)]).wait("True")
        modest.delete()
        greedy.cluster.api.patch(greedy.path, {"spec": {"deletionPolicy": "Orphan"}}).must()
        greedy.delete()  # what may have been made is in no cloud
    finally:
        own.stop()


@pytest.fixture
def neighbour(state_namespace):
    name = state_namespace.new_namespace("neighbour")
    with bound(state_namespace, name, "cluster-admin", name):
        wait_until_may(state_namespace, account(name), "*", "*", group="*")
        yield name
        state_namespace.leave_namespace(name)


@pytest.fixture
def whisperer():
    made = Whisperer()
    yield made
    made.close()


def took_too_much(spec):
    failure = failures(spec).get("a", {})
    assert failure.get("reason") == "ProviderMemory", failure
    assert "PlanResourceChange: its process took too much memory, and ended" in failure["message"], failure
    return True


def test_a_provider_that_grows_while_it_is_used_ends_alone(controller, state_namespace, whisperer, tenant, neighbour):
    """By the memory that it has: no limit of the kernel's holds this one. A neighbour's process goes on with the
    call that it has."""
    need_providers("test")
    assert controller.stop() == 0
    own = Controller(state_namespace, flags=[*flags("kusion/broken", which=("test",)), "--terraform-memory", "128Mi"])
    modest, greedy = Spec(state_namespace, neighbour), Spec(state_namespace, tenant)
    go_on = whisperer.held["modest", "ApplyResourceChange"] = threading.Event()
    whisperer.tell("greedy", PlanResourceChange="grow 256")
    try:
        own.wait_leading()
        modest.apply([broken()], context={"BROKEN": whisperer.address("modest")})
        eventually(lambda: "ApplyResourceChange" in whisperer.asked.get("modest", []))
        fields = {"context": {"BROKEN": whisperer.address("greedy")}, "timeout": "5s", "retryInterval": "1s"}
        greedy.apply([broken()], **fields)
        eventually(lambda: took_too_much(greedy))
        go_on.set()
        modest.wait("True")
        assert len(whisperer.pids["modest"]) == 1 and own.process.poll() is None
        whisperer.tell("greedy")
        greedy.apply([broken(text="less")], **fields).wait("True")
        for spec in (modest, greedy):
            spec.delete()
    finally:
        go_on.set()
        own.stop()
