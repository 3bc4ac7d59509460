"""One digest: a plan has the same one however often and however deeply it is made, as long as what is
done stays the same; and another one for each small change of that."""

import copy
import json

import pytest

from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.wait import eventually

TIMES = 10
AT_ONCE = 6  # Previews: the operator deletes the oldest of a Spec when there are many
POLICIES = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolic"
SELECTOR = {"matchLabels": {"app": "x"}}


def thing(namespace, api, kind, name, spec=None, **fields):
    body = {"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": namespace}, **fields}
    return resource({**body, "spec": spec} if spec else body)


def pod(**container):
    return {"metadata": {"labels": {"app": "x"}},
            "spec": {"containers": [{"name": "c", "image": "one", "args": ["a", "b"],
                                     "resources": {"limits": {"cpu": 0.5}},
                                     "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                                     **container}]}}


def all_kinds(namespace):
    def make(api, kind, spec=None, **fields):
        return thing(namespace, api, kind, kind.lower(), spec, **fields)

    job_pod = pod()
    job_pod["spec"]["restartPolicy"] = "Never"
    claim = {"metadata": {"name": "data"},
             "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    return {one["attributes"]["kind"]: one for one in (
        make("batch/v1", "Job", {"template": job_pod, "parallelism": 1}),
        make("v1", "Service", {"type": "NodePort", "selector": {"app": "x"}, "ports": [{"port": 80}]}),
        make("apps/v1", "StatefulSet", {"selector": SELECTOR, "template": pod(), "serviceName": "x",
                                        "replicas": 1, "volumeClaimTemplates": [claim]}),
        make("apps/v1", "Deployment", {"selector": SELECTOR, "template": pod()}),
        make("v1", "Secret", stringData={"a": "secret", "b": "secret"}))}


def changed(kinds):
    """Something of each is changed."""
    kinds = copy.deepcopy(kinds)
    spec = {kind: one["attributes"].get("spec") for kind, one in kinds.items()}
    spec["Job"]["parallelism"] = 2
    spec["Service"]["ports"].append({"port": 81, "name": "b"})
    spec["Service"]["ports"][0]["name"] = "a"
    spec["StatefulSet"]["template"]["spec"]["containers"][0]["image"] = "two"
    spec["Deployment"]["template"]["spec"]["containers"][0] = {
        "name": "c", "image": "two", "env": [{"name": "B", "value": "2"}]}
    kinds["Secret"]["attributes"]["stringData"] = {"a": "other"}
    return kinds


class Planned(Spec):
    """A Spec that is previewed."""

    def begin(self, kinds):
        """A Preview of other resources (or their list): its path."""
        path = f"/apis/api.kusion.io/v1/namespaces/{self.namespace}/releases"
        resources = list(kinds.values() if isinstance(kinds, dict) else kinds)
        body = {"apiVersion": "api.kusion.io/v1", "kind": "Release",
                "metadata": {"generateName": "look-"},
                "spec": {"specRef": {"name": self.name}, "operation": "Preview",
                         "resources": resources}}
        return f"{path}/{self.cluster.api.create(path, body).must().object['metadata']['name']}"

    def end(self, path):
        """The status of a Preview when it is made."""
        def ended():
            status = self.cluster.api.get(path).must().object.get("status", {})
            assert status.get("phase") != "failed", status
            return status if status.get("phase") == "succeeded" else None

        return eventually(ended, every=0.03)

    def preview(self, kinds):
        return self.end(self.begin(kinds))

    def digest(self, kinds):
        return self.preview(kinds)["plan"]["digest"]

    def object_path(self, kind):
        groups = {"Job": ("apis/batch/v1", "jobs"), "Service": ("api/v1", "services"),
                  "Secret": ("api/v1", "secrets"), "StatefulSet": ("apis/apps/v1", "statefulsets"),
                  "Deployment": ("apis/apps/v1", "deployments")}
        api, plural = groups[kind]
        return f"/{api}/namespaces/{self.namespace}/{plural}/{kind.lower()}"

    def patch(self, kind, body, sub="", manager="another", type="merge-patch"):
        path = f"{self.object_path(kind)}{sub}?fieldManager={manager}"
        return self.cluster.api.patch(path, body, f"application/{type}+json").must()

    def applied(self):
        return [one for one in self.releases() if one["spec"]["operation"] == "Apply"]


def churn(spec, turn):
    """What others do to the objects all the time."""
    noise = {"metadata": {"annotations": {"example.com/turn": str(turn)},
                          "labels": {"example.com/turn": str(turn)}}}
    for kind in "Job", "Service", "StatefulSet", "Deployment", "Secret":
        spec.patch(kind, noise)
    status = {"status": {"collisionCount": turn}}
    for kind in "StatefulSet", "Deployment":
        spec.patch(kind, status, "/status", "kube-controller-manager")
    spec.patch("Deployment", {"spec": {"replicas": 2 + turn % 2}}, "/scale", "hpa")


@pytest.fixture
def sidecar(controlled, tenant):
    """Each Deployment of the tenant gets one more container, in front of the others."""
    container = ('[Object.spec.template.spec.containers{name: "sidecar", image: "s", '
                 'env: [Object.spec.template.spec.containers.env{name: "T", value: "t"}]}]')
    change = ("Object{spec: Object.spec{template: Object.spec.template{spec: "
              f"Object.spec.template.spec{{containers: {container}}}}}}}}}")
    only = {"matchLabels": {"kubernetes.io/metadata.name": tenant}}
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
            "resources": ["deployments"]}
    api = controlled.api
    api.create(f"{POLICIES}ies", {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": tenant},
        "spec": {"matchConstraints": {"namespaceSelector": only, "resourceRules": [rule]},
                 "failurePolicy": "Fail", "reinvocationPolicy": "Never",
                 "mutations": [{"patchType": "ApplyConfiguration",
                                "applyConfiguration": {"expression": change}}]}}).must()
    api.create(f"{POLICIES}ybindings", {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": tenant}, "spec": {"policyName": tenant}}).must()

    def is_injected():
        body = {**all_kinds(tenant)["Deployment"]["attributes"], "metadata": {"name": "try"}}
        answer = api.create(f"/apis/apps/v1/namespaces/{tenant}/deployments?dryRun=All", body)
        return "sidecar" in answer.text

    eventually(is_injected)
    yield
    for suffix in f"ybindings/{tenant}", f"ies/{tenant}":
        api.delete(f"{POLICIES}{suffix}")


def fields(status, kind, name=""):
    """{path: (from, to)} of an update."""
    found = next(one for one in status["results"] if f":{kind}:" in f":{one['id']}"
                 and one["id"].endswith(name))
    return {one["path"]: (one.get("from"), one.get("to")) for one in found["fields"]}


def test_a_plan_has_one_digest_however_often_and_deeply_it_is_made(controlled, tenant, sidecar):
    spec, kinds = Planned(controlled, tenant), all_kinds(tenant)
    begun = [spec.begin(kinds) for _ in range(TIMES)]
    digests = {spec.end(path)["plan"]["digest"] for path in begun}
    spec.apply(list(kinds.values()), wait=False).wait("True")
    digests |= {one["status"]["plan"]["digest"] for one in spec.applied()}
    assert len(digests) == 1, "creates: each Preview, and the Release, which tries none of them"

    previews = []
    for turn in range(TIMES):
        churn(spec, turn)
        previews.append(spec.preview(changed(kinds)))
    assert {one["action"] for one in previews[-1]["results"]} == {"update"}
    containers = "spec.template.spec.containers"
    assert fields(previews[-1], "Deployment") == {
        f"{containers}[0].image": ('"one"', '"two"'),
        f"{containers}[0].args[0]": ('"a"', None),
        f"{containers}[0].args[1]": ('"b"', None),
        f"{containers}[0].resources.limits.cpu": ('"500m"', None),
        f"{containers}[0].env[0].name": ('"A"', '"B"'),
        f"{containers}[0].env[0].value": ('"1"', '"2"'),
        f"{containers}[0].env[1].name": ('"B"', None),
        f"{containers}[0].env[1].value": ('"2"', None)}
    assert fields(previews[-1], "Job") == {"spec.parallelism": ("1", "2")}
    spec.apply(list(changed(kinds).values()), wait=False).wait("True")
    digests = {one["plan"]["digest"] for one in previews}
    assert digests == {spec.applied()[-1]["status"]["plan"]["digest"]}
    live = controlled.api.get(spec.object_path("Deployment")).must().object["spec"]
    assert live["replicas"] == 2 + (TIMES - 1) % 2, "the HPA's"
    secret = controlled.api.get(spec.object_path("Secret")).must().object["data"]
    assert list(secret) == ["a"], "what leaves a Secret's stringData goes"


def edits(kinds, namespace):
    """Small changes of the Spec: each of them alone, as (name, resources)."""
    def container(one, kind="Deployment"):
        return one[kind]["attributes"]["spec"]["template"]["spec"]["containers"][0]

    def spec(one, kind):
        return one[kind]["attributes"]["spec"]

    def edit(name, change):
        one = copy.deepcopy(kinds)
        change(one)
        return name, one

    return [
        edit("nothing", lambda one: None),
        edit("an image", lambda one: container(one).update(image="three")),
        edit("a value", lambda one: container(one)["env"][0].update(value="3")),
        edit("an empty value", lambda one: container(one)["env"].append({"name": "C", "value": ""})),
        edit("no value", lambda one: container(one)["env"].append({"name": "C"})),
        edit("one less", lambda one: container(one)["env"].pop()),
        edit("their order", lambda one: container(one, "StatefulSet")["env"].reverse()),
        edit("an argument", lambda one: container(one, "StatefulSet")["args"].append("c")),
        edit("the same field of another", lambda one: container(one, "StatefulSet").update(image="three")),
        edit("a label", lambda one: one["Job"]["attributes"]["metadata"].update(labels={"a": "b"})),
        edit("an annotation", lambda one: one["Job"]["attributes"]["metadata"].update(annotations={"a": "b"})),
        edit("a number", lambda one: spec(one, "StatefulSet").update(replicas=0)),
        edit("a number of its own", lambda one: spec(one, "Deployment").update(replicas=9)),
        edit("a port", lambda one: spec(one, "Service")["ports"][0].update(port=82)),
        edit("a port's name", lambda one: spec(one, "Service")["ports"][0].update(name="c")),
        edit("a secret", lambda one: one["Secret"]["attributes"]["stringData"].update(a="third")),
        edit("one resource less", lambda one: one.pop("Secret")),
        edit("one more", lambda one: one.update(more=config_map("more", namespace))),
    ]


def drifts(spec):
    """Small changes of the objects: one after another."""
    container = {"name": "c", "image": "drifted"}
    pods = {"spec": {"template": {"spec": {"containers": [container]}}}}
    yield "an image", spec.patch("Deployment", pods, type="strategic-merge-patch")
    yield "our label", spec.patch("Job", {"metadata": {"labels": {"api.kusion.io/owner": None}}})
    yield "a secret", spec.patch("Secret", {"data": {"a": "eA=="}})
    yield "a secret's other key", spec.patch("Secret", {"data": {"b": None}})
    yield "a selector", spec.patch("Service", {"spec": {"selector": {"app": "y"}}})
    # Another has what the change gives up, so that it stays.
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"spec": {
        "containers": [{"name": "c", "args": ["a", "b"]}]}}}}
    path = f"{spec.object_path('Deployment')}"
    yield "a field that goes is taken", spec.cluster.api.apply(path, json.dumps(body), "another").must()
    live = spec.cluster.api.get(spec.object_path("Secret")).must().object
    keep = {key: live["metadata"][key] for key in ("name", "labels", "annotations", "managedFields")}
    spec.cluster.api.delete(spec.object_path("Secret")).must()
    collection = spec.object_path("Secret").rpartition("/")[0]
    made = spec.cluster.api.create(collection, {**live, "metadata": keep})
    yield "another object like it", made.must()
    yield "no object", spec.cluster.api.delete(spec.object_path("Secret")).must()


def test_each_small_change_is_another_digest(controlled, tenant, sidecar):
    spec, kinds = Planned(controlled, tenant), all_kinds(tenant)
    spec.apply(list(kinds.values()), wait=False).wait("True")
    spec.apply(list(kinds.values()), suspend=True)  # nothing corrects what is changed by hand below
    eventually(lambda: spec.get()["status"]["observedGeneration"] == spec.generation)
    digests = {}

    def note(name, digest):
        assert digest not in digests, (name, digests[digest])
        digests[digest] = name

    wanted = edits(changed(kinds), tenant)
    for at in range(0, len(wanted), AT_ONCE):
        begun = [(name, spec.begin(one)) for name, one in wanted[at:at + AT_ONCE]]
        for name, path in begun:
            note(f"edit: {name}", spec.end(path)["plan"]["digest"])
    for name, _ in drifts(spec):
        note(f"drift: {name}", spec.digest(changed(kinds)))
    assert len(digests) > 20


def test_what_is_known_later_is_shown_so_and_nothing_beside_it(controlled, tenant):
    spec = Planned(controlled, tenant)
    other = thing(tenant, "v1", "Service", "b", {"ports": [{"port": 80}]})
    spec.apply([config_map("m", tenant, {"a": "1", "b": "2"}), other]).wait("True")
    service = thing(tenant, "v1", "Service", "a", {"type": "NodePort", "ports": [{"port": 80}]})
    of_it = f"$kusion_path.{service['id']}.spec"
    other = copy.deepcopy(other)
    other["attributes"]["spec"]["ports"][0]["targetPort"] = f"{of_it}.ports[0].nodePort"
    wanted = [service, other, config_map("m", tenant, {"a": "1", "ip": f"{of_it}.clusterIP"})]
    previews = [spec.preview(wanted) for _ in range(2)]
    later = "(known after apply)"
    assert fields(previews[0], "ConfigMap") == {"data.ip": (None, later), "data.b": ('"2"', None)}
    assert fields(previews[0], "Service", "b") == {"spec.ports[0].targetPort": (None, later)}
    spec.apply(wanted).wait("True")
    assert {one["plan"]["digest"] for one in previews} == {
        spec.applied()[-1]["status"]["plan"]["digest"]}


def replaced(kinds):
    """Something of each is changed that the API server does not let anybody change."""
    kinds = copy.deepcopy(kinds)
    spec = {kind: one["attributes"].get("spec") for kind, one in kinds.items()}
    spec["Job"]["template"]["spec"]["containers"][0]["image"] = "two"
    spec["Service"].update(type="ClusterIP", clusterIP="None")
    spec["StatefulSet"]["serviceName"] = "y"
    spec["Deployment"]["selector"] = {"matchLabels": {"app": "y"}}
    spec["Deployment"]["template"]["metadata"]["labels"] = {"app": "y"}
    kinds["Secret"]["attributes"]["type"] = "example.com/other"
    return kinds


def test_a_replacement_has_one_digest_and_shows_what_forces_it(controlled, tenant, sidecar):
    spec, kinds = Planned(controlled, tenant), all_kinds(tenant)
    kinds["StatefulSet"]["attributes"]["metadata"]["annotations"] = {"api.kusion.io/force": "enabled"}
    spec.apply(list(kinds.values()), force=True, wait=False).wait("True")
    previews = []
    for turn in range(3):
        churn(spec, turn)
        previews.append(spec.preview(replaced(kinds)))
    assert {one["action"] for one in previews[-1]["results"]} == {"replace"}
    address = controlled.api.get(spec.object_path("Service")).must().object["spec"]["clusterIP"]
    assert [fields(previews[-1], kind) for kind in kinds] == [
        {"spec.template.spec.containers[0].image": ('"one"', '"two"')},
        {"spec.type": ('"NodePort"', '"ClusterIP"'), "spec.clusterIP": (f'"{address}"', '"None"')},
        {"spec.serviceName": ('"x"', '"y"')},
        {"spec.selector.matchLabels.app": ('"x"', '"y"'),
         "spec.template.metadata.labels.app": ('"x"', '"y"')},
        {"type": ('"Opaque"', '"example.com/other"')}]
    spec.apply(list(replaced(kinds).values()), force=True, wait=False).wait("True")
    assert {one["plan"]["digest"] for one in previews} == {
        spec.applied()[-1]["status"]["plan"]["digest"]}
    assert {one["action"] for one in spec.applied()[-1]["status"]["results"]} == {"replace"}
