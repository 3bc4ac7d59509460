"""What kubectl made, and what people change with it: fields that leave a Spec go, and what is added to
an object of a Spec goes, as with Flux. What others have stays."""

import json
import time

import pytest

from kusion_e2e.canary import Canary
from kusion_e2e.cluster import tool
from kusion_e2e.kinds import create, new_release, path_of
from kusion_e2e.long import sampled, takes_long
from kusion_e2e.specs import Spec, resource
from kusion_e2e.wait import eventually

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
OWN = "kusion-operator-"


def deployment(namespace, env=("A",), labels=None, **fields):
    """Of no Pods, so that it is healthy at once."""
    container = {"name": "c", "image": "busybox", "env": [{"name": name, "value": "1"} for name in env]}
    return {"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": namespace, "labels": labels or {"own": "1"}},
            "spec": {"selector": {"matchLabels": {"app": "web"}},
                     "template": {"metadata": {"labels": {"app": "web"}},
                                  "spec": {"containers": [container]}}, **fields}}


class Web:
    """The Deployment, and the Spec that has it."""

    def __init__(self, cluster, namespace):
        self.cluster, self.namespace = cluster, namespace
        self.path = f"/apis/apps/v1/namespaces/{namespace}/deployments/web"
        self.spec = Spec(cluster, namespace)

    def kubectl(self, *arguments, **more):
        return self.cluster.kubectl("-n", self.namespace, *arguments, **more)

    def apply_with_kubectl(self, attributes, *how):
        self.kubectl("apply", *how, "-f", "-", input=json.dumps(attributes))

    def apply(self, attributes, **fields):
        self.spec.apply([resource(attributes)], wait=False, interval="1s", **fields)
        return self

    def ready(self):
        return self.spec.wait("True")["message"]

    def get(self):
        return self.cluster.api.get(self.path).must().object

    def labels(self):
        return {key: value for key, value in self.get()["metadata"]["labels"].items()
                if key != "api.kusion.io/owner"}

    def env(self):
        return [one["name"] for one in self.get()["spec"]["template"]["spec"]["containers"][0]["env"]]

    def managers(self):
        return {(one["manager"], one["operation"]) for one in self.get()["metadata"]["managedFields"]
                if not one.get("subresource")}

    def preview(self, resource_id):
        """The result of one resource in a Preview, without the values."""
        made = create(self.cluster, self.namespace,
                      new_release(f"look-{len(self.spec.releases())}", operation="Preview",
                                  specRef={"name": "spec"})).must().object
        path = path_of("Release", self.namespace, made["metadata"]["name"])

        def ended():
            status = self.cluster.api.get(path).must().object.get("status", {})
            assert status.get("phase") in ("succeeded", "failed"), status
            return status

        return next(one for one in eventually(ended)["results"] if one["id"] == resource_id)


@pytest.fixture
def web(controlled, tenant):
    made = Web(controlled, tenant)
    yield made
    made.spec.delete()


HOW = {"client-side": (), "server-side": ("--server-side",)}
WEB = "apps/v1:Deployment:{}:web"


@pytest.mark.parametrize("how", [None, *HOW], ids=["control", *HOW])
def test_fields_that_leave_the_spec_go(web, how):
    """Finding 2: adopted from `kubectl apply`, then taken out of the Spec. Control: never touched by
    kubectl."""
    first = deployment(web.namespace, env=("A", "B"), labels={"own": "1", "old": "1"})
    if how:
        web.apply_with_kubectl(first, *HOW[how])
    web.apply(first).ready()
    assert web.env() == ["A", "B"]
    assert LAST_APPLIED not in web.get()["metadata"]["annotations"]
    assert not [name for name, _ in web.managers() if name.startswith("kubectl")]
    web.apply(deployment(web.namespace))
    assert web.ready() == "revision 2: 1 configured", json.dumps([one["status"] for one in web.spec.releases()])
    assert (web.env(), web.labels()) == (["A"], {"own": "1"})


@pytest.mark.parametrize("how", HOW)
def test_fields_that_the_spec_does_not_have_go_on_adoption(web, how):
    first = deployment(web.namespace, env=("A", "B"), labels={"own": "1", "old": "1"}, replicas=3,
                       minReadySeconds=7)
    web.apply_with_kubectl(first, *HOW[how])
    web.apply(deployment(web.namespace), suspend=True)
    seen = web.preview(WEB.format(web.namespace))
    gone = {one["path"] for one in seen["fields"] if "to" not in one}
    assert seen["action"] == "adopt", seen
    assert any("old" in path for path in gone), seen
    assert any("minReadySeconds" in path for path in gone), seen
    # Defaults that kubectl's manager has stay as they are; `replicas` has one, too.
    assert not any("strategy" in one["path"] or "Policy" in one["path"] for one in seen["fields"])
    assert [(one["from"], one["to"]) for one in seen["fields"] if one["path"].endswith("replicas")] == [
        ("3", "1")], seen
    assert web.get()["spec"]["replicas"] == 3  # a Preview changes nothing
    web.apply(deployment(web.namespace)).ready()
    now = web.get()["spec"]
    assert (web.env(), web.labels(), now["replicas"]) == (["A"], {"own": "1"}, 1)
    assert "minReadySeconds" not in now


def edit(expression):
    """kubectl edit, with an editor that puts this in a line of its own."""
    return "edit", f"sed -i '{expression}'"


def edits(web, arguments):
    if arguments[0] != "edit":
        web.kubectl(*arguments)
        return
    web.cluster.run("env", f"KUBE_EDITOR={arguments[1]}", tool("kubectl"), "--kubeconfig",
                    web.cluster.kubeconfig, "-n", web.namespace, "edit", "deployment", "web")


def path(*keys):
    def value(found):
        for key in keys:
            found = found[key] if isinstance(key, int) else (found or {}).get(key)
        return found
    return value


TEMPLATE = ("spec", "template", "spec", "containers", 0)
RESTARTED = path("spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt")
NEW = path("metadata", "labels", "new")
NOTE = path("metadata", "annotations", "new")
ENV = path(*TEMPLATE, "env")
PATCH = '{"spec": {"minReadySeconds": 9}}'
MERGE = '{"metadata": {"labels": {"new": "1"}}}'

# What is typed; the field; and whether it is undone. Flux does the same, but for the rows that say so.
ROWS = {
    "label": (["label", "deployment/web", "new=1"], NEW, True),
    "label, ours": (["label", "--overwrite", "deployment/web", "own=2"],
                    path("metadata", "labels", "own"), True),
    "annotate": (["annotate", "deployment/web", "new=1"], NOTE, True),
    "annotate, for the operator": (["annotate", "deployment/web", "api.kusion.io/force=enabled"],
                                   path("metadata", "annotations", "api.kusion.io/force"), False),
    "set env": (["set", "env", "deployment/web", "EXTRA=1"], ENV, True),
    "set image": (["set", "image", "deployment/web", "c=nginx"], path(*TEMPLATE, "image"), True),
    "set resources": (["set", "resources", "deployment/web", "--limits=cpu=1"],
                      path(*TEMPLATE, "resources"), True),
    "edit": (edit("s/^  labels:/  labels:\\n    new: \"1\"/"), NEW, True),
    "patch": (["patch", "deployment", "web", "-p", PATCH], path("spec", "minReadySeconds"), True),
    "patch, JSON": (["patch", "deployment", "web", "--type=json", "-p",
                     '[{"op": "add", "path": "/spec/paused", "value": true}]'],
                    path("spec", "paused"), True),
    "scale, the Spec has no replicas": (["scale", "deployment/web", "--replicas=2"],
                                        path("spec", "replicas"), False),
    "another field manager": (["label", "--field-manager=incident", "deployment/web", "new=1"], NEW,
                              False),
    # Flux undoes it, which restarts all Pods once more.
    "rollout restart": (["rollout", "restart", "deployment/web"], RESTARTED, False),
    "a patch of the status": (["patch", "deployment", "web", "--subresource=status", "-p",
                               '{"status": {"collisionCount": 3}}'],
                              path("status", "collisionCount"), False),
}


@pytest.mark.parametrize("row", ROWS)
@sampled
def test_what_people_change(web, row):
    arguments, field, is_undone = ROWS[row]
    web.apply(deployment(web.namespace)).ready()
    before = field(web.get())
    web.spec.apply([resource(deployment(web.namespace))], wait=False, interval="1h", driftDetection={"mode": "warn"})
    web.ready()
    edits(web, arguments)
    changed = field(web.get())
    assert changed != before
    seen = web.preview(WEB.format(web.namespace))
    assert seen["action"] == ("update" if is_undone else "unchanged"), seen
    # The next check undoes what is to be undone, this label at least.
    web.kubectl("label", "deployment/web", "mark=1")
    web.apply(deployment(web.namespace))
    eventually(lambda: "mark" not in web.get()["metadata"]["labels"])
    web.ready()
    assert field(web.get()) == (before if is_undone else changed)


def test_scale_of_replicas_that_the_spec_has(web):
    web.apply(deployment(web.namespace, replicas=1)).ready()
    web.kubectl("scale", "deployment/web", "--replicas=2")
    eventually(lambda: web.get()["spec"]["replicas"] == 1)


def scale(web, replicas):
    web.cluster.api.patch(f"{web.path}/scale?fieldManager=horizontal-pod-autoscaler",
                          {"spec": {"replicas": replicas}}).must()


def wait_for_a_fight(web):
    def fights():
        if web.get()["spec"]["replicas"] == 1:
            scale(web, 4)
        drifted = web.spec.condition("Drifted")
        assert drifted, web.spec.get()["status"].get("driftCorrections")
        return drifted

    return eventually(fights, every=0.5)


def test_an_autoscaler_that_writes_what_the_spec_sets_is_named(web):
    """F20."""
    web.spec.apply([resource(deployment(web.namespace, replicas=1))], wait=False, interval="3s")
    web.ready()
    drifted = wait_for_a_fight(web)
    assert (drifted["status"], drifted["reason"]) == ("True", "FieldFight")
    assert f"{WEB.format(web.namespace)}: spec.replicas, changed by horizontal-pod-autoscaler (scale)" in \
        drifted["message"], drifted
    assert web.spec.condition()["status"] == "True"
    web.spec.apply([resource(deployment(web.namespace))], wait=False, interval="3s")
    web.ready()
    assert not web.spec.condition("Drifted")  # of another generation


@takes_long
def test_an_autoscaler_that_stops_is_named_no_more(web):
    web.spec.apply([resource(deployment(web.namespace, replicas=1))], wait=False, interval="3s")
    web.ready()
    wait_for_a_fight(web)
    eventually(lambda: not web.spec.condition("Drifted"), 240)


@pytest.mark.parametrize("how", [[], ["--server-side", "--force-conflicts"]], ids=list(HOW))
def test_kubectl_apply_of_an_object_of_a_spec(web, how):
    web.apply(deployment(web.namespace)).ready()
    web.apply_with_kubectl(deployment(web.namespace, env=("A", "B"), labels={"own": "1", "new": "1"}),
                           *how)
    eventually(lambda: (web.env(), web.labels()) == (["A"], {"own": "1"}))
    eventually(lambda: web.ready().endswith("1 configured"))


def test_what_others_have_stays(web):
    """An autoscaler's replicas, a sidecar, a label that another controller applied: on adoption, and when
    the Spec changes. (What tools had is taken over on adoption: test_policies.py.)"""
    web.apply_with_kubectl(deployment(web.namespace, env=("A", "B"), replicas=1))
    web.cluster.api.patch(f"{web.path}/scale?fieldManager=horizontal-pod-autoscaler",
                          {"spec": {"replicas": 4}}).must()
    sidecar = {"metadata": {"labels": {"mesh": "1"}},
               "spec": {"template": {"spec": {"containers": [{"name": "proxy", "image": "mesh"}]}}}}
    web.cluster.api.patch(f"{web.path}?fieldManager=mesh-injector", sidecar,
                          "application/strategic-merge-patch+json").must()
    web.cluster.api.apply(web.path, json.dumps({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "labels": {"theirs": "1"}},
    }), manager="another-controller").must()

    def kept():
        now = web.get()
        containers = {one["name"]: one for one in now["spec"]["template"]["spec"]["containers"]}
        assert now["spec"]["replicas"] == 4 and list(sorted(containers)) == ["c", "proxy"]
        assert web.labels() == {"own": "1", "mesh": "1", "theirs": "1"}
        return [one["name"] for one in containers["c"]["env"]]

    web.apply(deployment(web.namespace, env=("A", "C"))).ready()
    assert kept() == ["A", "C"]
    web.apply(deployment(web.namespace, env=("C",))).ready()
    assert kept() == ["C"]
    assert {("mesh-injector", "Update"), ("another-controller", "Apply")} <= web.managers()


def test_what_another_changed_and_put_back_is_ours_again(web):
    """Else its next change of the field would not be noticed."""
    web.apply(deployment(web.namespace)).ready()
    for value in "theirs", "1":
        web.cluster.api.patch(f"{web.path}?fieldManager=robot", {"metadata": {"labels": {"own": value}}}).must()
    eventually(lambda: web.labels() == {"own": "1"})

    def is_ours():
        entry = next(one for one in web.get()["metadata"]["managedFields"]
                     if one["operation"] == "Apply" and one["manager"].startswith(OWN))
        return "f:own" in entry["fieldsV1"]["f:metadata"]["f:labels"]

    eventually(is_ours)
    web.cluster.api.patch(f"{web.path}?fieldManager=robot", {"metadata": {"labels": {"own": "theirs"}}}).must()
    eventually(lambda: web.labels() == {"own": "1"})


def test_what_people_say_to_the_operator_stays(web):
    """F4: control annotations and finalizers, through checks that undo what was set beside them."""
    web.apply_with_kubectl(deployment(web.namespace))
    web.kubectl("annotate", "deployment/web", "api.kusion.io/force=disabled", "note=1")
    web.apply(deployment(web.namespace)).ready()
    web.kubectl("annotate", "deployment/web", "api.kusion.io/deletion-guard=disabled", "note=1")
    web.kubectl("patch", "deployment", "web", "--type=merge", "-p",
                '{"metadata": {"finalizers": ["example.com/backup"], "labels": {"mark": "1"}}}')
    eventually(lambda: "mark" not in web.labels() and "note" not in web.get()["metadata"]["annotations"])
    now = web.get()["metadata"]
    assert now["finalizers"] == ["example.com/backup"]
    assert {"api.kusion.io/force": "disabled", "api.kusion.io/deletion-guard": "disabled"}.items() <= \
        now["annotations"].items()
    told = eventually(lambda: web.spec.get()["status"].get("driftCorrections"))["changes"]
    assert not any("api.kusion.io" in field or "finalizers" in field for one in told for field in one["fields"]), told
    # What the Spec sets itself is the Spec's.
    wanted = deployment(web.namespace)
    wanted["metadata"]["annotations"] = {"api.kusion.io/force": "enabled"}
    web.apply(wanted).ready()
    assert web.get()["metadata"]["annotations"]["api.kusion.io/force"] == "enabled"
    web.kubectl("patch", "deployment", "web", "--type=merge", "-p", '{"metadata": {"finalizers": null}}')


def test_an_object_that_another_spec_had(web):
    """The first Spec's manager does not keep what the second one does not have."""
    other = Spec(web.cluster, web.namespace, "first")
    other.apply([resource(deployment(web.namespace, env=("A", "B")))], wait=False,
                deletionPolicy="Orphan").wait("True")
    other.delete()
    web.kubectl("label", "deployment/web", "api.kusion.io/owner-")
    web.kubectl("annotate", "deployment/web", "api.kusion.io/spec-")
    web.apply(deployment(web.namespace)).ready()
    assert web.env() == ["A"]
    assert len([name for name, _ in web.managers() if name.startswith(OWN)]) == 1


def settled_version(web):
    """When the controllers of Deployments have said what they have to say."""
    seen = []

    def stays():
        seen.append(web.get()["metadata"]["resourceVersion"])
        time.sleep(1)
        return len(seen) > 2 and len(set(seen[-3:])) == 1

    eventually(stays)
    return seen[-1]


def test_no_request_more_without_such_managers(web):
    """A no-op writes nothing, and the object stays at its version."""
    web.apply_with_kubectl(deployment(web.namespace))
    web.apply(deployment(web.namespace)).ready()
    version = settled_version(web)
    web.apply(deployment(web.namespace), retryInterval="7s").ready()
    assert web.get()["metadata"]["resourceVersion"] == version


def test_a_secret_loses_a_field_unseen(controlled, tenant):
    canary = Canary(plain=True)
    web = Web(controlled, tenant)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": tenant}}
    web.apply_with_kubectl({**secret, "data": {"a": "YQ==", "b": canary.data}})
    web.apply({**secret, "data": {"a": "YQ=="}}, suspend=True)
    seen = web.preview(f"v1:Secret:{tenant}:s")
    assert {"path": "data", "from": "(sensitive)", "to": "(sensitive)"} in seen["fields"], seen
    web.apply({**secret, "data": {"a": "YQ=="}}).ready()
    now = controlled.api.get(f"/api/v1/namespaces/{tenant}/secrets/s").must().object
    assert now["data"] == {"a": "YQ=="} and LAST_APPLIED not in now["metadata"].get("annotations", {})
    assert not canary.is_in(json.dumps(web.spec.releases()) + json.dumps(web.spec.get()["status"]))
    web.spec.delete()
