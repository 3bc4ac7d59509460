"""Terraform resources by real providers: random, tls, time. Their results go into objects of
Kubernetes, and what is secret of them is shown nowhere."""

import base64
import json
import os
import signal
import subprocess
import time

import pytest

from kusion_e2e.controller import PROGRAM, Controller
from kusion_e2e.long import takes_long
from kusion_e2e.releases import plan_of
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.states import open_text
from kusion_e2e.terraform import flags, need_providers, reference, resource_id, spec_of, terraform
from kusion_e2e.wait import eventually

UNKNOWN = "(known after apply)"
PASSWORD = resource_id("random_password", "db")


@pytest.fixture(scope="module", autouse=True)
def providers():
    need_providers()


@pytest.fixture(scope="module")
def controller(state_namespace):
    controller = Controller(state_namespace,
                            flags=flags("hashicorp/random@~> 3.1", "hashicorp/tls", "hashicorp/time"))
    yield controller.wait_leading()
    assert controller.stop() == 0


@pytest.fixture
def spec(controller, tenant):
    with spec_of(controller.cluster, tenant) as spec:
        yield spec


def secret(namespace, **data):
    return resource({"apiVersion": "v1", "kind": "Secret",
                     "metadata": {"name": "s", "namespace": namespace}, "stringData": data})


def password_into_secret(namespace, length):
    return [terraform("random_password", "db", length=length),
            secret(namespace, password=reference("random_password", "db", "result"))]


def secret_of(spec):
    found = spec.cluster.api.get(f"/api/v1/namespaces/{spec.namespace}/secrets/s")
    data = found.object.get("data", {}) if found.ok else {}
    return {key: base64.b64decode(value).decode() for key, value in data.items()}


def field(result, path):
    one, = [one for one in result["fields"] if one["path"] == path]
    return one


def last_results(spec):
    return {one["id"]: one for one in spec.releases()[-1]["status"]["results"]}


def failed(spec):
    return {one["id"]: one for one in spec.get()["status"]["resources"]["failed"]}


def processes_of(controller):
    """The providers' processes, by their program's name. One that has just ended has none any more."""
    found = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(controller.process.pid)],
                           capture_output=True, text=True).stdout
    processes = (line.split() for line in found.splitlines() if "<defunct>" not in line)
    return {int(pid): program.rsplit("/", 1)[-1] for pid, program, *_ in processes}


# ---- A password's whole life ----


def test_a_password_into_a_secret(spec, controller):
    tenant = spec.namespace
    spec.apply(password_into_secret(tenant, 20), suspend=True)
    spec.wait("Unknown")
    shown = plan_of(spec.cluster, spec.namespace, spec.name)
    assert shown[PASSWORD]["action"] == "create"
    assert field(shown[PASSWORD], "length")["to"] == "20"
    assert field(shown[PASSWORD], "id")["to"] == UNKNOWN
    assert field(shown[PASSWORD], "result")["to"] == "(sensitive)"
    assert not secret_of(spec)

    spec.apply(password_into_secret(tenant, 20)).wait("True")
    first = secret_of(spec)["password"]
    assert len(first) == 20

    # Nothing is to be done: no Release, also after several intervals.
    spec.apply(password_into_secret(tenant, 20), interval="1s").wait("True")
    known = len(spec.releases())
    time.sleep(3)
    assert len(spec.releases()) == known and secret_of(spec)["password"] == first

    spec.apply(password_into_secret(tenant, 24)).wait("True")
    second = secret_of(spec)["password"]
    assert len(second) == 24 and second != first
    assert last_results(spec)[PASSWORD]["action"] == "replace"
    assert last_results(spec)[PASSWORD]["message"] == "attributes.length cannot be changed"

    said = open_text(spec.cluster, spec) + controller.log.read_text()
    assert first not in said and second not in said
    assert not any(word in text for text in environments(controller) for word in (first, second))
    spec.delete()
    assert not secret_of(spec)


def environments(controller):
    """Arguments and environments of the providers' processes."""
    texts = []
    for pid in processes_of(controller):
        for name in ("cmdline", "environ"):
            with open(f"/proc/{pid}/{name}", errors="replace") as file:
                texts.append(file.read())
    return texts


def test_a_change_in_place(spec):
    """time_sleep has no field that a change replaces but its triggers."""
    sleep = resource_id("time_sleep", "t")
    spec.apply([terraform("time_sleep", "t", create_duration="1ms")]).wait("True")
    spec.apply([terraform("time_sleep", "t", create_duration="2ms")]).wait("True")
    assert last_results(spec)[sleep]["action"] == "update"
    spec.apply([terraform("time_sleep", "t", create_duration="2ms", triggers={"a": 1})]).wait("True")
    result = last_results(spec)[sleep]
    assert (result["action"], result["message"]) == ("replace", "attributes.triggers cannot be changed")


def test_results_go_from_provider_to_provider_and_both_ways(spec):
    """A key of one provider, an object with its public half, and a certificate of it."""
    tenant = spec.namespace
    spec.apply([
        terraform("tls_private_key", "k", algorithm="ED25519"),
        terraform("tls_self_signed_cert", "c", validity_period_hours=1, allowed_uses=["server_auth"],
                  private_key_pem=reference("tls_private_key", "k", "private_key_pem"),
                  subject={"common_name": f"$kusion_path.v1:ConfigMap:{tenant}:book.data.name"}),
        config_map("book", tenant, {"name": "example.com"}),
        secret(tenant, key=reference("tls_private_key", "k", "private_key_pem"),
               cert=reference("tls_self_signed_cert", "c", "cert_pem")),
    ]).wait("True")
    found = secret_of(spec)
    assert "PRIVATE KEY" in found["key"] and "CERTIFICATE" in found["cert"]
    shown = subprocess.run(["openssl", "x509", "-noout", "-subject"], input=found["cert"],
                           capture_output=True, text=True).stdout
    assert "example.com" in shown
    assert found["key"].splitlines()[1] not in open_text(spec.cluster, spec)


# ---- Its lifecycle ----


def kept(**lifecycle):
    return {"lifecycle": lifecycle}


def test_a_new_one_before_the_old_one(spec):
    def apply(length):
        made = terraform("random_password", "db", length=length,
                         extensions=kept(createBeforeDestroy=True))
        spec.apply([made, secret(spec.namespace, password=reference("random_password", "db", "result"))])
        spec.wait("True")
        return secret_of(spec)["password"]

    assert len(apply(20)) == 20 and len(apply(21)) == 21
    assert last_results(spec)[PASSWORD]["action"] == "replace"


def test_what_is_not_to_be_destroyed_and_what_is_not_to_change(spec):
    def apply(resources, ready="True"):
        return spec.apply(resources).wait(ready)

    def password(**more):
        return terraform("random_password", "db", length=20, **more)

    apply([password(extensions=kept(preventDestroy=True))])
    apply([password(extensions=kept(preventDestroy=True), special=False)], "False")
    assert failed(spec)[PASSWORD]["reason"] == "PreventDestroy"
    assert "attributes.special cannot be changed" in failed(spec)[PASSWORD]["message"]
    apply([config_map("other", spec.namespace)], "False")
    assert failed(spec)[PASSWORD]["reason"] == "PreventDestroy"
    apply([password(extensions=kept(ignoreChanges=["special"]), special=False)])
    assert last_results(spec)[PASSWORD]["action"] in ("unchanged", "update")
    apply([password(extensions=kept(ignoreChanges="all"), special=False, upper=False)])
    assert last_results(spec)[PASSWORD]["action"] in ("unchanged", "update")


def test_an_apply_outlasts_the_timeout_of_the_spec(spec):
    spec.apply([terraform("time_sleep", "t", create_duration="5s")], timeout="2s", retryInterval="1s")
    spec.wait("True")
    assert [one["status"]["phase"] for one in spec.releases()].count("succeeded") == 1


# ---- Objects that others made ----


def taken_over(id, **more):
    return {"kusionstack.io/import-id": id, **more}


def test_an_object_that_exists_is_taken_over(spec, controller):
    """A password by its value, which another resource has: nothing is made, and nothing changes."""
    password, tenant = "Zq8-vVn3.kXw7_pLm2yTe", spec.namespace
    id = f"$kusion_path.v1:ConfigMap:{tenant}:by-hand.data.id"

    def apply(**more):
        made = terraform("random_password", "db", length=len(password), extensions=taken_over(id))
        return spec.apply([made, config_map("by-hand", tenant, {"id": password}),
                           secret(tenant, password=reference("random_password", "db", "result"))],
                          **more)

    apply(retryInterval="1s").wait("True")
    assert last_results(spec)[PASSWORD]["action"] == "adopt"
    assert secret_of(spec)["password"] == password
    apply(interval="1s").wait("True")
    known = len(spec.releases())
    time.sleep(3)
    assert len(spec.releases()) == known and secret_of(spec)["password"] == password


def test_a_preview_of_what_is_taken_over(spec):
    """A change in place: the value is compared with the object's."""
    sleep = resource_id("time_sleep", "t")
    made = [terraform("time_sleep", "t", create_duration="2ms", triggers={},
                      extensions=taken_over("1ms,"))]
    spec.apply(made, suspend=True).wait("Unknown")
    shown = plan_of(spec.cluster, spec.namespace, spec.name)[sleep]
    assert shown["action"] == "adopt", shown
    assert shown["message"].startswith("takes over an existing object, id "), shown
    duration = field(shown, "create_duration")
    assert (duration["from"], duration["to"]) == ('"1ms"', '"2ms"')
    spec.apply(made).wait("True")
    assert last_results(spec)[sleep]["action"] == "adopt"

    # From now on the id means nothing.
    spec.apply([terraform("time_sleep", "t", create_duration="3ms", triggers={},
                          extensions=taken_over("nonsense"))]).wait("True")
    assert last_results(spec)[sleep]["action"] == "update"


def test_what_cannot_be_taken_over(spec, controller):
    secretly = "Zq8-vVn3.kXw7_pLm2yTe"
    spec.apply([
        terraform("time_static", "t", extensions=taken_over("noon")),
        terraform("tls_private_key", "k", algorithm="ED25519", extensions=taken_over("a-key")),
        terraform("random_password", "db", length=9, extensions=taken_over(secretly)),
    ]).wait("False")
    said = {id: (one["reason"], one["message"]) for id, one in failed(spec).items()}
    assert {reason for reason, _ in said.values()} == {"ImportFailed"}, said
    of = {id.split(":")[2]: message for id, (_, message) in said.items()}
    assert of["time_static"].startswith(
        "extensions[kusionstack.io/import-id]: the object cannot be taken over: "), of
    assert "Not Implemented" in of["tls_private_key"], of
    assert "attributes.length cannot be changed" in of["random_password"], of
    assert not any(word in message for message in of.values() for word in ("noon", "a-key", secretly))
    assert secretly not in controller.log.read_text()
    spec.delete()


# ---- What is wrong ----


MISTAKES = {
    "name": (dict(lenght=20), 'attributes.lenght: there is no such argument; is "length" meant?'),
    "type": (dict(length="many"), "attributes.length: must be a number, and is of type string"),
    "value": (dict(length=-1), "attributes.length: Invalid Attribute Value: Attribute length value must "
                               "be at least 1, got: -1; attributes.length: Invalid Attribute Value: Attribute "
                               "length value must be at least sum of min_upper + min_lower + min_numeric + "
                               "min_special, got: -1"),
    "computed": (dict(length=1, result="x"), "attributes.result: cannot be set: the provider computes it"),
    "absent": (dict(), "attributes.length: is required"),
}


def test_mistakes_are_named_with_their_places(spec):
    spec.apply([terraform("random_password", name, **made) for name, (made, _) in MISTAKES.items()])
    spec.wait("False")
    assert {id: one["message"] for id, one in failed(spec).items()} == \
        {resource_id("random_password", name): said for name, (_, said) in MISTAKES.items()}


def test_expressions_of_terraform_are_refused(spec):
    spec.apply([terraform("random_password", "db", length=9, override_special="${var.x}")])
    ready = spec.wait("False")
    assert ready["reason"] == "InvalidSpec"
    assert '(resources[0].attributes.override_special): has "${": expressions of Terraform are not ' \
        "evaluated" in ready["message"]


def test_a_provider_that_no_flag_names_is_refused(spec):
    spec.apply([terraform("aws_instance", "i")])
    ready = spec.wait("False")
    assert ready["reason"] == "Unsupported"
    assert "(resources[0].extensions.provider): the provider hashicorp/aws is not one that the " \
        "operator may run; its flag --terraform-provider allows hashicorp/random ~> 3.1, hashicorp/tls, " \
        "hashicorp/time" in ready["message"]


def test_a_version_that_is_not_there(spec):
    there_is_none = {"provider": "hashicorp/random/3.0.1"}
    spec.apply([terraform("random_password", "db", length=3, extensions=there_is_none)]).wait("False")
    assert failed(spec)[PASSWORD]["reason"] == "ProviderNotFound"


# ---- What a provider is given ----


def variables(controller):
    """The names and values of all providers' environments."""
    texts = []
    for pid in processes_of(controller):
        with open(f"/proc/{pid}/environ", errors="replace") as file:
            texts += file.read().split("\0")
    return dict(text.split("=", 1) for text in texts if text)


def put(spec, kind, name, **data):
    spec.cluster.apply(json.dumps({"apiVersion": "v1", "kind": kind, "data": data,
                                   "metadata": {"name": name, "namespace": spec.namespace}}))


def base64_of(text):
    return base64.b64encode(text.encode()).decode()


def test_credentials_are_in_the_environment_and_nowhere_else(spec, controller):
    key = "correct-horse-battery-staple"
    put(spec, "ConfigMap", "cloud", ACME_REGION="eu-1", ACME_ZONE="a", comment="not for a provider")
    put(spec, "Secret", "cloud", ACME_KEY=base64_of(key), ACME_ZONE=base64_of("b"))
    origin = [{"configMapRef": {"name": "cloud"}}, {"secretRef": {"name": "cloud"}},
              {"secretRef": {"name": "absent", "optional": True}}]
    resources = [terraform("random_password", "db", length=20)]
    spec.apply(resources, contextFrom=origin, context={"ACME_ZONE": "c", "ACME_RETRIES": 3},
               interval="1s").wait("True")
    given = variables(controller)
    assert given["ACME_REGION"] == "eu-1" and given["ACME_KEY"] == key and given["ACME_RETRIES"] == "3"
    assert given["ACME_ZONE"] == "c", "that of `context` counts"
    assert "comment" not in given

    # Another key: another process, and no change of the resources.
    known = len(spec.releases())
    put(spec, "Secret", "cloud", ACME_KEY=base64_of("another"), ACME_ZONE=base64_of("b"))
    eventually(lambda: variables(controller)["ACME_KEY"] == "another" or None)
    time.sleep(2)
    assert len(spec.releases()) == known
    said = open_text(spec.cluster, spec) + controller.log.read_text()
    assert key not in said and "ACME_KEY" not in said


def test_a_variable_that_no_provider_may_have(spec):
    resources = [terraform("random_password", "db", length=20)]
    spec.apply(resources, context={"LD_PRELOAD": "/tmp/a.so"}).wait("False")
    assert failed(spec)[PASSWORD]["reason"] == "InvalidContext"
    assert "context.LD_PRELOAD: a provider's environment cannot have this variable" \
        in failed(spec)[PASSWORD]["message"]
    spec.apply(resources).wait("True")


@pytest.mark.parametrize("origin, reason, words", [
    ({"secretRef": {"name": "nobody"}}, "ContextNotFound",
     'contextFrom[0]: there is no Secret "nobody" in namespace "{}"'),
    ({"configMapRef": {"name": "nobody"}}, "ContextNotFound",
     'contextFrom[0]: there is no ConfigMap "nobody" in namespace "{}"'),
    ({"secretRef": {"name": "binary"}}, "InvalidContext",
     'contextFrom[0]: key "A" of Secret "binary" is not text in UTF-8'),
    ({"configMapRef": {"name": "large"}}, "InvalidContext",
     'contextFrom[0]: with ConfigMap "large" there are more than 64 KiB of variables'),
])
def test_what_the_context_lacks_is_named(spec, origin, reason, words):
    """By the resources that need it; others are applied."""
    put(spec, "Secret", "binary", A=base64.b64encode(b"\xff\x00").decode())
    put(spec, "ConfigMap", "large", A="a" * (64 << 10), b="b" * 900000)
    spec.apply([config_map("a", spec.namespace), terraform("random_password", "db", length=20)],
               contextFrom=[origin], retryInterval="1s")
    spec.wait("False")
    assert {name: (one["reason"], words.format(spec.namespace) in one["message"])
            for name, one in failed(spec).items()} == {PASSWORD: (reason, True)}
    assert spec.cluster.api.get(f"/api/v1/namespaces/{spec.namespace}/configmaps/a").ok
    put(spec, "Secret", "nobody", A="")
    put(spec, "ConfigMap", "nobody", A="")
    put(spec, "Secret", "binary", A="", b=base64.b64encode(b"\xff\x00").decode())
    put(spec, "ConfigMap", "large", A="a", b="b" * 900000)
    spec.wait("True")


def test_the_context_is_read_with_the_rights_of_the_service_account(spec):
    resources = [terraform("random_password", "db", length=20)]
    spec.cluster.apply(json.dumps({"apiVersion": "v1", "kind": "ServiceAccount",
                                   "metadata": {"name": "nobody", "namespace": spec.namespace}}))
    put(spec, "Secret", "cloud", A="")
    spec.apply(resources, contextFrom=[{"secretRef": {"name": "cloud"}}], serviceAccountName="nobody")
    spec.wait("False")
    assert failed(spec)[PASSWORD]["reason"] == "AccessDenied"
    said = failed(spec)[PASSWORD]["message"]
    assert said.startswith('contextFrom[0]: secrets "cloud" is forbidden'), said


def test_a_context_that_is_gone_keeps_no_object_of_kubernetes(spec):
    put(spec, "ConfigMap", "cloud", ACME_REGION="a")
    spec.apply([config_map("a", spec.namespace), terraform("random_password", "db", length=20)],
               contextFrom=[{"configMapRef": {"name": "cloud"}}], retryInterval="1s").wait("True")
    spec.cluster.api.delete(f"/api/v1/namespaces/{spec.namespace}/configmaps/cloud").must()
    spec.cluster.api.delete(spec.path).must()
    path = f"/api/v1/namespaces/{spec.namespace}/configmaps/a"
    eventually(lambda: spec.cluster.api.get(path).code == 404)
    eventually(lambda: "there is no ConfigMap" in json.dumps(spec.get()["status"]))
    put(spec, "ConfigMap", "cloud", ACME_REGION="a")
    eventually(lambda: spec.cluster.api.get(spec.path).code == 404, 150)


def test_a_preview_of_other_resources_gets_no_credentials(spec):
    put(spec, "Secret", "cloud", ACME_KEY=base64_of("correct-horse"))
    spec.apply([config_map("a", spec.namespace)],
               contextFrom=[{"secretRef": {"name": "cloud"}}]).wait("True")
    shown = spec.cluster.api.create(
        f"/apis/api.kusion.io/v1/namespaces/{spec.namespace}/releases",
        {"apiVersion": "api.kusion.io/v1", "kind": "Release", "metadata": {"name": "other"},
         "spec": {"specRef": {"name": spec.name}, "operation": "Preview",
                  "resources": [terraform("random_password", "db", length=20)]}}).must().object
    path = f"/apis/api.kusion.io/v1/namespaces/{spec.namespace}/releases/{shown['metadata']['name']}"

    def ended():
        status = spec.cluster.api.get(path).must().object.get("status", {})
        return status if status.get("phase") in ("succeeded", "failed") else None

    status = eventually(ended)
    assert status["phase"] == "failed"
    assert "contextFrom: a Preview with resources of its own gets none" in json.dumps(status)


# ---- Processes ----


def test_a_provider_that_dies_is_started_again(spec, controller):
    spec.apply(password_into_secret(spec.namespace, 20)).wait("True")
    before = processes_of(controller)
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    spec.apply(password_into_secret(spec.namespace, 21)).wait("True")
    assert len(secret_of(spec)["password"]) == 21
    assert not before.keys() & processes_of(controller).keys()


def test_a_provider_is_confined(spec, controller):
    """What that means is tested with a program that tries to get out (test/unit/runtimes/io)."""
    spec.apply(password_into_secret(spec.namespace, 20)).wait("True")
    pids = processes_of(controller)
    assert pids
    for pid in pids:
        with open(f"/proc/{pid}/status") as file:
            status = dict(line.split(":\t", 1) for line in file.read().splitlines())
        assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")


@takes_long
def test_a_namespace_leaves_processes_for_the_others(spec, controller):
    """Each Spec needs a process of its own, since their variables differ, and holds it for long."""
    cluster = spec.cluster
    greedy = cluster.new_namespace("greedy")
    cluster.apply(json.dumps({"apiVersion": "v1", "kind": "ServiceAccount",
                              "metadata": {"name": "deployer", "namespace": greedy}}))
    specs = [Spec(cluster, greedy, f"slow-{i}") for i in range(33)]
    for i, one in enumerate(specs):
        one.apply([terraform("time_sleep", "s", create_duration="40s")], context={"ACME_NUMBER": str(i)},
                  serviceAccountName="deployer")

    def held():
        return sum("terraform-provider-time" in name for name in processes_of(controller).values())

    eventually(lambda: held() == 8)
    spec.apply(password_into_secret(spec.namespace, 20)).wait("True")
    assert not any((one.condition() or {}).get("status") == "True" for one in specs), "it had to wait"
    assert held() == 8
    for one in specs:
        cluster.api.delete(one.path).must()
    eventually(lambda: all(cluster.api.get(one.path).code == 404 for one in specs), 150)
    cluster.delete_namespace(greedy)


def test_another_operator_finds_what_the_first_one_made(state_namespace, tenant, controller):
    spec = Spec(controller.cluster, tenant)
    spec.apply(password_into_secret(tenant, 20)).wait("True")
    first, pids = secret_of(spec)["password"], processes_of(controller).keys()
    assert controller.stop() == 0
    assert pids and not any(os.path.exists(f"/proc/{pid}") for pid in pids)
    next_one = Controller(state_namespace, flags=flags("hashicorp/random"))
    try:
        next_one.wait_leading()
        spec.apply(password_into_secret(tenant, 20), timeout="4m").wait("True")
        assert secret_of(spec)["password"] == first
        spec.delete()
    finally:
        assert next_one.stop() == 0


# As an older kernel does, or a container whose seccomp profile knows no Landlock.
WITHOUT_LANDLOCK = """#!/usr/bin/python3
import ctypes, os, struct, sys
LANDLOCK_CREATE_RULESET, ENOSYS = 444, 38
filter = b"".join(struct.pack("=HBBI", *one) for one in (
    (0x20, 0, 0, 0), (0x15, 0, 1, LANDLOCK_CREATE_RULESET), (0x06, 0, 0, 0x50000 | ENOSYS),
    (0x06, 0, 0, 0x7fff0000)))
items = ctypes.create_string_buffer(filter)
program = struct.pack("@HP", len(filter) // 8, ctypes.addressof(items))
prctl = ctypes.CDLL(None, use_errno=True).prctl
assert prctl(38, 1, 0, 0, 0) == 0 and prctl(22, 2, program, 0, 0) == 0
os.execv({operator!r}, [{operator!r}, *sys.argv[1:]])
"""


@pytest.fixture
def without_landlock(tmp_path):
    program = tmp_path / "operator"
    program.write_text(WITHOUT_LANDLOCK.format(operator=str(PROGRAM)))
    program.chmod(0o755)
    return program


def test_without_landlock_a_flag_must_allow_providers(state_namespace, tenant, controller,
                                                      without_landlock):
    controller.stop()
    spec = Spec(controller.cluster, tenant)
    refusing = Controller(state_namespace, flags=flags("hashicorp/random"), program=without_landlock)
    try:
        refusing.wait_leading()
        spec.apply(password_into_secret(tenant, 20)).wait("False")
        assert failed(spec)[PASSWORD]["reason"] == "ProviderNotConfined"
        assert "--terraform-allow-unconfined" in failed(spec)[PASSWORD]["message"]
        assert "no Terraform provider can run" in refusing.log.read_text()
    finally:
        assert refusing.stop() == 0
    allowing = Controller(state_namespace, program=without_landlock,
                          flags=[*flags("hashicorp/random"), "--terraform-allow-unconfined"])
    try:
        allowing.wait_leading()
        spec.apply(password_into_secret(tenant, 21), timeout="4m").wait("True")
        assert len(secret_of(spec)["password"]) == 21
        assert "Terraform providers can read every file" in allowing.log.read_text()
        spec.delete()
    finally:
        assert allowing.stop() == 0
