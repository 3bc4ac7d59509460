"""Health checks: in Lua, of a resource and of the cluster; and of objects that the Spec does not own."""

import time

import pytest

from kusion_e2e.controller import STATE
from kusion_e2e.long import sampled
from kusion_e2e.rights import account, bound, wait_until_may
from kusion_e2e.specs import Spec, config_map, held
from kusion_e2e.wait import eventually

READY = """\
local ready = (obj.metadata.annotations or {})["example.com/ready"]
if ready == "yes" then
  return {status = "Healthy", message = "it said so"}
elseif ready == "no" then
  return {status = "Degraded", message = "it said no"}
end
return {status = "Progressing", message = "it says " .. tostring(ready)}
"""


def with_check(namespace, script, name="a"):
    made = config_map(name, namespace)
    made["extensions"] = {"healthPolicy": {"health.lua": script}}
    return made


def waits(spec, words):
    """Until the Spec says that it waits for that."""

    def says():
        ready = spec.condition()
        assert ready and ready["status"] == "Unknown" and words in ready["message"], ready
        return ready["message"]

    return eventually(says)


def annotate(cluster, namespace, value, kind="configmaps", name="a", api="api/v1"):
    cluster.api.patch(f"/{api}/namespaces/{namespace}/{kind}/{name}",
                      {"metadata": {"annotations": {"example.com/ready": value}}}).must()


# ---- Of a resource ----


def test_a_resource_is_healthy_when_its_script_says_so(controlled, tenant):
    spec = Spec(controlled, tenant).apply([with_check(tenant, READY)])
    waits(spec, f"v1:ConfigMap:{tenant}:a: Progressing: it says nil")
    annotate(controlled, tenant, "maybe")
    waits(spec, "Progressing: it says maybe")
    annotate(controlled, tenant, "yes")
    spec.wait("True")


def test_degraded_fails_and_is_tried_again(controlled, tenant):
    spec = Spec(controlled, tenant).apply([with_check(tenant, READY)], retryInterval="1s")
    waits(spec, "it says nil")
    annotate(controlled, tenant, "no")
    ready = spec.wait("False")
    assert ready["reason"] == "HealthCheckFailed" and "Degraded: it said no" in ready["message"], ready
    annotate(controlled, tenant, "yes")
    spec.wait("True")


@pytest.mark.parametrize("script, words", [
    ("return {status = obj.status.phase}", "health.lua:1: attempt to index a nil value (field 'status')"),
    ("while true do end", "health.lua:1: it takes more steps than a health check may have"),
    ("local s = 'x' while true do s = s .. s end", "it needs more memory than a health check may have"),
    ("local s = string.rep('a', 200) return s:find(string.rep('a*', 12) .. 'b')", "it takes more steps"),
    ("io.open('/etc/passwd')", "attempt to index a nil value (global 'io')"),
    ("return {status = 'healthy'}", "returned no status that is one of Healthy"),
    ("return {status = 'Unknown', message = 'who knows'}", "Unknown: who knows"),
])
@sampled
def test_a_script_that_fails_says_so_and_nothing_is_healthy(controlled, tenant, script, words):
    spec = Spec(controlled, tenant).apply([with_check(tenant, script)], timeout="10s", retryInterval="5m")
    ready = spec.wait("False")
    assert ready["reason"] == "HealthCheckFailed" and words in ready["message"], ready
    spec.apply([config_map("a", tenant)])
    spec.wait("True")


def test_hostile_scripts_of_one_tenant_hold_up_nobody_else(controlled, tenant, namespace):
    """Thirty that never come to an end by themselves: each look at one takes all the time that it may have."""
    slow = ("local a, b = string.rep('x', 1 << 17), string.rep('x', 1 << 17)\n"
            "while true do local c = a == b end")
    many = Spec(controlled, tenant, "many").apply([with_check(tenant, slow, f"s{i}") for i in range(30)])
    waits(many, "waiting for ")
    with bound(controlled, f"other-{namespace}", "cluster-admin", namespace):
        wait_until_may(controlled, account(namespace), "*", "*", group="*")
        begun = time.monotonic()
        other = Spec(controlled, namespace).apply([with_check(namespace, "return {status = 'Healthy'}")])
        other.wait("True")
        assert time.monotonic() - begun < 30
        other.delete()
    many.delete()


@pytest.mark.parametrize("policy, reason, words", [
    ({"health.lua": "if"}, "InvalidSpec", "health.lua:1: unexpected symbol near <eof>"),
    ({"health.lua": ["a"]}, "InvalidSpec", "must be a text, a script in Lua"),
    ({"health.kcl": "a = 1"}, "Unsupported", "KCL is not run by the operator: write the check in Lua"),
    ({"lua": "return nil"}, "InvalidSpec", "is unknown; a health check is health.lua"),
    ("return nil", "InvalidSpec", "must be an object"),
])
def test_a_policy_that_is_wrong_is_refused(controlled, tenant, policy, reason, words):
    wrong = config_map("a", tenant)
    wrong["extensions"] = {"healthPolicy": policy}
    ready = Spec(controlled, tenant).apply([wrong]).wait("False")
    assert ready["reason"] == reason and words in ready["message"], ready


def test_no_secret_is_in_what_a_script_says(controlled, tenant):
    secret = {"id": f"v1:Secret:{tenant}:s", "type": "Kubernetes",
              "attributes": {"apiVersion": "v1", "kind": "Secret", "stringData": {"password": "hunter2hunter2"},
                             "metadata": {"name": "s", "namespace": tenant}},
              "extensions": {"healthPolicy": {"health.lua":
                             "return {status = 'Progressing', message = obj.data.password:reverse() .. obj.kind}"}}}
    message = waits(Spec(controlled, tenant).apply([secret]), "Progressing: ")
    assert message.endswith("Progressing: )evitisnes(Secret"), message


# ---- Of the cluster ----


@pytest.fixture
def checks(controlled):
    """Makes a ConfigMap with health checks of the cluster."""
    made = []

    def make(name, data):
        path = f"/api/v1/namespaces/{STATE}/configmaps/{name}"
        body = {"apiVersion": "v1", "kind": "ConfigMap", "data": data,
                "metadata": {"name": name, "namespace": STATE, "labels": {"api.kusion.io/health-checks": "enabled"}}}
        controlled.api.patch(f"{path}?fieldManager=test&force=true", body, "application/apply-patch+yaml").must()
        made.append(path)

    yield make
    for path in made:
        controlled.api.delete(path)


def limit_range(namespace, **extensions):
    made = {"id": f"v1:LimitRange:{namespace}:a", "type": "Kubernetes",
            "attributes": {"apiVersion": "v1", "kind": "LimitRange", "spec": {"limits": []},
                           "metadata": {"name": "a", "namespace": namespace}}}
    return {**made, "extensions": extensions} if extensions else made


def policy(namespace):
    return {"id": f"networking.k8s.io/v1:NetworkPolicy:{namespace}:a", "type": "Kubernetes",
            "attributes": {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
                           "spec": {"podSelector": {}}, "metadata": {"name": "a", "namespace": namespace}}}


def answers(status):
    return f"return {{status = '{status}', message = 'by {status}'}}"


def test_checks_of_the_cluster(controlled, tenant, checks):
    """By kind, then by a star; a resource's own comes first; what is gone counts no more."""
    checks("e2e-health-a", {"resource.customizations.health.LimitRange": READY, "other": "is left alone"})
    checks("e2e-health-b", {"resource.customizations": f"""
"networking.k8s.io/*":
  health.lua: |
    {answers("Progressing")}
LimitRange:
  health.lua: |
    {answers("Degraded")}
"""})
    spec = Spec(controlled, tenant, "kind").apply([limit_range(tenant)])
    waits(spec, f"v1:LimitRange:{tenant}:a: Progressing: it says nil")
    annotate(controlled, tenant, "yes", "limitranges")
    spec.wait("True")
    spec.apply([limit_range(tenant, healthPolicy={"health.lua": answers("Suspended")}), policy(tenant)])
    waits(spec, f"NetworkPolicy:{tenant}:a: Progressing: by Progressing")
    controlled.api.delete(f"/api/v1/namespaces/{STATE}/configmaps/e2e-health-b").must()
    spec.wait("True")


def test_a_check_of_the_cluster_that_is_wrong(controlled, tenant, checks, at_work):
    checks("e2e-health-wrong", {"resource.customizations.health.LimitRange": "if"})
    spec = Spec(controlled, tenant).apply([limit_range(tenant)], timeout="10s")
    waits(spec, "its health check failed: health.lua:1: unexpected symbol near <eof>")
    checks("e2e-health-wrong", {"resource.customizations.health.LimitRange": answers("Healthy")})
    spec.wait("True")
    assert any("e2e-health-wrong" in line and "LimitRange: health.lua:1" in line for line in at_work.logged().splitlines())


# ---- healthChecks ----


def of(kind, name, namespace, api="v1"):
    return {"apiVersion": api, "kind": kind, "name": name, "namespace": namespace}


def test_a_spec_waits_for_objects_that_it_does_not_own(controlled, tenant, namespace):
    mine, other = config_map("a", tenant), held(namespace)
    spec = Spec(controlled, tenant).apply([mine], wait=False, healthChecks=[
        of("ConfigMap", "later", namespace), of("Deployment", "held", namespace, "apps/v1")])
    waits(spec, "it is not there")
    controlled.api.create(f"/apis/apps/v1/namespaces/{namespace}/deployments", other["attributes"]).must()
    controlled.api.create(f"/api/v1/namespaces/{namespace}/configmaps",
                          {"metadata": {"name": "later"}}).must()
    waits(spec, f"apps/v1:Deployment:{namespace}:held: ")
    controlled.kubectl("label", "pods", "-n", namespace, "-l", "kwok-hold", "kwok-hold-")
    ready = spec.wait("True")
    assert "1 created" in ready["message"], ready
    assert set(spec.state()) == {f"v1:ConfigMap:{tenant}:a"}
    later = controlled.api.get(f"/api/v1/namespaces/{namespace}/configmaps/later").must().object
    assert "labels" not in later["metadata"]
    spec.delete()
    assert controlled.api.get(f"/api/v1/namespaces/{namespace}/configmaps/later").ok


def test_what_is_not_healthy_in_time_fails_the_spec(controlled, tenant):
    spec = Spec(controlled, tenant).apply([config_map("a", tenant)], timeout="3s", retryInterval="1s",
                                          healthChecks=[of("ConfigMap", "later", tenant)])
    ready = spec.wait("False")
    assert ready["reason"] == "HealthCheckFailed", ready
    assert (f"healthChecks: 1 of 1 failed: v1:ConfigMap:{tenant}:later: not healthy within 3 s (timeout): "
            "it is not there") in ready["message"], ready
    assert controlled.api.get(f"/api/v1/namespaces/{tenant}/configmaps/a").ok
    controlled.api.create(f"/api/v1/namespaces/{tenant}/configmaps", {"metadata": {"name": "later"}}).must()
    spec.wait("True")


def test_a_check_of_the_cluster_also_judges_what_the_spec_does_not_own(controlled, tenant, checks):
    checks("e2e-health-foreign", {"resource.customizations.health.LimitRange": READY})
    controlled.api.create(f"/api/v1/namespaces/{tenant}/limitranges",
                          {"metadata": {"name": "a"}, "spec": {"limits": []}}).must()
    spec = Spec(controlled, tenant).apply([], healthChecks=[of("LimitRange", "a", tenant)])
    waits(spec, "Progressing: it says nil")
    annotate(controlled, tenant, "yes", "limitranges")
    spec.wait("True")


def test_a_tenant_learns_nothing_of_what_its_account_may_not_read(controlled, namespace, tenant):
    """There, not there, and in a namespace that is not there: the same words but for the names."""
    controlled.kubectl("create", "rolebinding", "edits", "-n", namespace, "--clusterrole=edit",
                       f"--serviceaccount={namespace}:default")
    wait_until_may(controlled, account(namespace), "create", "configmaps", namespace)
    controlled.api.create(f"/api/v1/namespaces/{tenant}/configmaps", {"metadata": {"name": "present"}}).must()

    def said(name, foreign, of_name):
        spec = Spec(controlled, namespace, name).apply([config_map(name, namespace)],
                                                       healthChecks=[of("ConfigMap", of_name, foreign)])
        ready = spec.wait("False")
        assert ready["reason"] in ("AccessDenied", "Forbidden"), ready
        said = ready["message"].splitlines()[0]  # below it are commands, with the name of the Spec
        return said.replace(foreign, "NAMESPACE").replace(of_name, "NAME")

    there, missing = said("b", tenant, "present"), said("c", tenant, "absent")
    nowhere = said("d", "no-such-namespace", "absent")
    assert "forbidden" in there.lower() or "cannot get" in there, there
    assert there == missing == nowhere


@pytest.mark.parametrize("check, words", [
    ({"apiVersion": "v1", "kind": "ConfigMap", "name": "a/b"}, "does not name an object"),
    ({"apiVersion": "a/b/c", "kind": "ConfigMap", "name": "a"}, "does not name an object"),
    ({"apiVersion": "api.kusion.io/v1", "kind": "Spec", "name": "spec"}, "is the Spec itself"),
])
def test_a_health_check_that_is_wrong_is_refused(controlled, tenant, check, words):
    ready = Spec(controlled, tenant).apply([config_map("a", tenant)], healthChecks=[check]).wait("False")
    assert ready["reason"] == "InvalidSpec" and words in ready["message"], ready


def test_a_kind_that_is_not_defined_is_waited_for(controlled, tenant):
    spec = Spec(controlled, tenant).apply([config_map("a", tenant)], timeout="3s",
                                          healthChecks=[of("Nothing", "a", tenant, "example.com/v1")])
    ready = spec.wait("False")
    assert ready["reason"] == "HealthCheckFailed" and "it is not there" in ready["message"], ready
