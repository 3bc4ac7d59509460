"""graph, explain, completion and the man pages of kubectl-kusion: they need no cluster."""

import re
import shutil
import subprocess

import pytest
import yaml

from program import PROGRAM, ROOT, kusion

CHAIN = """\
resources:
- {id: a, type: Terraform, attributes: {}}
- {id: b, type: Terraform, dependsOn: [a], attributes: {}}
- {id: c, type: Terraform, dependsOn: [a], attributes: {x: $kusion_path.b.y}}
- {id: d, type: Terraform, attributes: {}}
- {id: e, type: Terraform, dependsOn: [c, d], attributes: {}}
"""
KINDS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: other}
---
apiVersion: v1
kind: Namespace
metadata: {name: other}
"""


def graph(text, *arguments):
    return kusion("graph", "-f", "-", *arguments, input=text)


def test_a_tree_has_each_resource_once_below_what_comes_last_before_it():
    assert graph(CHAIN).stdout == ("a\n└─ b\n   └─ c\n      └─ e   also after d\nd\n")
    assert graph(KINDS).stdout == "Namespace/other\n└─ ConfigMap/a\n"


def test_edges_say_where_they_come_from():
    dot = graph(CHAIN, "-o", "dot").stdout
    assert dot.startswith("digraph") and 'n0 [label="a"]' in dot
    assert "n0 -> n2 [style=solid];" in dot and "n1 -> n2 [style=dashed];" in dot
    assert "n1 -> n0 [style=dotted];" in graph(KINDS, "-o", "dot").stdout
    mermaid = graph(CHAIN, "-o", "mermaid").stdout
    assert mermaid.startswith("flowchart LR\n") and "n1 -. ref .-> n2" in mermaid and "n0 --> n1" in mermaid


def test_only_what_one_waits_for():
    assert graph(CHAIN, "--to", "c").stdout == "a\n└─ b\n   └─ c\n"
    result = graph(KINDS, "--to", "ConfigMap/b")
    assert result.returncode == 1 and 'did you mean "ConfigMap/a"?' in result.stderr


def test_names_that_two_have_are_ids():
    text = KINDS.replace("kind: Namespace", "kind: ConfigMap").replace("name: other}", "name: a}")
    assert sorted(graph(text, "-n", "x").stdout.split()) == ["v1:ConfigMap:other:a", "v1:ConfigMap:x:a"]


def test_hostile_names_stay_in_their_quotes():
    name = 'a"];\\ x\u202e\x1b[31m#<b>`'
    text = yaml.safe_dump({"resources": [{"id": name, "type": "Terraform", "attributes": {}}]})
    for format in ("tree", "dot", "mermaid"):
        assert not {"\x1b", "\u202e"} & set(graph(text, "-o", format).stdout)
    assert r'[label="a\"];\\ x' in graph(text, "-o", "dot").stdout
    assert '["a#quot;];' in graph(text, "-o", "mermaid").stdout


def test_the_specs_that_come_first_are_shown():
    spec = {"apiVersion": "api.kusion.io/v1", "kind": "Spec", "metadata": {"name": "web", "namespace": "team"},
            "spec": {"dependsOn": [{"name": "db"}, {"name": "net", "namespace": "platform"}],
                     "resources": yaml.safe_load(CHAIN)["resources"]}}
    text = yaml.safe_dump(spec)
    assert graph(text).stdout.startswith("after the Spec db\nafter the Spec platform/net\na\n"), graph(text).stdout
    dot = graph(text, "-o", "dot").stdout
    assert 's0 [label="Spec db", style=dashed];' in dot and "s1 -> n0 [style=solid];" in dot
    assert "s1 -> n1" not in dot
    assert 's0(["Spec db"])' in graph(text, "-o", "mermaid").stdout


def test_a_large_graph_ends():
    entries = [{"id": f"r{i}", "type": "Terraform", "attributes": {}, "dependsOn": [f"r{i - 1}"] if i else []}
               for i in range(3000)]
    result = graph(yaml.safe_dump({"resources": entries}, default_flow_style=True), "-o", "dot")
    assert result.returncode == 0 and result.stdout.count("->") == 2999


def test_a_deep_tree_goes_on_at_the_margin():
    entries = [{"id": f"r{i}", "type": "Terraform", "attributes": {}, "dependsOn": [f"r{i - 1}"] if i else []}
               for i in range(5000)]
    result = graph(yaml.safe_dump({"resources": entries}, default_flow_style=True))
    lines = result.stdout.splitlines()
    assert len(lines) == 5000 and max(map(len, lines)) < 200
    assert lines[49].endswith("└─ r49") and lines[50] == "r50   also after r49"


def test_one_that_is_wrong_is_not_drawn():
    result = graph(CHAIN.replace("dependsOn: [a], attributes: {}", "dependsOn: [e], attributes: {}"))
    assert result.returncode == 1 and " -> " in result.stderr and "kubectl kusion validate" in result.stderr
    assert kusion("graph").returncode == 1


# ---- explain ----

REASONS = re.findall(r"^REASON\((\w+),", (ROOT / "controller/reconcile/status/reason.def").read_text(), re.MULTILINE)


def test_every_reason_is_explained():
    known = set(kusion("explain").stdout.split())
    assert len(REASONS) > 50 and [reason for reason in REASONS if reason not in known] == []


@pytest.mark.parametrize("reason", ["HealthCheckFailed", "secretsinclear", "TooLarge", "UnderWay"])
def test_an_explanation_is_plain_text(reason):
    said = kusion("explain", reason).stdout
    assert said.lower().startswith(reason.lower()) or reason in said.splitlines()[0]
    assert len(said) > 80 and "`" not in said and "](" not in said
    assert max(len(line) for line in said.splitlines()) <= 120


def test_links_lead_to_pages():
    assert "docs/approval.md" in kusion("explain", "AwaitingApproval").stdout
    assert "(docs/troubleshooting.md#rights-that-are-missing)" in kusion("explain", "AccessDenied").stdout
    assert "(docs/http.md#hosts)" in kusion("explain", "HostNotAllowed").stdout


@pytest.mark.parametrize("reason, page", [("Ready", "troubleshooting"), ("StateLost", "reasons")])
def test_an_explanation_says_where_it_is_from(reason, page):
    assert kusion("explain", reason).stdout.endswith(f"\nFrom docs/{page}.md.\n")


def test_all_paragraphs_are_told():
    lines = kusion("explain", "TooLarge").stdout.splitlines()
    for beginning in ("The operation needs more memory", "Of one resource: ", "Of a Terraform resource: "):
        assert any(line.startswith(beginning) for line in lines), lines


def test_reasons_with_one_text_are_told_together():
    assert kusion("explain", "KindNotServed").stdout.startswith("KindNotFound, KindNotServed\n")


def test_an_unknown_reason():
    result = kusion("explain", "StateLos")
    assert result.returncode == 1 and "did you mean StateLost?" in result.stderr


# ---- completion, man pages ----

@pytest.mark.parametrize("words, candidates", [
    (["sta"], ["status", "state"]), (["state", ""], ["list", "show"]), (["graph", "-o", ""], ["tree", "dot", "mermaid"]),
    (["convert", "--order", "w"], ["waves"]), (["validate", "--rec"], ["--recursive"]),
    (["-n", "apps", "expl"], ["explain"]), (["completion", "z"], ["zsh"]), (["validate", "-f", ""], []),
    (["status", ""], []), (["__"], []),
])
def test_what_comes_next(words, candidates):
    said = kusion("__complete", "--", *words).stdout.split()
    assert said == candidates or set(candidates) <= set(said) and len(words) == 2 and words[1] == "", said


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "kubectl"])
def test_scripts_are_what_the_shell_reads(shell):
    script = kusion("completion", shell).stdout
    assert "__complete" in script
    if shell in ("bash", "kubectl"):
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_bash_completes():
    script = f"""
        source <("{PROGRAM}" completion bash)
        PATH="{PROGRAM.parent}:$PATH"
        COMP_WORDS=(kubectl-kusion conv); COMP_CWORD=1; _kubectl_kusion; echo "${{COMPREPLY[@]}}"
        COMP_WORDS=(kubectl-kusion convert --na); COMP_CWORD=2; _kubectl_kusion; echo "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script], text=True, capture_output=True, check=True)
    assert done.stdout.splitlines() == ["convert", "--namespace --name"]


@pytest.mark.skipif(not shutil.which("zsh"), reason="there is no zsh")
def test_zsh_completes_at_once_when_the_script_is_autoloaded(tmp_path):
    (tmp_path / "_kubectl_kusion").write_text(kusion("completion", "zsh").stdout)
    script = f"""
        PATH="{PROGRAM.parent}:$PATH"; fpath=("{tmp_path}" $fpath); autoload -Uz _kubectl_kusion
        compadd() {{ print -r -- "$@" }}
        words=(kubectl-kusion conv); CURRENT=2; _kubectl_kusion
    """
    done = subprocess.run(["zsh", "-f", "-c", script], text=True, capture_output=True, check=True)
    assert done.stdout.splitlines() == ["-- convert"]


def test_man_pages(tmp_path):
    assert kusion("__man", tmp_path).returncode == 0
    pages = {path.name for path in tmp_path.iterdir()}
    commands = re.findall(r"^  ([a-z]+(?: [a-z]+)?) ", kusion("help").stdout, re.MULTILINE)
    commands = [one for one in commands if one != "kubectl kusion"]
    assert pages >= {"kubectl-kusion.1", "kubectl-kusion-state-show.1", "kubectl-kusion-convert.1"}
    assert len(pages) == len(commands) + 1
    for path in tmp_path.iterdir():
        text = path.read_text()
        assert text.startswith(".TH ") and ".SH NAME" in text
        assert not [line for line in text.splitlines() if re.match(r"['.](?!(TH|SH|TP|nf|fi)\b)", line)]
    assert kusion("__man", tmp_path / "nowhere").returncode == 1


def test_the_version_is_told_without_a_cluster():
    said = kusion("version")
    assert said.returncode == 0 and re.match(r"client    \d+\.\d+\.\d+\noperator  not known: ", said.stdout)
