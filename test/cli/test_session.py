"""How the API server is reached: kubeconfigs, plugins, and what breaks."""

import json
import re
import stat
import time

from kusion_e2e.wait import eventually

PLUGIN = """#!/bin/sh
echo run >> {folder}/runs
printf '{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{{"token":"%s"}}}}' \
    "$(cat {folder}/token)"
"""


def token_of(shell):
    return shell.type("kubectl create token default").must().strip()


def use_plugin(shell):
    plugin = shell.folder / "plugins/login"  # kubectl writes its path as one that counts from the kubeconfig
    plugin.parent.mkdir()
    plugin.write_text(PLUGIN.format(folder=shell.folder))
    plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)
    shell.type("kubectl config set-credentials plugin --exec-api-version client.authentication.k8s.io/v1 "
               f"--exec-command {plugin} && kubectl config set-context --current --user plugin").must()


def test_a_plugin_gives_the_credentials(shell):
    (shell.folder / "token").write_text(token_of(shell))
    use_plugin(shell)
    shell.type("kubectl kusion apply -f web.yaml --watch").must()
    assert (shell.folder / "runs").read_text() == "run\n", "it is asked once"


def test_a_plugin_that_gives_what_is_refused_is_asked_again(shell):
    (shell.folder / "token").write_text("nonsense")
    use_plugin(shell)
    said = shell.type("kubectl kusion status").must(code=1)
    assert "next:  kubectl auth whoami" in said, said
    assert (shell.folder / "runs").read_text() == "run\nrun\n"


def test_kubeconfigs_are_merged(shell):
    one, two = shell.folder / "one", shell.folder / "two"
    shell.type("kubectl config view --flatten > one").must()
    text = one.read_text()
    two.write_text(re.sub(r"current-context: .*", "", text).replace("server: https", "server: http"))
    one.write_text(text)
    missing = shell.folder / "missing"
    shell.type("kubectl kusion status", KUBECONFIG=f"{missing}:{one}:{two}").must()
    said = shell.type("kubectl kusion status", KUBECONFIG=str(missing)).must(code=1)
    assert "there is no kubeconfig" in said and "next:" in said, said


def test_the_systems_certificates_count_where_none_is_named(shell):
    shell.type("kubectl config view --flatten -o jsonpath='{.clusters[0].cluster.certificate-authority-data}' "
               "--raw | base64 -d > ca.pem").must()
    shell.type("sed -i /certificate-authority/d kubeconfig").must()
    said = shell.type("kubectl kusion status").must(code=1)
    assert "certificate" in said and "next:" in said, said
    shell.type("SSL_CERT_FILE=$PWD/ca.pem kubectl kusion status").must()


def test_only_results_of_what_was_applied_are_told(shell):
    """Nothing that is said is of the generation before, however fast changes follow each other."""
    shell.type("kubectl kusion apply -f web.yaml --watch").must()
    for number in range(2, 7):
        shell.type(f"sed -i 's/color: .*}}/color: c{number}}}/' web.yaml")
        said = shell.type("kubectl kusion apply -f web.yaml --watch -o json").must()
        events = [json.loads(line) for line in said.splitlines()]
        told = {event["revision"] for event in events if "revision" in event}
        assert told == {number}, said
        messages = [event["message"] for event in events if event["type"] == "Spec"]
        assert all("revision" not in text or f"revision {number}" in text for text in messages), said


def test_a_preview_leaves_nothing(shell):
    shell.type("kubectl kusion apply -f web.yaml --watch && kubectl kusion preview web").must()
    assert "preview" not in shell.type("kubectl get releases -o name").must()


def test_a_stopped_operator_is_told(shell, operator):
    shell.type("kubectl kusion apply -f web.yaml --watch").must()
    operator.freeze()
    try:
        shell.type("sed -i s/blue/green/ web.yaml && kubectl kusion apply -f web.yaml").must()
        began = time.monotonic()
        said = shell.type("kubectl kusion apply -f web.yaml --watch --timeout 3s").must(code=3)
        assert time.monotonic() - began < 30 and "no operator has seen it" in said, said
        eventually(lambda: "NotSeen" in shell.type("kubectl kusion status").text)
        assert "not seen by an operator" in shell.type("kubectl kusion doctor").must(code=1)
        eventually(lambda: "no operator is at work" in shell.type("kubectl kusion doctor").text)
    finally:
        operator.thaw()


def test_a_plan_that_waits_is_told_by_those_who_watch(shell):
    shell.type("kubectl kusion apply -f manual.yaml --watch").must(code=4)
    said = shell.type("timeout 3 kubectl kusion status manual --watch").text
    assert "AwaitingApproval  1 to create" in said, said
    said = shell.type("timeout 3 kubectl kusion status --watch").text
    assert f"‖ {shell.namespace}/manual  AwaitingApproval  1 to create" in said, said


def test_a_rollback_finds_what_was_recorded_in_a_document(shell):
    """As that of a resource without a namespace, which may be anything."""
    for color in ("blue", "green"):
        (shell.folder / "manifest.yaml").write_text(
            f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: plain}}\ndata: {{color: {color}}}\n")
        shell.type("set -e; kubectl kusion convert -f manifest.yaml --name plain --service-account default > plain.yaml; "
                   "kubectl kusion apply -f plain.yaml --watch").must()
    assert '"green" -> "blue"' in shell.type("kubectl kusion rollback plain --preview").must()
