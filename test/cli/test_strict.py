"""What asks a real API server, of the commands that also work without one: validate --strict, graph NAME,
version, and completion of names."""

import pytest

SPEC = """\
apiVersion: api.kusion.io/v1
kind: Spec
metadata: {name: web}
spec:
  resources:
  - id: v1:ConfigMap:NAMESPACE:a
    type: Kubernetes
    attributes:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: a, namespace: NAMESPACE}
  - id: apps/v1:Deployment:NAMESPACE:web
    type: Kubernetes
    dependsOn: [v1:ConfigMap:NAMESPACE:a]
    attributes:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web, namespace: NAMESPACE}
      spec:
        replicas: 0
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}}
          spec: {containers: [{name: web, image: web}]}
"""
STRICT = "kubectl kusion validate -f spec.yaml --strict"


@pytest.fixture
def write(shell):
    def write(text):
        (shell.folder / "spec.yaml").write_text(text.replace("NAMESPACE", shell.namespace))
    return write


def test_one_that_is_right(shell, write):
    write(SPEC)
    assert shell.type(STRICT).must() == "no problem in 2 resources\n"


@pytest.mark.parametrize("before, after, line, told", [
    ("replicas: 0", "replicass: 0", "spec.yaml:20:9  error  Deployment/web  ", "replicass"),
    ("image: web}", "image: web, ports: [{containerPort: 70000}]}", "spec.yaml:24:64  error  Deployment/web  ", "must be between 1 and 65535"),
    ("apps/v1", "apps/v9", "spec.yaml:15:5  error  Deployment/web  ", "no kind Deployment in apps/v9"),
])
def test_the_api_server_says_what_only_it_knows(shell, write, before, after, line, told):
    write(SPEC.replace(before, after))
    shell.type(STRICT.removesuffix("--strict")).must()
    said = shell.type(STRICT).must(1)
    assert line in said and told in said, said


def test_what_the_input_makes_itself_is_not_asked_for(shell, write):
    write("apiVersion: v1\nkind: Namespace\nmetadata: {name: not-yet}\n---\n"
          "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: not-yet}\n")
    shell.type(STRICT).must()


def test_a_spec_of_the_cluster_is_drawn_and_completed(shell, write):
    write(SPEC)
    shell.type("kubectl apply --server-side -f spec.yaml").must()
    assert shell.type("kubectl kusion graph web").must() == "ConfigMap/a\n└─ Deployment/web\n"
    assert shell.type("kubectl-kusion __complete -- status w").must() == "web\n"
    assert shell.type("kubectl-kusion __complete -- status x").must() == ""


def test_the_version_is_compared(shell):
    said = shell.type("kubectl kusion version").must()
    assert said.startswith("client    ") and "operator  " in said
