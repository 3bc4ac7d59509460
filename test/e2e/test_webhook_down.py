"""An admission webhook that is down, or hangs: it holds up what it is asked about, and nothing else."""

import socket
import time

import pytest

from kusion_e2e.kinds import new_release, path_of
from kusion_e2e.long import takes_long
from kusion_e2e.rights import account, wait_until_may
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.wait import eventually
from kusion_e2e.webhook import Webhook


SLACK = 8  # seconds that a busy machine may take for all the rest
SECONDS = 20  # timeoutSeconds of the webhook: how long the API server waits for it


class Down(Webhook):
    """Nobody listens at its port."""

    answers_after, says = 0, "failed calling webhook"

    def __init__(self, directory):
        super().__init__(directory, lambda request: None)
        self.end()


class Hanging(Webhook):
    """It never answers."""

    answers_after, says = SECONDS, ""

    def __init__(self, directory):
        super().__init__(directory, lambda request: None)


@pytest.fixture(params=[Down, Hanging], ids=["refuses", "hangs"])
def webhook(request, controlled, tenant, tmp_path):
    """Of the Services of the tenant, with failurePolicy Fail."""
    made = request.param(tmp_path)
    made.register(controlled, tenant, tenant, ["services"], seconds=SECONDS)
    eventually(lambda: refuses(controlled, tenant))
    yield made
    made.unregister(controlled, tenant)
    if request.param is Hanging:
        made.end()


def refuses(cluster, tenant):
    """The API server asks it by now."""
    answer = cluster.run("timeout", "1", "kubectl", "--kubeconfig", cluster.kubeconfig, "create", "-n",
                         tenant, "service", "clusterip", "try", "--tcp=1", "--dry-run=server",
                         check=False)
    return answer.returncode != 0


def service(namespace, name="down"):
    return resource({"apiVersion": "v1", "kind": "Service",
                     "metadata": {"name": name, "namespace": namespace},
                     "spec": {"ports": [{"port": 1}]}})


def cron_job(namespace):
    return resource({"apiVersion": "batch/v1", "kind": "CronJob",
                     "metadata": {"name": "other", "namespace": namespace},
                     "spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": {"spec": {
                         "restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}}}}})


def seconds_until(check):
    began = time.monotonic()
    eventually(check, every=0.05)
    return time.monotonic() - began


@takes_long
def test_a_resource_of_a_higher_rank_goes_on(controlled, tenant, webhook):
    """Case a): a Service whose webhook is down, and a CronJob, which comes after it."""
    spec = Spec(controlled, tenant).apply([service(tenant), cron_job(tenant)], wait=False,
                                          timeout="60s")
    path = f"/apis/batch/v1/namespaces/{tenant}/cronjobs/other"
    assert seconds_until(lambda: controlled.api.get(path).ok) < 2 + SLACK
    webhook.unregister(controlled, tenant)
    spec.wait("True")
    spec.delete()


def made_in(cluster, namespace, name):
    """Seconds that a Spec of one ConfigMap takes."""
    spec = Spec(cluster, namespace, name)
    began = time.monotonic()
    spec.apply([config_map(name, namespace)]).wait("True")
    took = time.monotonic() - began
    spec.delete()
    return took


def test_another_tenant_goes_on(controlled, tenant, webhook):
    """Case b): many Specs of one tenant, and one of another."""
    other = controlled.new_namespace("other")
    controlled.kubectl("create", "rolebinding", "edit", "--clusterrole=edit", "-n", other,
                       f"--serviceaccount={other}:default")
    wait_until_may(controlled, account(other), "patch", "configmaps", other)
    alone = made_in(controlled, other, "alone")
    specs = [Spec(controlled, tenant, f"down-{i}").apply(
        [service(tenant, f"s-{i}-{n}") for n in range(3)], timeout="60s") for i in range(12)]
    path = path_of("Spec", tenant)
    eventually(lambda: all("conditions" in one.get("status", {})
                           for one in controlled.api.get(path).must().object["items"]))
    beside = made_in(controlled, other, "beside")
    assert beside < alone + SLACK, (alone, beside)
    controlled.delete_namespace(other)
    webhook.unregister(controlled, tenant)
    for one in specs:
        one.wait("True")
        controlled.api.delete(one.path).must()


@takes_long
def test_the_status_says_so(controlled, tenant, webhook):
    """Case c): at most two seconds after the API server does, which waits for a webhook that hangs."""
    spec = Spec(controlled, tenant).apply([service(tenant)], timeout="60s")

    def said():
        ready = spec.condition()
        return ready and f'failed calling webhook "{tenant}.example.com"' in ready["message"]

    assert seconds_until(said) < webhook.answers_after + 2 + SLACK
    assert spec.condition("Stalled") is None
    webhook.unregister(controlled, tenant)
    spec.wait("True")
    spec.delete()


def test_the_timeout_is_kept(controlled, tenant, webhook):
    """Case d): of a request that hangs, too."""
    spec = Spec(controlled, tenant)
    spec.apply([service(tenant)], timeout="4s", retryInterval="1h")

    def ended():
        return [one for one in spec.releases() if one.get("status", {}).get("phase") == "failed"]

    assert 3.5 < seconds_until(ended) < 5 + SLACK
    ready = spec.condition()
    assert webhook.says in ready["message"], ready
    webhook.unregister(controlled, tenant)
    spec.delete()


def changed(namespace):
    wanted = service(namespace)
    wanted["attributes"]["spec"]["ports"] = [{"port": 2}]
    return wanted


@pytest.fixture
def hanging(controlled, tenant, tmp_path):
    """A webhook that hangs, and a Spec of a Service that was made before."""
    spec, made = Spec(controlled, tenant), Hanging(tmp_path)
    spec.apply([service(tenant)]).wait("True")
    made.register(controlled, tenant, tenant, ["services"], seconds=SECONDS)
    eventually(lambda: refuses(controlled, tenant))
    yield spec
    made.unregister(controlled, tenant)
    made.end()
    eventually(lambda: not refuses(controlled, tenant))
    spec.delete()


def test_a_plan_is_made_without_what_gets_no_answer(controlled, tenant, hanging):
    """Of an object that exists, a plan asks what an apply would change. The status names what it
    waits for, and after five seconds the rest is applied."""
    began = time.monotonic()
    hanging.apply([changed(tenant), config_map("other", tenant)])

    def said():
        ready = hanging.condition()
        return ready and "planning: waiting for v1:Service" in ready["message"]

    assert seconds_until(said) < 2 + SLACK
    eventually(lambda: controlled.api.get(f"/api/v1/namespaces/{tenant}/configmaps/other").ok)
    assert time.monotonic() - began < 5 + SLACK


def test_a_preview_that_waits_for_others_says_so(controlled, tenant, hanging):
    """Two of a Spec run at the same time. These hang, and say so, too."""
    names = ["first", "second", "third"]
    for name in names:
        controlled.api.create(path_of("Release", tenant), new_release(
            name, specRef={"name": hanging.name}, operation="Preview", resources=[changed(tenant)])).must()

    def says():
        found = [controlled.api.get(path_of("Release", tenant, name)).must().object for name in names]
        status = [one.get("status", {}) for one in found]
        assert sorted(one.get("phase", "") for one in status) == ["generating", "previewing", "previewing"]
        assert sorted(one["summary"].split(":")[0] for one in status) == [
            "planning, waiting for Service/down", "planning, waiting for Service/down", "waiting for other Previews"]
        return True

    eventually(says, 4 + SLACK)
