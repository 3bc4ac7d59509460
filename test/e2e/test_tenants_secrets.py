"""Canaries: secret values that an API server repeats in its words, and that are in none of the
operator's own: its log, events, status, Releases, ConfigMaps and metrics. Whoever reads those may
not read Secrets. Under the chart's rights, at log level debug."""

import base64
import collections
import gzip
import hashlib
import json
import time

import pytest

from kusion_e2e import refusals
from kusion_e2e.canary import Canary
from kusion_e2e.chart import OWN
from kusion_e2e.long import sampled
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.state_backend import need_objects
from kusion_e2e.states import GZIP
from kusion_e2e.tenancy import DEPLOYER, fetch
from kusion_e2e.wait import PATIENCE, eventually
from kusion_e2e.webhook import Webhook

RIGHTS = {
    "": ["configmaps", "secrets", "pods", "services", "persistentvolumeclaims"],
    "apps": ["deployments"], "batch": ["jobs", "cronjobs"], "coordination.k8s.io": ["leases"],
    "networking.k8s.io": ["ingresses", "networkpolicies"], "example.com": ["canaries"],
    "rbac.authorization.k8s.io": ["roles", "rolebindings"],
}

_BUSY = collections.Counter()


def quote(how, value, old):
    """The status of a refusal that repeats a value."""
    if how == "busy":
        _BUSY[value] += 1
        return {"message": f"no {value}", "code": 503 if _BUSY[value] < 3 else 400}
    if how == "reason":
        return {"message": "no", "reason": f"It is {value}"}
    if how == "code":
        return {"message": "no", "reason": value.capitalize()}
    if how == "causes":
        causes = [{"field": f"data[{value}]", "message": f"not {value}", "reason": value}]
        return {"message": value, "code": 422, "reason": "Invalid", "details": {"causes": causes}}
    return {"message": {
        "as-it-is": f"it is {value}, which is wrong",
        "in-go": f"got {{v:{json.dumps(value)}}}",
        "in-base64": base64.b64encode(f"v={value}".encode()).decode(),
        "json-in-base64": base64.b64encode(json.dumps({"a": 1, "v": value}).encode()).decode(),
        "in-hex": value.encode().hex(),
        "bytes": f"map[v:[{' '.join(map(str, value.encode()))}]]",
        "cut": f"begins with {value[:14]}…, ends with …{value[-14:]}",
        "long": f"{'x' * 985} {value}",
        "old": f"-{old} +{value}",
        "secret": "it is " + base64.b64decode(value).decode(errors="replace"),
    }[how]}


def value_of(made):
    data = (made or {}).get("data", {})
    return data.get("v") or data.get("p", "")


def judge(request):
    """What the webhook says of an object, by its label."""
    made, old = request["object"], value_of(request.get("oldObject"))
    how = made["metadata"].get("labels", {}).get("webhook")
    if how is None or (how == "old" and not old):
        return {"allowed": True}
    if how == "warns":
        return {"allowed": False, "warnings": [f"it is {value_of(made)}"],
                "status": {"message": "no"}}
    return {"allowed": False, "status": quote(how, value_of(made), old)}


class Case:
    """A Spec of a Secret and of an object that has its value."""

    def __init__(self, tenant, name, make):
        self.name, self._make, self._tenant = name, make, tenant
        self.canaries = []
        self.spec = Spec(tenant, tenant.namespace, name)

    def apply(self):
        namespace = self._tenant.namespace
        is_own = self.name in refusals.OF_SECRETS
        canary = Canary(plain=is_own)
        self.canaries.append(canary)
        things, value = [], canary.data
        if not is_own:
            things.append(resource(refusals.object_of(
                "v1", "Secret", namespace, name=f"{self.name}-s", data={"p": canary.data})))
            value = f"$kusion_path.{things[0]['id']}.data.p"
        made = self._make(namespace, value)
        made["metadata"]["name"] = self.name
        things.append(resource(made))
        self.spec.apply(things, serviceAccountName=DEPLOYER, wait=False, retryInterval="1h",
                        timeout="20s")

    def is_settled(self):
        ready = self.spec.condition()
        return ready and ready["reason"] != "Progressing"


def wait_all(cases):
    """Those that do not end fail in their own tests."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and not all(case.is_settled() for case in cases):
        time.sleep(0.5)


def wait_until_refused(api, path, made):
    """Policies, webhooks and kinds are at work some time after they were made."""
    eventually(lambda: not api.create(f"{path}?dryRun=All", made).ok)


def prepare(cluster, tenant, webhook):
    cluster.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(refusals.crd()))
    for one in refusals.policies(tenant.namespace):
        cluster.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(one))
    webhook.register(cluster, "canary", tenant.namespace, ["configmaps", "secrets"])
    for group, resources in RIGHTS.items():
        tenant.allow(group, *resources)
    core = f"/api/v1/namespaces/{tenant.namespace}"
    wait_until_refused(cluster.api, f"{core}/configmaps", refusals.config_map(webhook="as-it-is")(
        tenant.namespace, "x"))
    for name in ("as-it-is", "in-json"):
        made = refusals.config_map(policy=name)(tenant.namespace, "x")
        wait_until_refused(cluster.api, f"{core}/configmaps", made)
    made = refusals.own({"policy": "data"}, data=lambda v: {"p": v})(tenant.namespace, "eHh4")
    wait_until_refused(cluster.api, f"{core}/secrets", made)
    eventually(lambda: cluster.api.get(
        f"/apis/example.com/v1/namespaces/{tenant.namespace}/canaries").ok)


class Told:
    """All that the operator said, by where, and what it keeps in the open."""

    def __init__(self, tenancy, namespace):
        api = tenancy.cluster.api
        kusion = f"/apis/api.kusion.io/v1/namespaces/{namespace}"

        def items(path):
            return api.get(path).must().object["items"]

        kept = items(f"/api/v1/namespaces/{OWN}/configmaps")
        parts = [base64.b64decode(part) for one in kept
                 for part in one.get("binaryData", {}).values()]
        parts = [gzip.decompress(part) if part.startswith(GZIP) else part for part in parts]
        decoded = [part.decode(errors="replace") for part in parts]
        self.kept = kept
        # Other controllers have events of their own on what has the secret.
        events = [one for one in items(f"/api/v1/namespaces/{namespace}/events")
                  if one["involvedObject"]["apiVersion"].startswith("api.kusion.io/")]
        assert events, "the operator has told of nothing"
        found = {
            "events": events,
            "status": [one.get("status") for one in items(f"{kusion}/specs")],
            "Releases": items(f"{kusion}/releases"), "ConfigMaps": [kept, decoded]}
        self.texts = {
            "log": tenancy.operator.log.read_text(),
            "metrics": fetch(tenancy.operator.metrics, "/metrics")[1],
            **{place: json.dumps(what, ensure_ascii=False) for place, what in found.items()}}

    def of(self, canaries):
        """Where one of them is found."""
        return [place for place, text in self.texts.items()
                if any(canary.is_in(text) for canary in canaries)]

    def quote(self, canaries):
        """The words around one of them."""
        for place, text in self.texts.items():
            for form in (form for canary in canaries for form in canary.forms()):
                at = text.find(form)
                if at >= 0:
                    return f"{place}: …{text[max(0, at - 160):at + 80]}…"
        return ""


@pytest.fixture(scope="module")
def tenant(tenancy):
    made = tenancy.tenant("canaries")
    tenancy.run("--log-level=debug")
    return made


@pytest.fixture(scope="module")
def cases(tenancy, tenant, tmp_path_factory):
    """All of them, refused; by name, and what was told."""
    webhook = Webhook(tmp_path_factory.mktemp("webhook"), judge)
    prepare(tenancy.cluster, tenant, webhook)
    tables = refusals.BY_CHANGE | refusals.BY_CREATE | refusals.OF_SECRETS
    made = {name: Case(tenant, name, make) for name, make in tables.items()}
    try:
        for case in made.values():
            case.apply()
        for name in refusals.BY_CHANGE:
            made[name].spec.wait("True")
            made[name].apply()
        wait_all(made.values())
        yield made, Told(tenancy, tenant.namespace)
    finally:
        webhook.unregister(tenancy.cluster, "canary")
        webhook.end()


@pytest.mark.parametrize("name", [*refusals.BY_CREATE, *refusals.BY_CHANGE, *refusals.OF_SECRETS])
@sampled
def test_a_refusal_tells_no_secret(cases, name):
    made, told = cases
    ready = made[name].spec.condition()
    ours = ("AccessDenied", "InvalidSpec", "KindNotFound")
    if ready["status"] != "False" or ready["reason"] in ours:
        pytest.fail(f"it was not refused: {ready}")
    assert not told.of(made[name].canaries), told.quote(made[name].canaries)


class TestState:
    """What the operator keeps in ConfigMaps, which more people may read than Secrets."""

    ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"

    def secret(self, namespace, name, canary):
        """As `kubectl get -o yaml` gives it, of an object that was made by `kubectl apply`."""
        made = refusals.object_of("v1", "Secret", namespace, name=name, data={"p": canary.data})
        text = json.dumps(made, separators=(",", ":")) + "\n"
        made["metadata"]["annotations"] = {self.ANNOTATION: text}
        return made

    def test_the_last_applied_configuration_of_a_secret_is_not_kept(self, tenancy, cases, tenant):
        canaries = [Canary(plain=True), Canary(plain=True)]
        spec = Spec(tenant, tenant.namespace, "last-applied")
        for canary in canaries:
            spec.apply([resource(self.secret(tenant.namespace, "last-applied", canary))],
                       serviceAccountName=DEPLOYER)
            spec.wait("True")
        told = Told(tenancy, tenant.namespace)
        assert not told.of(canaries), told.quote(canaries)

    def test_a_reference_to_it_is_secret(self, tenancy, cases, tenant):
        """The live Secret has it; another object gets it."""
        canary, namespace = Canary(plain=True), tenant.namespace
        made = self.secret(namespace, "by-hand", canary)
        tenancy.cluster.api.create(f"/api/v1/namespaces/{namespace}/secrets", made).must()
        del made["metadata"]["annotations"]
        first = resource(made)
        path = f"$kusion_path.{first['id']}.metadata.annotations[{self.ANNOTATION}]"
        spec = Spec(tenant, namespace, "by-hand").apply(
            [first, config_map("by-hand", namespace, {"v": path})], serviceAccountName=DEPLOYER)
        spec.wait("True")
        found = tenancy.cluster.get_json("configmap", "by-hand", "-n", namespace)["data"]["v"]
        assert canary.data in found
        told = Told(tenancy, namespace)
        assert not told.of([canary]), told.quote([canary])

    def test_no_digest_tells_what_a_short_secret_is(self, tenancy, cases, tenant):
        """A digest without a key of what is in the operator's Secrets, whole or in parts, can be
        compared with those of all values that a PIN can have."""
        need_objects()
        pin = base64.b64encode(b"4711").decode()
        spec = Spec(tenant, tenant.namespace, "pin").apply(
            [resource(refusals.object_of("v1", "Secret", tenant.namespace, name="pin",
                                         data={"p": pin}))], serviceAccountName=DEPLOYER)
        spec.wait("True")
        secrets = tenancy.cluster.get_json("secrets", "-n", OWN)["items"]
        seen = [one["metadata"] for one in secrets]  # whose names may be listed, and are logged
        kept = json.dumps([Told(tenancy, tenant.namespace).kept, seen])
        parts = [base64.b64decode(part) for one in secrets for part in one.get("data", {}).values()]
        opened = [gzip.decompress(part) for part in parts if part.startswith(GZIP)]
        assert any(pin.encode() in one for one in opened), "the Secret of State is not where it was"
        known = [*parts, *opened, pin.encode(), b"4711"]
        found = [one for one in known if hashlib.sha256(one).hexdigest()[:12] in kept]
        assert not found, found
