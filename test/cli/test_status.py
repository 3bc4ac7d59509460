"""`status` of many Specs: from the server's Table, and where that cannot be had from whole Specs."""

import contextlib
import json
import re

import pytest

from kusion_cli import normal

CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/specs.api.kusion.io"
PAGE = 500  # Specs of one request


def spec_of(shell, name, depends_on=(), **fields):
    attributes = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": shell.namespace},
                  "data": {"a": "b"}}
    resource = {"id": f"v1:ConfigMap:{shell.namespace}:{name}", "type": "Kubernetes", "attributes": attributes,
                "dependsOn": list(depends_on)}
    return {"apiVersion": "api.kusion.io/v1", "kind": "Spec", "metadata": {"name": name, "namespace": shell.namespace},
            "spec": {"resources": [resource], **fields}}


def create(shell, spec):
    path = f"/apis/api.kusion.io/v1/namespaces/{shell.namespace}/specs"
    shell.cluster.api.create(path, spec).must()


@contextlib.contextmanager
def without_column(cluster, name):
    """As in a cluster whose CRDs are older than this program."""
    columns = cluster.api.get(CRD).must().object["spec"]["versions"][0]["additionalPrinterColumns"]
    path = "/spec/versions/0/additionalPrinterColumns"

    def put(value):
        cluster.kubectl("patch", "crd", "specs.api.kusion.io", "--type=json", "-p",
                        json.dumps([{"op": "replace", "path": path, "value": value}]))

    put([one for one in columns if one["name"] != name])
    try:
        yield
    finally:
        put(columns)


@pytest.fixture
def specs(shell):
    """One for each way in which a Spec can stand."""
    create(shell, spec_of(shell, "done"))
    create(shell, spec_of(shell, "fails", depends_on=["none"]))
    create(shell, spec_of(shell, "held", suspend=True))
    create(shell, spec_of(shell, "waits", approval={"mode": "Manual"}))
    for name, status in (("done", "True"), ("fails", "False"), ("held", "Unknown"), ("waits", "Unknown")):
        shell.type(f"kubectl wait --for=condition=Ready={status} spec/{name} --timeout=60s").must()
    shell.cluster.api.patch(f"/api/v1/namespaces/{shell.namespace}/configmaps/done", {"data": {"a": "x"}}).must()
    shell.type("kubectl wait --for=jsonpath={.status.driftCorrections.count}=1 spec/done --timeout=60s").must()
    return shell


def said(shell):
    """By several commands; without the Specs of other tests, which may be on their way out."""
    commands = ["status", "status -A", "status --failed", "status -l none=here"]
    found = [normal(shell.type(f"kubectl kusion {command}").must(), shell.namespace) for command in commands]
    return [[line for line in text.splitlines() if not line.startswith("cli-")] for text in found]


def test_a_table_says_what_whole_specs_say(specs):
    before = said(specs)
    rows = [line.split() for line in specs.type("kubectl kusion status").must().splitlines()]
    assert [row[:6] for row in rows[1:]] == [
        ["fails", "False", "-", "-", "InvalidSpec", "-"],
        ["waits", "Unknown", "-", "-", "AwaitingApproval", "-"],
        ["held", "Unknown", "-", "-", "Suspended", "-"],
        ["done", "True", "1/1", "2", "ReconciliationSucceeded", "1"]], rows
    with without_column(specs.cluster, "Drift"):
        assert said(specs) == before


def test_more_than_a_page(shell):
    for number in range(PAGE + 1):
        create(shell, spec_of(shell, f"s{number}", suspend=True))
    lines = shell.type("kubectl kusion status").must().splitlines()
    assert len(set(re.split(r"\s", line)[0] for line in lines[1:])) == PAGE + 1
    path = f"/apis/api.kusion.io/v1/namespaces/{shell.namespace}/specs"
    shell.cluster.api.delete(path).must()


def test_one_that_cannot_be_read_hides_no_other(shell):
    create(shell, spec_of(shell, "one", suspend=True))
    deep = spec_of(shell, "deep", suspend=True)
    value = "x"
    for _ in range(300):
        value = {"a": value}
    deep["spec"]["resources"][0]["attributes"]["deep"] = value
    create(shell, deep)
    shell.type("kubectl wait --for=condition=Ready=False spec/deep --timeout=60s").must()
    names = [line.split()[0] for line in shell.type("kubectl kusion status").must().splitlines()]
    assert sorted(names[1:]) == ["deep", "one"]
    shell.type("kubectl delete spec deep --wait=false").must()
    shell.type("""kubectl patch spec deep --type=merge -p '{"metadata":{"finalizers":null}}'""")
