"""What is heard of the controller from outside: its log, /readyz, /metrics."""

import json
import os
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.request

import pytest
import yaml

from kusion_e2e import state_backend
from kusion_e2e.approved import Approved
from kusion_e2e.cluster import Cluster
from kusion_e2e.controller import PROGRAM, STATE, Controller
from kusion_e2e.kinds import create, new_release
from kusion_e2e.long import sampled
from kusion_e2e.paths import ROOT
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.wait import PATIENCE, eventually


def free_address():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{one.getsockname()[1]}"


def get(address, path):
    """Status code and body."""
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=10) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class Observed(Controller):
    """A controller that serves what can be asked of it, with a log that is read."""

    def __init__(self, cluster, *flags, **more):
        self.cluster = cluster
        self.health, self.metrics = free_address(), free_address()
        super().__init__(cluster, flags=("--health-bind-address", self.health,
                                         "--metrics-bind-address", self.metrics, *flags), **more)

    def lines(self, message=None, **fields):
        """Those of the log that have this message, and these fields."""
        fields.update({"message": message} if message else {})
        text = self.log.read_text()
        parsed = [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]
        return [line for line in parsed if fields.items() <= line.items()]

    def line(self, message, **fields):
        """The first of them, once it is there."""
        return eventually(lambda: self.lines(message, **fields))[0]

    def readyz(self):
        try:
            return get(self.health, "/readyz")
        except OSError:
            return None, ""

    def wait_ready(self, code, text):
        def answers():
            answer = self.readyz()
            assert answer[0] == code and text in answer[1], answer
            return answer[1]
        return eventually(answers)

    def count(self, **labels):
        """Of operations with these labels."""
        total = 0
        for line in get(self.metrics, "/metrics")[1].splitlines():
            if line.startswith("kusion_operations_total{"):
                found = dict(re.findall(r'(\w+)="([^"]*)"', line))
                total += float(line.split()[-1]) if labels.items() <= found.items() else 0
        return total


@pytest.fixture
def start(state_namespace):
    """Starts a controller, which ends with the test. One whose numbers are compared watches the namespace of
    the test alone: Specs of tests before it may still be waiting for an operator to delete them."""
    started = []

    def begin(*flags, **more):
        started.append(Observed(state_namespace, *flags, **more))
        return started[-1]

    yield begin
    for one in started:
        one.stop()


@pytest.fixture
def bare():
    """A control plane without our kinds."""
    cluster = Cluster.up(f"e2e-bare-{os.getpid()}")
    try:
        cluster.kubectl("create", "namespace", STATE)
        yield cluster
    finally:
        cluster.down()


def kubeconfig_for(cluster, tmp_path, server):
    """The cluster's, for another server."""
    path = shutil.copy(cluster.kubeconfig, tmp_path / "kubeconfig")
    name = cluster.kubectl("config", "view", "-o", "jsonpath={.clusters[0].name}").stdout
    cluster.kubectl("--kubeconfig", path, "config", "set-cluster", name, f"--server={server}")
    return path


def test_operations_are_logged_at_both_ends_and_counted(start, tenant):
    controller = start("--log-level", "debug", "--watch-namespace", tenant).wait_leading()
    cluster = controller.cluster
    spec = Spec(cluster, tenant, "good").apply([config_map("a", tenant)])
    spec.wait("True")
    about = {"namespace": tenant, "spec": "good", "operation": "apply", "release": "good-1",
             "revision": "1", "generation": "1"}
    controller.line("operation started", level="info", **about)
    ended = controller.line("operation succeeded", level="info", summary="1 created", **about)
    assert int(ended["durationMs"]) > 0
    assert controller.count(operation="apply", result="succeeded") == 1
    spec.delete()
    about.update(operation="destroy", release="good-2", revision="2")
    del about["generation"]
    controller.line("operation started", level="info", **about)
    controller.line("operation succeeded", level="info", summary="1 deleted", **about)
    assert controller.count(operation="destroy", result="succeeded") == 1


def test_what_fails_is_warned_of_once_and_counted_each_time(start, tenant):
    controller = start("--watch-namespace", tenant).wait_leading()
    bad = [{"id": "nothing", "type": "Kubernetes", "attributes": {}}]
    Spec(controller.cluster, tenant, "bad").apply(bad, retryInterval="1s").wait("False")
    labels = {"operation": "apply", "result": "failed", "reason": "InvalidSpec"}
    eventually(lambda: controller.count(**labels) >= 3)
    warned = controller.lines(level="warn", spec="bad")
    assert [line["reason"] for line in warned] == ["InvalidSpec"], warned
    assert "nothing" in warned[0]["error"]

    preview = new_release("look", operation="Preview", specRef={"name": "absent"})
    create(controller.cluster, tenant, preview).must()
    failed = controller.line("operation failed", operation="preview", spec="absent")
    assert (failed["release"], failed["reason"]) == ("look", "SpecNotFound")
    assert controller.count(operation="preview", result="failed") == 1


def test_queues_are_measured_as_those_of_client_go(start, tenant):
    controller = start().wait_leading()
    bad = [{"id": "nothing", "type": "Kubernetes", "attributes": {}}]
    Spec(controller.cluster, tenant, "bad").apply(bad, retryInterval="1s").wait("False")

    def value(name):
        found = re.search(rf'^{name}{{name="spec"}} (\S+)$', get(controller.metrics, "/metrics")[1], re.M)
        return float(found[1]) if found else 0

    eventually(lambda: value("workqueue_retries_total") >= 1)
    eventually(lambda: value("workqueue_depth") == 0)
    assert value("workqueue_work_duration_seconds_sum") > 0
    assert 0 < value("workqueue_work_duration_seconds_count") \
        <= value("workqueue_queue_duration_seconds_count") <= value("workqueue_adds_total")


def test_a_leader_and_one_that_waits_are_ready(start):
    leader = start().wait_leading()
    assert leader.wait_ready(200, "ok") == f"ok: State is in a store of the type {state_backend.TYPE}\n"
    standby = start()
    standby.wait_ready(200, "ok")
    assert "leader_election_master_status{name=\"kusion-operator\"} 1" in \
        get(leader.metrics, "/metrics")[1]
    assert f'kusion_store_usable{{backend="{state_backend.TYPE}"}} 1' in get(leader.metrics, "/metrics")[1]
    assert standby.lines("the Lease is not ours")


def test_a_leader_whose_store_is_not_the_one_is_not_ready(start, tmp_path):
    """Its State was in ConfigMaps, and is to be in an empty folder."""
    start().wait_leading().stop()
    other = start("--state-backend", f"file:{tmp_path}").wait_leading()
    assert other.wait_ready(503, "StoreReplaced") == "not ok: StoreReplaced (the log has the message)\n"
    assert 'kusion_store_usable{backend="file"} 0' in get(other.metrics, "/metrics")[1]
    assert "--accept-store=" in other.line("the store is not used, and nothing is made or deleted")["error"]


def test_who_cannot_reach_the_api_server_is_not_ready_and_says_so(start, state_namespace, tmp_path):
    path = kubeconfig_for(state_namespace, tmp_path, "https://127.0.0.1:1")
    controller = start(kubeconfig=path)
    controller.line("the API server does not answer yet", level="warn")
    answer = controller.wait_ready(503, "not ok: Unavailable (")
    assert "\n" not in answer.strip()
    controller.process.terminate()
    assert controller.process.wait(timeout=PATIENCE) == 0
    assert controller.lines("stopping", signal="SIGTERM") and not controller.lines(level="error")


def test_who_cannot_have_the_lease_is_not_ready(start):
    controller = start(state="no-such-namespace")
    controller.wait_ready(503, "NamespaceNotFound")
    controller.line("the Lease cannot be had", level="warn", reason="NamespaceNotFound")


def test_without_its_kinds_it_is_not_ready_and_says_what_to_do(bare):
    controller = Observed(bare)
    try:
        controller.wait_ready(503, "NotServed")
        line = controller.line("a watch failed, and is tried again")
        assert "kubectl apply --server-side -f crds/" in line["error"]
        bare.install_crds()
        controller.wait_ready(200, "ok")
    finally:
        controller.stop()


def test_a_selector_that_is_none_ends_the_start(start):
    controller = start("--watch-label-selector", "a===b")
    assert controller.process.wait(timeout=PATIENCE) == 1
    failed = controller.line("the operator cannot run")
    assert '--watch-label-selector: "a===b" is refused' in failed["error"]
    assert not controller.lines("stopping")


def test_outside_a_pod_it_asks_for_a_kubeconfig():
    result = subprocess.run([PROGRAM], env={}, capture_output=True, text=True, timeout=PATIENCE)
    assert result.returncode == 1
    assert "--kubeconfig" in result.stderr and result.stderr.count("pod") == 1, result.stderr


def test_help_has_a_short_form():
    assert subprocess.check_output([PROGRAM, "-h"]) == subprocess.check_output([PROGRAM, "--help"])


def specs_by(controller):
    """The gauge of Specs: (ready, reason) to their number; those of 0 left out."""
    found = {}
    for line in get(controller.metrics, "/metrics")[1].splitlines():
        if line.startswith("kusion_specs{"):
            labels = dict(re.findall(r'(\w+)="([^"]*)"', line))
            found[labels["ready"], labels["reason"]] = float(line.split()[-1])
    return {labels: count for labels, count in found.items() if count}


def test_specs_are_counted_by_what_ready_says(start, tenant):
    controller = start("--watch-namespace", tenant).wait_leading()
    cluster = controller.cluster
    good = Spec(cluster, tenant, "good").apply([config_map("a", tenant)])
    bad = [{"id": "nothing", "type": "Kubernetes", "attributes": {}}]
    Spec(cluster, tenant, "bad").apply(bad).wait("False")
    good.wait("True")
    held = Approved(cluster, tenant, "held").apply([config_map("b", tenant)])
    held.waiting()
    all_of_them = {("True", "ReconciliationSucceeded"): 1, ("False", "InvalidSpec"): 1,
                   ("Unknown", "AwaitingApproval"): 1}
    eventually(lambda: specs_by(controller) == all_of_them)
    assert controller.stop() == 0
    controller = start("--watch-namespace", tenant).wait_leading()  # it knows by the statuses, though it writes none
    eventually(lambda: specs_by(controller) == all_of_them)
    Spec(cluster, tenant, "bad").delete()
    held.delete()
    good.apply([config_map("a", tenant)], suspend=True)
    eventually(lambda: specs_by(controller) == {("True", "Suspended"): 1})
    good.apply([config_map("a", tenant)]).wait("True")
    good.delete()
    eventually(lambda: specs_by(controller) == {})


def at_path(value, path):
    """As kube-state-metrics walks: "[type=Ready]" is the element with that field."""
    for step in path:
        match = re.fullmatch(r"\[(\w+)=(\w+)\]", step)
        if match:
            value = next((one for one in value or [] if one.get(match[1]) == match[2]), None)
        else:
            value = (value or {}).get(step)
    return value


def info_of(spec):
    """The labels of the one metric that docs/kube-state-metrics.yaml makes."""
    config = yaml.safe_load((ROOT / "docs/kube-state-metrics.yaml").read_text())
    [of_kind] = config["spec"]["resources"]
    kind = of_kind["groupVersionKind"]
    assert f"{kind['group']}/{kind['version']}" == spec["apiVersion"] and kind["kind"] == spec["kind"]
    [metric] = of_kind["metrics"]
    assert f"{of_kind['metricNamePrefix']}_{metric['name']}" == "kusion_spec_info"
    paths = {**metric["labelsFromPath"], **metric["each"]["info"]["labelsFromPath"]}
    return {label: at_path(spec, path) for label, path in paths.items()}


def alerts():
    return {rule["alert"]: rule for group in yaml.safe_load((ROOT / "charts/kusion-operator/files/alerts.yaml").read_text())["groups"]
            for rule in group["rules"]}


def selects(rule, labels):
    """Whether a rule on kusion_spec_info is about a Spec with these labels."""
    matches = {"=": lambda have, want: have == want, "!=": lambda have, want: have != want,
               "=~": lambda have, want: re.fullmatch(want, have),
               "!~": lambda have, want: not re.fullmatch(want, have)}
    matchers = re.findall(r'(\w+)(=~|!~|!=|=)"([^"]*)"', rule["expr"])
    return all(matches[how](labels.get(name, ""), want) for name, how, want in matchers)


@pytest.mark.parametrize("ready, reason, stalled, expected", [
    ("False", "InvalidSpec", "True", {"KusionSpecStalled", "KusionSpecNotReady"}),
    ("False", "Unavailable", "", {"KusionSpecNotReady"}),
    ("Unknown", "Progressing", "", {"KusionSpecNotReady"}),
    ("Unknown", "AwaitingApproval", "", {"KusionPlanAwaitsApproval"}),
    ("False", "RolledBack", "True", set()),
    ("False", "Suspended", "", set()),
    ("True", "ReconciliationSucceeded", "", set()),
])
@sampled
def test_alerts_about_a_spec(ready, reason, stalled, expected):
    labels = {"ready": ready, "reason": reason, "stalled": stalled, "suspended": "false"}
    assert {name for name, rule in alerts().items()
            if "kusion_spec_info" in rule["expr"] and selects(rule, labels)} == expected


def test_kube_state_metrics_finds_what_alerts_need(start, tenant):
    controller = start().wait_leading()
    bad = [{"id": "nothing", "type": "Kubernetes", "attributes": {}}]
    spec = Spec(controller.cluster, tenant, "bad").apply(bad)
    spec.wait("False")
    about = {"name": "bad", "exported_namespace": tenant}
    assert info_of(spec.get()) == {**about, "ready": "False", "reason": "InvalidSpec",
                                   "stalled": "True", "suspended": False}
    spec.apply([config_map("a", tenant)]).wait("True")
    assert info_of(spec.get()) == {**about, "ready": "True", "reason": "ReconciliationSucceeded",
                                   "stalled": None, "suspended": False}
    spec.apply([config_map("a", tenant)], suspend=True)
    eventually(lambda: info_of(spec.get())["suspended"] is True)
    # Alerts name only what there is.
    served = set(re.findall(r"^(\w+)\{?", get(controller.metrics, "/metrics")[1], re.MULTILINE))
    labels = set(info_of(spec.get()))
    for rule in alerts().values():
        names = set(re.findall(r"\b(?:kusion|leader)_\w+", rule["expr"]))
        assert names and names <= served | {"kusion_spec_info"}, rule
        if "kusion_spec_info" in names:
            assert set(re.findall(r"\$labels\.(\w+)", str(rule))) <= labels
            assert set(re.findall(r"[{,] *(\w+) *!?=", rule["expr"])) <= labels
    assert 'leader_election_master_status{name="kusion-operator"} 1' in get(controller.metrics, "/metrics")[1]
    spec.delete()
