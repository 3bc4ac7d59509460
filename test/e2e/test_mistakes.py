"""Twenty mistakes that people make: what they see says what is wrong, and what to do next. (A tab in
YAML is kubectl's to refuse; for a policy or a webhook that denies see test_admission.py.)"""

import json

import pytest

from kusion_e2e.long import sampled
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.wait import eventually


def job(namespace, image):
    return resource({"apiVersion": "batch/v1", "kind": "Job",
                     "metadata": {"name": "migrate", "namespace": namespace},
                     "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [
                         {"name": "c", "image": image}]}}}})


def of_kind(version, kind, namespace, **more):
    return resource({"apiVersion": version, "kind": kind,
                     "metadata": {"name": "x", "namespace": namespace}, **more})


def deployment(namespace, **container):
    labels = {"app": "x"}
    return of_kind("apps/v1", "Deployment", namespace, spec={
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels},
                     "spec": {"containers": [{"name": "c", "image": "nginx:1", **container}]}}})


def reference(to, namespace):
    return config_map("from", namespace, {"x": to})


# What is applied (of the namespace), further fields of the Spec, and what the person sees of it.
MISTAKES = {
    "1 a typo in dependsOn": (
        lambda ns: [config_map("e01", ns), config_map("b", ns, depends_on=[f"v1:ConfigMap:{ns}:e1"])],
        {}, "InvalidSpec", ["(resources[1].dependsOn[0])", "e1\": did you mean \"v1:ConfigMap:", ":e01\"?"]),
    "2 a kind that is mistyped": (
        lambda ns: [of_kind("apps/v1", "Deploymnet", ns)],
        {}, "KindNotFound", ['no kind "Deploymnet" in "apps/v1"', 'did you mean "Deployment"?']),
    "3 a version of another time": (
        lambda ns: [of_kind("apps/v1beta1", "Deployment", ns)],
        {}, "KindNotFound", ['in "apps/v1beta1"', 'use apiVersion "apps/v1"']),
    "3 a group of another time": (
        lambda ns: [of_kind("extensions/v1beta1", "Ingress", ns)],
        {}, "KindNotFound", ['in "extensions/v1beta1"', "but in networking.k8s.io/v1: did you mean"]),
    "3 a kind of nobody": (
        lambda ns: [of_kind("example.com/v1", "Nothing", ns)],
        {}, "KindNotFound", ["is its CRD installed, or missing in this Spec?"]),
    "4 a namespace that is missing": (
        lambda ns: [config_map("a", f"{ns}-not")],
        {}, "NamespaceNotFound", ["not found", "\nto create it: kubectl create namespace"]),
    "6 a number for a string": (
        lambda ns: [config_map("a", ns, {"port": 80, "b": 5})],
        {}, "InvalidSchema",
        [": errors: .data.b: expected string, got (redacted); .data.port: expected string, got (redacted)"]),
    "7 a resource twice": (
        lambda ns: [config_map("a", ns), config_map("a", ns)],
        {}, "InvalidSpec", ["(resources[1].id): resources[0] has the same id"]),
    "8 a right that is missing": (
        lambda ns: [config_map("a", ns)],
        {"serviceAccountName": "weak"}, "AccessDenied",
        ["cannot ", "\nto allow it: kubectl create role ", "--verb=get,list,watch,create,patch,delete"]),
    "9 an account that is missing": (
        lambda ns: [config_map("a", ns)],
        {"serviceAccountName": "deploer"}, "ServiceAccountNotFound",
        ['"deploer"', "\nto create it: kubectl create serviceaccount deploer",
         "\nnext try within 30s; now: kubectl annotate spec spec "]),
    "13 a field that is mistyped": (
        lambda ns: [deployment(ns, imagePulPolicy="Always")],
        {}, "InvalidSchema", ["imagePulPolicy", "field not declared in schema"]),
    "14 a reference that is mistyped": (
        lambda ns: [config_map("a", ns), reference(f"$kusion_path.v1:ConfigMap:{ns}:a.data.aa", ns)],
        {}, "InvalidSpec", ['has no field "data.aa"']),
    "14b a reference in a text": (
        lambda ns: [config_map("a", ns), reference(f"http://$kusion_path.v1:ConfigMap:{ns}:a.data.a/", ns)],
        {}, "InvalidSpec", ["in the middle of a text", "Put the reference into a string of its own"]),
    "15 a name that is too long": (
        lambda ns: [resource({"apiVersion": "v1", "kind": "Service",
                              "metadata": {"name": "x" * 64, "namespace": ns},
                              "spec": {"ports": [{"port": 80}]}})],
        {}, "Invalid", ["metadata.name", "63"]),
    "16 a cycle": (
        lambda ns: [config_map("a", ns, depends_on=[f"v1:ConfigMap:{ns}:b"]),
                    config_map("b", ns, depends_on=[f"v1:ConfigMap:{ns}:a"])],
        {}, "CyclicDependency", [" -> "]),
    "20 a type that is mistyped": (
        lambda ns: [{**config_map("a", ns), "type": "Kubernets"}],
        {}, "InvalidSpec", ['unknown type "Kubernets"; supported: Kubernetes']),
}


@pytest.mark.parametrize("name", MISTAKES)
@sampled
def test_the_condition_says_what_to_do(controlled, tenant, name):
    resources, fields, reason, texts = MISTAKES[name]
    controlled.kubectl("create", "serviceaccount", "weak", "-n", tenant)
    spec = Spec(controlled, tenant).apply(resources(tenant), **fields)
    ready = spec.wait("False")
    assert ready["reason"] == reason, ready
    assert not [text for text in texts if text not in ready["message"]], ready
    spec.apply([], suspend=True)
    spec.delete()


def test_10_a_field_that_cannot_be_changed(controlled, tenant):
    spec = Spec(controlled, tenant).apply([job(tenant, "one")], wait=False)
    spec.wait("True")
    spec.apply([job(tenant, "two")], wait=False)
    ready = spec.wait("False")
    assert ready["reason"] == "Deferred" and "the Job has not ended" in ready["message"], ready
    assert "to replace it now, give it the annotation api.kusion.io/force: enabled" in ready["message"]
    controlled.kubectl("delete", "job", "migrate", "-n", tenant)
    controlled.kubectl("annotate", "spec", "spec", "-n", tenant, "--overwrite",
                       "api.kusion.io/reconcile-requested-at=now")
    spec.wait("True")
    spec.delete()


def test_11_a_quota(controlled, tenant):
    controlled.kubectl("create", "quota", "few", "--hard=configmaps=1", "-n", tenant)
    eventually(lambda: controlled.get_json("quota", "few", "-n", tenant)["status"].get("used"))
    spec = Spec(controlled, tenant).apply([config_map("a", tenant)], retryInterval="1s")
    ready = spec.wait("False")
    assert ready["reason"] == "Forbidden" and "exceeded quota: few" in ready["message"], ready
    assert spec.condition("Reconciling"), spec.get()["status"]
    controlled.kubectl("delete", "quota", "few", "-n", tenant)
    spec.wait("True")
    spec.delete()


@pytest.mark.parametrize("fields, text", [
    ({"timeout": 20}, "timeout"),  # 17
    ({"serviceAccount": "deployer"}, "serviceAccount"),  # 19
    ({"dependson": []}, "dependson"),  # 19
], ids=["17 a number for a duration", "19 a field of Pods", "19 a field in lower case"])
def test_the_api_server_refuses(controlled, tenant, fields, text):
    body = {"apiVersion": "api.kusion.io/v1", "kind": "Spec",
            "metadata": {"name": "spec", "namespace": tenant},
            "spec": {"resources": [config_map("a", tenant)], **fields}}
    refused = controlled.apply(json.dumps(body), check=False)
    assert refused.returncode != 0 and text in refused.stderr, refused.stderr
