"""What is wrong with the operator and with several Specs at once, and what is done about it."""

import pytest
import yaml
from kusion_e2e.controller import STATE

OPERATOR = """
apiVersion: apps/v1
kind: Deployment
metadata: {{name: operator, namespace: {namespace}, labels: {{app.kubernetes.io/name: kusion-operator}}}}
spec:
  replicas: 0
  selector: {{matchLabels: {{app: operator}}}}
  template:
    metadata: {{labels: {{app: operator}}}}
    spec:
      serviceAccountName: {account}
      containers: [{{name: a, image: a, args: [--watch-namespace={namespace}]}}]
"""


def install(shell, account):
    (shell.folder / "operator.yaml").write_text(OPERATOR.format(namespace=shell.namespace, account=account))
    shell.type("kubectl apply -f operator.yaml").must()


@pytest.fixture
def installed(shell):
    """A Deployment of an operator, whose account has rights in its own namespace alone."""
    shell.type("kubectl create serviceaccount works").must()
    shell.type("kubectl create rolebinding works --clusterrole cluster-admin "
               f"--serviceaccount {shell.namespace}:works").must()
    yield shell
    shell.type("kubectl delete deployment operator").must()


def test_lost_rights_of_the_operator_are_told(installed):
    shell = installed
    install(shell, "works")
    said = shell.type("kubectl kusion doctor").must()
    assert f"✓ the operator's account {shell.namespace}/works has its rights" in said, said
    shell.type("kubectl delete rolebinding works && kubectl create role some --verb list,watch,patch "
               "--resource specs.api.kusion.io && kubectl create rolebinding some --role some "
               f"--serviceaccount {shell.namespace}:works").must()
    said = shell.type("kubectl kusion doctor").must(code=1)
    line, = [one for one in said.splitlines() if "lacks rights" in one]
    assert line.startswith(f"✗ the operator's account {shell.namespace}/works lacks rights: update specs/status, ")
    assert "list specs" not in line and "impersonate serviceaccounts" in line and "update leases" in line, line


def failing(shell, name):
    """A Spec of a ServiceAccount that is not there."""
    thing = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": shell.namespace}}
    spec = {"apiVersion": "api.kusion.io/v1", "kind": "Spec",
            "metadata": {"name": name, "namespace": shell.namespace, "labels": {"name": name}},
            "spec": {"serviceAccountName": "absent", "resources": [
                {"id": f"v1:ConfigMap:{shell.namespace}:{name}", "type": "Kubernetes", "attributes": thing}]}}
    (shell.folder / f"{name}.yaml").write_text(yaml.safe_dump(spec))
    shell.type(f"kubectl kusion apply -f {name}.yaml").must()
    shell.type(f"kubectl wait --for=condition=Ready=False spec {name} --timeout 60s").must()


def test_an_account_that_is_not_there_has_no_rights(shell):
    failing(shell, "a")
    for command in ("check a", "grant a --yes"):
        said = shell.type(f"kubectl kusion rbac {command}").must(code=1)
        assert "is not known" in said and "ServiceAccountNotFound" in said and "absent" in said, said


def test_secrets_that_a_killed_preview_left_are_told(shell):
    """One is made, and its process is killed before it belongs to the Release; another one is in use."""
    for name in ("left", "used"):
        shell.type(f"kubectl create secret generic {name} --from-literal a=1 && "
                   f"kubectl label secret {name} app.kubernetes.io/managed-by=kubectl-kusion").must()
    uid = shell.type("kubectl get serviceaccount default -o jsonpath={.metadata.uid}").must()
    owner = f'{{"apiVersion":"v1","kind":"ServiceAccount","name":"default","uid":"{uid}"}}'
    shell.type(f"""kubectl patch secret used -p '{{"metadata":{{"ownerReferences":[{owner}]}}}}'""").must()
    said = shell.type(f"kubectl kusion doctor -n {shell.namespace}").must()
    assert (f"! 1 Secret was left by a preview that was killed, with the values of Secrets: {shell.namespace}/left"
            f"   -> kubectl delete secret left -n {shell.namespace}\n") in said, said
    shell.type("kubectl delete secret left").must()
    assert "left by a preview" not in shell.type(f"kubectl kusion doctor -n {shell.namespace}").must()


def test_lost_state_is_told_before_the_spec_says_so(shell):
    shell.type("kubectl kusion apply -f web.yaml && kubectl kusion wait web --for ready").must()
    of_state = (f"kubectl get configmaps -n {STATE} -l api.kusion.io/document=state -o json | jq '.items[] | "
                f"""select(.metadata.annotations["api.kusion.io/spec-namespace"] == "{shell.namespace}")'""")
    shell.type(f"{of_state} > state.json && kubectl delete -f state.json").must()
    try:
        said = shell.type(f"kubectl kusion doctor -n {shell.namespace}").must(code=1)
        assert f"✗ the State of 1 Spec is lost: {shell.namespace}/web   -> kubectl kusion explain StateLost\n" in said, said
        assert "True" in shell.type("kubectl kusion status").must()
    finally:
        shell.type("kubectl create -f state.json").must()
    assert "State" not in shell.type(f"kubectl kusion doctor -n {shell.namespace}").must()


def test_all_that_failed_are_tried_again(shell):
    assert shell.type("kubectl kusion reconcile --failed").must() == "No Spec has failed.\n"
    for name in "ab":
        failing(shell, name)
    shell.type("kubectl kusion apply -f web.yaml && kubectl kusion wait web --for ready").must()
    said = shell.type("kubectl kusion reconcile --failed -l name=b").must()
    assert said == f"{shell.namespace}/b: a reconcile is asked for\n"
    said = shell.type("kubectl kusion reconcile --failed").must()
    assert said == "".join(f"{shell.namespace}/{name}: a reconcile is asked for\n" for name in "ab")
    said = shell.type("kubectl kusion reconcile a --failed").must(code=1)
    assert "next:  kubectl kusion reconcile --help" in said
