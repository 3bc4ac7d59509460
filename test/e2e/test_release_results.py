"""What a Release tells of each resource: what was planned, what became of it, and what was not tried."""

from kusion_e2e.approved import Approved
from kusion_e2e.releases import by_name, preview
from kusion_e2e.specs import Spec, config_map, held, resource
from kusion_e2e.wait import eventually

GROUP = "results.example.com"


def namespace_of(name):
    return resource({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


def definition():
    return resource({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"gadgets.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced",
                 "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "schema": {
                     "openAPIV3Schema": {"type": "object"}}}]}})


def gadget(namespace):
    return resource({"apiVersion": f"{GROUP}/v1", "kind": "Gadget",
                     "metadata": {"name": "gadget", "namespace": namespace}})


def test_what_waits_for_another_of_the_same_spec_says_so(controlled, tenant):
    """In a Preview, and in a plan that waits for approval."""
    inner = f"{tenant}-inner"
    resources = [namespace_of(inner), config_map("inside", inner), definition(), gadget(tenant),
                 config_map("beside", tenant)]
    shown = preview(controlled, tenant, "spec", "look", resources=resources)["status"]
    assert shown["summary"] == "5 to create", shown
    results = by_name(shown)
    assert results["inside"]["message"] == f"not tried: namespace {inner} does not exist yet"
    assert results["gadget"]["message"] == f"not tried: kind Gadget ({GROUP}/v1) does not exist yet"
    assert "message" not in results["beside"] and "message" not in results[inner]

    spec = Approved(controlled, tenant).apply(resources)
    release = spec.waiting(create=5)
    assert by_name(release["status"])["inside"]["message"] == results["inside"]["message"]
    spec.approve(release)
    spec.wait("True")
    done = by_name(spec.releases()[-1]["status"])
    assert {(one["action"], one["outcome"]) for one in done.values()} == {("create", "succeeded")}
    assert "message" not in done["inside"], "it was made"
    spec.delete()


def test_what_waits_for_something_else_fails(controlled, tenant):
    """As the apply would: neither the namespace nor the kind is in the Spec."""
    resources = [config_map("inside", f"{tenant}-not"), gadget_of_nobody(tenant), config_map("a", tenant)]
    shown = preview(controlled, tenant, "spec", "look", resources=resources)["status"]
    assert shown["phase"] == "failed"
    results = by_name(shown)
    assert results["inside"]["reason"] == "NamespaceNotFound"
    assert results["gadget"]["reason"] == "KindNotFound"
    assert "reason" not in results["a"]


def gadget_of_nobody(namespace):
    return resource({"apiVersion": "nobody.example.com/v1", "kind": "Gadget",
                     "metadata": {"name": "gadget", "namespace": namespace}})


def test_failed_skipped_and_left_in_place(controlled, tenant):
    spec = Spec(controlled, tenant).apply([config_map("a", tenant), config_map("kept", tenant)])
    spec.wait("True")
    spec.apply([config_map("a", tenant)], prune=False).wait("True")
    last = spec.releases()[-1]["status"]
    assert last["summary"] == "1 left in place, 1 unchanged"
    kept = by_name(last)["kept"]
    assert (kept["action"], kept["outcome"]) == ("forget", "succeeded")
    assert kept["message"] == "it stays: `prune` is false"

    bad = config_map("bad", f"{tenant}-not")
    spec.apply([config_map("a", tenant, {"a": "new"}), bad,
                config_map("after", tenant, depends_on=[bad["id"]])]).wait("False")
    status = spec.releases()[-1]["status"]
    done = by_name(status)
    assert {name: (one["action"], one["outcome"]) for name, one in done.items()} == {
        "a": ("update", "succeeded"), "bad": ("create", "failed"), "after": ("create", "skipped")}
    assert done["a"]["fields"] == [{"path": "data.a", "from": '"b"', "to": '"new"'}]
    assert done["bad"]["reason"] == "NamespaceNotFound" and "duration" in done["bad"]
    assert "it depends on" in done["after"]["message"] and "duration" not in done["after"]
    assert status["summary"].startswith("ConfigMap/bad: namespaces ")
    assert status["counts"] == {"total": 3, "succeeded": 1, "failed": 1, "skipped": 1, "pending": 0}
    spec.delete()


def test_fields_that_do_not_fit_are_counted(controlled, tenant):
    many = {f"k{i:04}": "v" for i in range(300)}
    spec = Spec(controlled, tenant).apply([config_map("a", tenant, many)])
    spec.wait("True")
    spec.apply([config_map("a", tenant, dict.fromkeys(many, "w"))]).wait("True")
    [result] = spec.releases()[-1]["status"]["results"]
    assert len(result["fields"]) == 256 and result["omittedFields"] == 44
    spec.delete()


def test_it_says_by_what_it_was_superseded(controlled, tenant):
    spec = Spec(controlled, tenant).apply([config_map("a", tenant), held(tenant)])
    summary = "1 of 2 done, waiting for Deployment/held: Available: 0/1"
    eventually(lambda: [one for one in spec.releases() if one["status"].get("summary", "").startswith(summary)])
    spec.apply([config_map("a", tenant)]).wait("True")
    first, second = spec.releases()
    assert first["status"]["phase"] == "cancelled"
    assert first["status"]["summary"] == "superseded by generation 2 of the Spec, after 1 created"
    assert by_name(first["status"])["held"]["outcome"] == "cancelled"
    assert second["status"]["summary"] == "1 deleted, 1 unchanged"
    spec.delete()
