"""Bad input: a clear condition and an event, nothing changed, and the Spec can be deleted."""

import json

import pytest

from kusion_e2e.long import sampled
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.wait import eventually


def nested(depth):
    return '{"a":' * depth + "1" + "}" * depth


def cases(ns):
    a, b = f"v1:ConfigMap:{ns}:a", f"v1:ConfigMap:{ns}:b"
    bad_name = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": ns},
                "spec": {"ports": [{"port": 99999}]}}
    no_kind = {"apiVersion": "x.example.com/v1", "kind": "Nothing",
               "metadata": {"name": "n", "namespace": ns}}
    return {
        "cycle": ([config_map("a", ns, depends_on=[b]), config_map("b", ns, depends_on=[a])],
                  "CyclicDependency", " -> "),
        "unknown dependency": ([config_map("a", ns, depends_on=["nope"])], "InvalidSpec", "nope"),
        "duplicate id": ([config_map("a", ns), config_map("a", ns)], "InvalidSpec", a),
        "id and attributes": ([config_map("a", ns, id=b)], "InvalidSpec", a),
        "unknown reference": ([config_map("a", ns, {"x": "$kusion_path.nope.data"})],
                              "InvalidSpec", "nope"),
        "missing field": ([config_map("a", ns), config_map("b", ns, {"x": f"$kusion_path.{a}.data.no"})],
                          "InvalidSpec", "data.no"),
        "reference in a text": ([config_map("a", ns),
                                 config_map("b", ns, {"x": f"http://$kusion_path.{a}.data.a:80"})],
                                "InvalidSpec", f'resource "{b}" (resources[1].attributes.data.x): '
                                               'has "$kusion_path." in the middle of a text'),
        "no such kind": ([resource(no_kind)], "KindNotFound", "Nothing"),
        "refused": ([resource(bad_name)], "Invalid", "port"),
    }


@pytest.mark.parametrize("name", list(cases("x")))
@sampled
def test_says_what_is_wrong(controlled, tenant, name):
    resources, reason, text = cases(tenant)[name]
    spec = Spec(controlled, tenant).apply(resources)
    ready = spec.wait("False")
    assert ready["reason"] == reason, ready
    assert text in ready["message"], ready
    assert spec.condition("Reconciling" if reason == "KindNotFound" else "Stalled")
    spec.wait_event(reason, type="Warning")
    assert made(controlled, tenant) == []
    spec.delete()


def made(cluster, namespace):
    """What any Spec made there."""
    return cluster.kubectl("get", "configmaps,secrets,services,deployments", "-o", "name", "-n",
                           namespace, "-l", "api.kusion.io/owner").stdout.split()


@pytest.mark.parametrize("where", ["attributes", "extensions", "context"])
def test_nested_too_deep(controlled, tenant, where):
    one = {"id": "v1:ConfigMap:a", "type": "Kubernetes", "attributes": {}}
    body = {"resources": [one]}
    (body if where == "context" else one)[where] = "DEEP"
    text = json.dumps({"apiVersion": "api.kusion.io/v1", "kind": "Spec",
                       "metadata": {"name": "spec", "namespace": tenant}, "spec": body})
    spec = Spec(controlled, tenant)
    collection = spec.path.rpartition("/")[0]
    controlled.api.create(collection, text.replace('"DEEP"', nested(9990))).must()
    spec.generation = 1
    ready = eventually(lambda: deep_condition(controlled, spec))
    assert ready["reason"] == "InvalidSpec" and "nested more than" in ready["message"], ready
    spec.wait_event("InvalidSpec", type="Warning")
    assert made(controlled, tenant) == []
    # Nor does what the API server notes of it (managedFields) keep the others waiting.
    other = Spec(controlled, tenant, "other").apply([config_map("other", tenant)])
    other.wait("True")
    other.delete()
    spec.delete()


def test_one_that_cannot_be_read_any_more_goes_as_it_last_said(controlled, tenant):
    spec = Spec(controlled, tenant).apply([config_map("a", tenant)], deletionPolicy="Orphan")
    spec.wait("True")
    now = spec.get()
    now["spec"] = {"resources": [{"id": "x", "type": "Kubernetes", "attributes": "DEEP"}]}
    text = json.dumps(now).replace('"DEEP"', nested(9000))
    controlled.api.request("PUT", spec.path, text).must()
    eventually(lambda: (deep_condition(controlled, spec) or {}).get("reason") == "InvalidSpec")
    controlled.api.delete(spec.path).must()
    eventually(lambda: controlled.api.get(spec.path).code == 404)
    assert made(controlled, tenant) == ["configmap/a"]


def deep_condition(cluster, spec):
    """Once the operator has looked. Python's json does not read that deep: kubectl picks the
    condition."""
    text = cluster.kubectl("get", "spec", spec.name, "-n", spec.namespace, "-o",
                           'jsonpath={.status.conditions[?(@.type=="Ready")]}').stdout
    ready = json.loads(text)
    return ready if ready["reason"] != "Progressing" else None


def test_a_service_account_that_is_missing(controlled, tenant):
    spec = Spec(controlled, tenant).apply([config_map("a", tenant)], serviceAccountName="nobody")
    ready = spec.wait("False")
    assert ready["reason"] == "ServiceAccountNotFound"
    assert f"kubectl create serviceaccount nobody --namespace={tenant}" in ready["message"]
    spec.wait_event("ServiceAccountNotFound", type="Warning")
    assert made(controlled, tenant) == []
    spec.delete()


def test_a_service_account_without_rights(controlled, tenant):
    controlled.kubectl("create", "serviceaccount", "weak", "-n", tenant)
    spec = Spec(controlled, tenant).apply([config_map("a", tenant)], serviceAccountName="weak")
    ready = spec.wait("False")
    assert ready["reason"] == "AccessDenied"
    assert "kubectl create role kusion:" in ready["message"]
    assert f"--serviceaccount={tenant}:weak" in ready["message"]
    spec.wait_event("AccessDenied", type="Warning")
    assert made(controlled, tenant) == []
    spec.delete()


def test_one_of_twelve_refused(controlled, tenant):
    bad = resource({"apiVersion": "v1", "kind": "Service",
                    "metadata": {"name": "bad", "namespace": tenant},
                    "spec": {"ports": [{"port": 99999}]}})
    others = [config_map(f"c{i}", tenant) for i in range(9)]
    after = [config_map("d1", tenant, depends_on=[bad["id"]]),
             config_map("d2", tenant, depends_on=[f"v1:ConfigMap:{tenant}:d1"])]
    spec = Spec(controlled, tenant).apply([bad, *others, *after])
    ready = spec.wait("False")
    assert " failed, 2 skipped" in ready["message"], ready
    maps = controlled.get_json("configmap", "-n", tenant, "-l", "api.kusion.io/owner")["items"]
    assert {item["metadata"]["name"] for item in maps} == {f"c{i}" for i in range(9)}
    failed = {one["id"]: one["reason"] for one in spec.get()["status"]["resources"]["failed"]}
    assert failed[after[1]["id"]] == "DependencyNotReady"
    applied = {id: uid for id, uid in spec.state().items() if uid}
    assert applied == {f"v1:ConfigMap:{tenant}:{item['metadata']['name']}": item["metadata"]["uid"]
                       for item in maps}
    bad["attributes"]["spec"]["ports"][0]["port"] = 80
    spec.apply([bad, *others, *after])
    spec.wait("True")
    assert len([uid for uid in spec.state().values() if uid]) == 12
    spec.delete()
    assert spec.state() is None
