"""Accidents that other tools had, one test for each: what happened there, and that it does not happen here.
The number is that of the tool's issue. A test that is named so stays, whatever else tests the same."""

import base64
import copy
import gzip
import json
import os

import pytest

from kusion_e2e.controller import Controller
from kusion_e2e.kinds import create, new_release, path_of
from kusion_e2e.long import takes_long
from kusion_e2e.specs import Spec, config_map, held, resource
from kusion_e2e.state_backend import need_objects
from kusion_e2e.wait import eventually

GROUP = "admissionregistration.k8s.io/v1"
POLICIES = f"/apis/{GROUP}/validatingadmissionpolicies"
BINDINGS = f"/apis/{GROUP}/validatingadmissionpolicybindings"


@pytest.fixture(scope="module")
def at_work(state_namespace):
    """With as many Specs at once as kustomize-controller#1111 had."""
    controller = Controller(state_namespace, flags=["--concurrent", "20"]).wait_leading()
    yield controller
    assert controller.stop() == 0


class Team:
    """A namespace with a Spec."""

    def __init__(self, cluster, namespace):
        self.cluster, self.namespace = cluster, namespace
        self.spec = Spec(cluster, namespace)

    def path(self, name, plural="configmaps", group="/api/v1"):
        return f"{group}/namespaces/{self.namespace}/{plural}/{name}"

    def get(self, *place, **more):
        answer = self.cluster.api.get(self.path(*place, **more))
        return answer.object if answer.ok else None

    def config(self, name, depends_on=(), **data):
        return config_map(name, self.namespace, data or {"a": "b"}, depends_on=depends_on)

    def apply(self, *resources, **fields):
        self.spec.apply(list(resources), **{"retryInterval": "1s", **fields})
        return self


@pytest.fixture
def team(controlled, tenant):
    return Team(controlled, tenant)


def admission(cluster, namespace, operations, plural, **validation):
    """A policy for core objects of the namespace. Gives what ends it."""
    cluster.api.create(POLICIES, {
        "apiVersion": GROUP, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": namespace},
        "spec": {"failurePolicy": "Fail",
                 "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"],
                                                         "operations": operations, "resources": [plural]}]},
                 "validations": [validation]}}).must()
    cluster.api.create(BINDINGS, {
        "apiVersion": GROUP, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": namespace},
        "spec": {"policyName": namespace, "validationActions": ["Deny"],
                 "matchResources": {"namespaceSelector": {
                     "matchLabels": {"kubernetes.io/metadata.name": namespace}}}}}).must()

    def end():
        cluster.api.delete(f"{BINDINGS}/{namespace}")
        cluster.api.delete(f"{POLICIES}/{namespace}")

    return end


@pytest.fixture
def refusal(controlled, tenant):
    """Deletions of the ConfigMap `stays` are refused; ends when it is called."""
    end = admission(controlled, tenant, ["DELETE"], "configmaps",
                    expression="oldObject.metadata.name != 'stays'", message="it is not to be deleted")
    path = f"/api/v1/namespaces/{tenant}/configmaps/stays"
    probe = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "stays", "namespace": tenant}}
    controlled.api.create(path.rpartition("/")[0], probe).must()
    eventually(lambda: not controlled.api.delete(f"{path}?dryRun=All").ok)
    yield end
    end()


@pytest.fixture
def quoting(controlled, tenant):
    """PodTemplates whose container is called `quoted` are refused, by a message with its first variable."""
    container = "object.template.spec.containers[0]"
    end = admission(controlled, tenant, ["CREATE", "UPDATE"], "podtemplates",
                    expression=f"{container}.name != 'quoted'",
                    messageExpression=f"'it has ' + {container}.env[0].value")
    probe = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "probe", "namespace": tenant},
             "template": {"spec": {"containers": [{"name": "quoted", "image": "i",
                                                   "env": [{"name": "P", "value": "a probe"}]}]}}}

    def is_quoted():
        answer = controlled.api.create(f"/api/v1/namespaces/{tenant}/podtemplates?dryRun=All", probe)
        return not answer.ok and "it has a probe" in answer.message

    eventually(is_quoted)
    yield
    end()


def deployment(namespace, **fields):
    return resource({"apiVersion": "apps/v1", "kind": "Deployment",
                     "metadata": {"name": "web", "namespace": namespace},
                     "spec": {"selector": {"matchLabels": {"app": "web"}},
                              "template": {"metadata": {"labels": {"app": "web"}},
                                           "spec": {"containers": [{"name": "c", "image": "i"}]}}, **fields}})


def test_kustomize_controller_734_an_invalid_change_with_force_deletes_nothing(team):
    """Invalid and Conflict were taken for "immutable", and the object was deleted."""
    team.apply(deployment(team.namespace), force=True).spec.wait("True")
    before = team.get("web", "deployments", "/apis/apps/v1")
    for wrong in ({"replicas": -1}, {"strategy": {"type": "Nonsense"}}):
        ready = team.apply(deployment(team.namespace, **wrong), force=True).spec.wait("False")
        now = team.get("web", "deployments", "/apis/apps/v1")
        assert now and now["metadata"]["uid"] == before["metadata"]["uid"], ready
        assert ready["reason"] == "Invalid", ready
    team.spec.delete()


@pytest.mark.parametrize("when", ["at once", "when b is there", "when a is being deleted"])
def test_kubevela_7278_there_and_back_quickly_deletes_nothing(team, when):
    """A, then B, then A again: everything was deleted while the status said healthy."""
    team.apply(team.config("a")).spec.wait("True")

    def finalizers(names):
        team.cluster.api.patch(team.path("a"), {"metadata": {"finalizers": names}}).must()

    for _ in range(5):
        if when == "when a is being deleted":
            finalizers(["e2e.kusion.io/held"])
        team.apply(team.config("b"))
        if when == "when b is there":
            eventually(lambda: team.get("b"))
        if when == "when a is being deleted":
            eventually(lambda: "deletionTimestamp" in team.get("a")["metadata"])
        team.apply(team.config("a"))
        if when == "when a is being deleted":
            eventually(lambda: "it is being deleted" in (team.spec.condition() or {}).get("message", ""))
            finalizers(None)
            team.spec.wait("True")
            assert "deletionTimestamp" not in team.get("a")["metadata"]
    team.spec.wait("True")
    assert team.get("a") and team.get("b") is None
    assert team.spec.state() == {f"v1:ConfigMap:{team.namespace}:a": team.get("a")["metadata"]["uid"]}
    team.spec.delete()


def test_pulumi_kubernetes_operator_1233_a_failed_destroy_keeps_the_finalizer(team, refusal):
    """The finalizer was removed, and what was left was known to nobody."""
    team.apply(team.config("stays"), team.config("goes")).spec.wait("True")
    team.cluster.api.delete(team.spec.path).must()
    eventually(lambda: team.get("goes") is None)

    def told():
        ready = team.spec.condition()
        assert ready and "it is not to be deleted" in ready["message"], ready
        return True

    team.spec.generation = team.spec.get()["metadata"]["generation"]
    eventually(told)
    assert team.spec.get()["metadata"]["finalizers"] and team.get("stays")
    refusal()
    eventually(lambda: team.spec.get() is None and team.get("stays") is None)


def test_kustomize_controller_1664_a_failed_prune_stays_in_the_inventory(team, refusal):
    """It leaked out, and was never deleted."""
    team.apply(team.config("stays"), team.config("a")).spec.wait("True")
    team.apply(team.config("a"), interval="1s").spec.wait("False")
    stays = f"v1:ConfigMap:{team.namespace}:stays"
    assert stays in team.spec.state()
    team.apply(team.config("a", a="2"), interval="1s").spec.wait("False")  # after another change as well
    assert stays in team.spec.state()
    refusal()
    team.spec.wait("True")
    assert team.get("stays") is None and stays not in team.spec.state()
    team.spec.delete()


def test_kro_1316_tofu_controller_720_a_deletion_looks_up_no_references(team):
    """It evaluated references to things that had gone, and hung for ever."""
    first = team.config("first")
    second = team.config("second", a=f"$kusion_path.{first['id']}.data.a")
    third = team.config("third", a=f"$kusion_path.{second['id']}.data.a")
    team.apply(first, second, third).spec.wait("True")
    for name in ("first", "second"):
        team.cluster.api.delete(team.path(name)).must()
    team.spec.delete()
    assert team.get("third") is None


def test_tofu_controller_a_standing_approval_covers_no_other_plan(team):
    """Plan ids were made from the revision: an approval covered a later, different plan."""
    team.apply(team.config("a"), approval={"mode": "Manual"})

    def digest():
        ready = team.spec.condition()
        plan = team.spec.get()["status"].get("plan") or {}
        assert ready and ready["reason"] == "AwaitingApproval" and plan.get("digest"), ready
        return plan["digest"]

    first = eventually(digest)
    approval = {"mode": "Manual", "approvedPlan": first}
    team.apply(team.config("a", a="another"), approval=approval)  # approved, and another plan by now
    assert eventually(digest) != first
    assert team.get("a") is None
    team.apply(team.config("a"), approval=approval).spec.wait("True")
    team.spec.delete()


def test_argo_cd_17314_an_unhealthy_apply_does_not_block_the_fix(team):
    """A sync that waited for health had to end before the next one began."""
    team.apply(held(team.namespace, "web"), timeout="5m")
    eventually(lambda: team.get("web", "deployments", "/apis/apps/v1"))
    eventually(lambda: (team.spec.condition() or {}).get("reason") == "Progressing")
    team.apply(team.config("fix"), timeout="5m").spec.wait("True")
    assert team.get("fix") and team.get("web", "deployments", "/apis/apps/v1") is None
    team.spec.delete()


@pytest.mark.parametrize("is_there", [False, True], ids=["one that is made", "one that is changed"])
def test_kustomize_controller_1231_one_bad_resource_does_not_hold_back_the_others(team, is_there):
    """It is refused when it is made, and one that is there when it is planned: by then, the others are not begun."""
    bad = team.config("bad")
    if is_there:
        team.apply(bad).spec.wait("True")
    bad["attributes"]["data"] = {"no key": "x"}
    service = resource({"apiVersion": "v1", "kind": "Service",  # a kind that comes after ConfigMaps
                        "metadata": {"name": "good", "namespace": team.namespace}, "spec": {"ports": [{"port": 80}]}})
    ready = team.apply(bad, service, *[team.config(f"good-{i}") for i in range(30)]).spec.wait("False")
    assert bad["id"] in ready["message"]
    assert all(team.get(f"good-{i}") for i in range(30)) and team.get("good", "services")
    team.spec.delete()


def test_tofu_controller_271_a_plan_larger_than_an_object_is_kept(team):
    """A plan of more than 1 MiB could not be stored. Here it is of twice 900 KiB, which cannot be packed."""
    need_objects()
    def large():
        return [team.config(f"c{i}", a=os.urandom(75 << 10).hex()) for i in range(6)]

    team.apply(*large()).spec.wait("True")
    wanted = large()
    team.apply(*wanted, approval={"mode": "Manual"})

    def digest():
        plan = team.spec.get()["status"].get("plan") or {}
        ready = team.spec.condition()
        assert ready and ready["reason"] == "AwaitingApproval", ready
        assert plan.get("update") == 6 and plan["digest"], plan
        return plan["digest"]

    approved = {"approvedPlan": eventually(digest), "approvedUnseen": True}  # a Release does not show all of it
    release = team.spec.releases()[-1]
    assert release["status"].get("planRef"), release["status"]  # where all of it is
    path = path_of("Release", team.namespace, release["metadata"]["name"])
    team.cluster.api.patch(path, {"spec": approved}).must()
    team.spec.wait("True")
    assert all(team.get(f"c{i}")["data"] == wanted[i]["attributes"]["data"] for i in range(6))
    team.spec.delete()


def test_tofu_controller_712_no_sensitive_value_is_in_a_status(team, quoting):
    canary = "c4nary-712"
    secret = resource({"apiVersion": "v1", "kind": "Secret",
                       "metadata": {"name": "s", "namespace": team.namespace}, "stringData": {"p": canary}})
    # what takes it by a reference is as secret
    pod = resource({"apiVersion": "v1", "kind": "PodTemplate",
                    "metadata": {"name": "t", "namespace": team.namespace},
                    "template": {"spec": {"containers": [{"name": "c", "image": "i", "env": [
                        {"name": "P", "value": f"$kusion_path.{secret['id']}.data.p"}]}]}}})
    team.apply(secret, pod).spec.wait("True")
    secret["attributes"]["stringData"]["p"] = canary + "-again"
    made = create(team.cluster, team.namespace, new_release(
        "look", operation="Preview", specRef={"name": "spec"}, resources=[secret, pod])).must().object
    path = path_of("Release", team.namespace, made["metadata"]["name"])
    status = eventually(lambda: team.cluster.api.get(path).must().object.get("status", {}).get("results"))
    shown = [status]
    for name in ("t", "made"):  # a refusal quotes it: in a dry-run, and of one that is made
        wrong = copy.deepcopy(pod)
        wrong["attributes"]["template"]["spec"]["containers"][0]["name"] = "quoted"
        wrong["attributes"]["metadata"]["name"] = name
        wrong["id"] = wrong["id"].rpartition(":")[0] + f":{name}"
        ready = team.apply(secret, wrong).spec.wait("False")
        assert "it has (sensitive value)" in ready["message"], ready
        shown += [team.spec.get()["status"], team.spec.releases()[-1]["status"]]
    for text in map(json.dumps, (*shown, team.spec.events())):
        assert canary not in text and "YzRuYXJ5" not in text, text
    team.spec.delete()


def test_argo_cd_22797_a_removed_field_goes_and_is_shown(team):
    """It stayed in the cluster, with no diff shown: another field manager had it, too."""
    body = config_map("a", team.namespace, {"kept": "1", "removed": "1"})["attributes"]
    team.cluster.kubectl("apply", "-f", "-", input=json.dumps(body))
    team.cluster.api.apply(team.path("a"), json.dumps(body), "argocd-controller").must()
    team.apply(team.config("a", kept="1", removed="1"), interval="1h").spec.wait("True")
    made = create(team.cluster, team.namespace, new_release(
        "look", operation="Preview", specRef={"name": "spec"}, resources=[team.config("a", kept="1")])).must().object
    path = path_of("Release", team.namespace, made["metadata"]["name"])
    shown = eventually(lambda: team.cluster.api.get(path).must().object.get("status", {}).get("results"))
    assert [one["path"] for one in shown[0].get("fields", [])] == ["data.removed"], shown
    team.apply(team.config("a", kept="1")).spec.wait("True")
    assert team.get("a")["data"] == {"kept": "1"}
    team.spec.delete()


def test_argo_cd_11074_defaults_are_no_drift(team):
    """Defaulted fields, and quantities and nulls in another form than the API server's, were reported as
    drift for ever."""
    web = deployment(team.namespace, minReadySeconds=None)
    web["attributes"]["spec"]["template"]["spec"]["containers"] = [{
        "name": "c", "image": "i", "ports": [{"containerPort": 80}], "env": [],
        "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}},
        "readinessProbe": {"httpGet": {"port": 80}}}]
    service = resource({"apiVersion": "v1", "kind": "Service",
                        "metadata": {"name": "web", "namespace": team.namespace, "labels": None},
                        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}})
    team.apply(web, service, interval="1s", wait=False).spec.wait("True")

    def written():
        return [[(one["metadata"]["generation"] if plural == "deployments" else 0,
                  [entry["time"] for entry in one["metadata"]["managedFields"] if not entry.get("subresource")])]
                for plural, group in (("deployments", "/apis/apps/v1"), ("services", "/api/v1"))
                for one in [team.get("web", plural, group)]]

    before, releases = written(), len(team.spec.releases())
    for check in range(5):
        stamp = f"check-{check}"
        team.cluster.api.patch(team.spec.path, {"metadata": {"annotations": {
            "api.kusion.io/reconcile-requested-at": stamp}}}).must()
        eventually(lambda: team.spec.get()["status"].get("lastHandledReconcileAt") == stamp)
    assert written() == before and len(team.spec.releases()) == releases
    assert not team.spec.get()["status"].get("driftCorrections")
    team.spec.delete()


def peak(process):
    """KiB that it ever had in memory."""
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def large_source(namespace):
    """9 MiB of resources, which are to be left alone, in a ConfigMap: the API server is not measured here."""
    resources = [config_map(f"c-{number}", namespace, {"a": f"{number} " + "x" * (300 << 10)}) for number in range(30)]
    for one in resources:
        one["attributes"]["metadata"]["annotations"] = {"api.kusion.io/reconcile": "disabled"}
    packed = gzip.compress(json.dumps({"resources": resources}).encode())
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large", "namespace": namespace},
            "binaryData": {"all": base64.b64encode(packed).decode()}}


@takes_long
def test_kustomize_controller_1111_memory_at_a_concurrency_of_20(controlled, at_work, tenant):
    """It was 8 GB. Here 20 Specs of 9 MiB are under way at once, and wait: of the 64 MiB of --operation-memory some
    wait, others are set aside. Without it, they take 250 MiB."""
    with open(f"/proc/{at_work.process.pid}/maps", encoding="utf-8") as maps:
        if "libasan" in maps.read():
            pytest.skip("the build under sanitizers keeps what was freed")
    controlled.api.create(f"/api/v1/namespaces/{tenant}/configmaps", large_source(tenant)).must()
    specs = [Spec(controlled, tenant, name=f"spec-{number}") for number in range(20)]
    for spec in specs:
        spec.apply([held(tenant, spec.name)], timeout="10m",
                   resourcesFrom=[{"kind": "ConfigMap", "name": "large", "key": "all"}])
    path = f"/apis/apps/v1/namespaces/{tenant}/deployments"
    eventually(lambda: len(controlled.api.get(path).must().object["items"]) == len(specs), 400)
    assert peak(at_work.process) < 160 << 10
    pods = f"/api/v1/namespaces/{tenant}/pods"
    eventually(lambda: len(controlled.api.get(pods).must().object["items"]) == len(specs))
    controlled.kubectl("label", "pods", "-n", tenant, "-l", "kwok-hold", "kwok-hold-")
    for spec in specs:
        spec.wait("True", seconds=400)
    assert peak(at_work.process) < 160 << 10
    for spec in specs:
        controlled.api.delete(spec.path).must()
    for spec in specs:
        eventually(lambda path=spec.path: controlled.api.get(path).code == 404, 300)
