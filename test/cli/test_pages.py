"""The commands of pages that no other test types, as they stand there: README.md, approval.md, cli.md, migration.md,
pipelines.md, replace.md, runbooks.md, state.md, state-encryption.md, troubleshooting.md. What `kubectl kusion` says is in
the golden files (test_transcripts.py); here it counts that each command does what the page is about."""

import re

import pytest
from kusion_e2e.pages import marked

MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {color: %s}\n"


class Reader:
    """Who types what a page says, in a namespace of their own."""

    def __init__(self, shell):
        self.shell = shell

    def write(self, name, text):
        (self.shell.folder / name).parent.mkdir(exist_ok=True)
        (self.shell.folder / name).write_text(text)

    def here(self, text):
        text = re.sub(r"\b(team-a|shop)\b", self.shell.namespace, text)
        return text.replace("--service-account deployer", "--service-account default")

    def must(self, text, code=0):
        return self.shell.type(f"set -e\n{text}", HOME=str(self.shell.folder)).must(code)

    def blocks(self, page):
        return [self.here(block.text) for block in marked(page, __file__)]

    def change(self, color, **fields):
        """web.yaml with another color, and more fields of the Spec."""
        text = (self.shell.folder / "web.yaml").read_text()
        text = re.sub(r"color: \w+", f"color: {color}", text)
        lines = "".join(f"  {name}: {value}\n" for name, value in fields.items())
        text = re.sub(r"^spec:\n(  approval:.*\n)?", f"spec:\n{lines}", text, flags=re.MULTILINE)
        (self.shell.folder / "web.yaml").write_text(text)


@pytest.fixture
def reader(shell):
    return Reader(shell)


def test_readme(reader):
    for color in ("blue", "green"):  # a rollback needs an earlier revision
        reader.write("manifests/web.yaml", MANIFEST % ("web", color))
        [commands] = reader.blocks("README.md")
        convert, preview, apply, rollback = commands.splitlines()
        reader.must("\n".join((convert, preview, apply)))
    assert '"green" -> "blue"' in reader.must(rollback)


def test_approval(reader):
    reader.must("kubectl kusion apply -f manual.yaml --watch", code=4)
    [command] = reader.blocks("approval.md")
    reader.must('release="$(kubectl get releases -o name)"\n'
                'digest="$(kubectl get "$release" -o jsonpath="{.status.plan.digest}")"\n' + command)
    reader.must("kubectl kusion wait manual")
    assert "lead@example.com" in reader.must("kubectl kusion history manual")


def test_cli(reader):
    shell = reader.shell
    reader.write("deploy/web.yaml", MANIFEST % ("web", "blue"))
    (shell.folder / ".local/bin").mkdir(parents=True)
    reader.must("kubectl kusion apply -f web.yaml --watch")
    reader.must("kubectl kusion apply -f stuck.yaml --watch", code=1)
    conflict = "sed s/green/grey/ web.yaml | kubectl apply --server-side --force-conflicts -f -"

    def another(color, **fields):
        reader.change(color, **fields)
        reader.must("kubectl kusion apply -f web.yaml --watch --force-conflicts", code=4 if fields else 0)

    before = {
        "apply -f web.yaml --watch": lambda: reader.change("green"),
        "apply -f web.yaml": lambda: (reader.must(conflict), reader.change("red")),
        "approve web": lambda: another("white", approval="{mode: Manual}"),
        "reject web": lambda: another("black", approval="{mode: Manual}"),
        "rollback web --preview": lambda: (another("pink"), another("blue")),
        "reconcile web": lambda: another("green"),
    }
    answers = {"approve web": ["yes"], "reject web": ["yes"], "rollback web": ["web"]}
    fails = {"apply -f web.yaml", "doctor"}
    for block in marked("cli.md", __file__):
        commands = block.commands() if block.language == "console" else [(one, ()) for one in block.text.splitlines()]
        for command, shown in commands:
            what = next((w for w in ("reject web", "reconcile web") if f"kusion {w} " in command), "")
            what = what or command.removeprefix("kubectl kusion ")
            in_pipeline = block.text.startswith("kubectl kusion apply")
            if not in_pipeline:
                before.get(what, lambda: None)()
            command = reader.here(command)
            if what in answers:
                said = shell.on_terminal(command, *answers[what])
            else:
                said = shell.type(command, HOME=str(shell.folder))
            assert said.code == (1 if what in fails and not in_pipeline else 0), (command, said.text)
            said_heads = [line.split() for line in said.text.splitlines()]
            assert all(head.split() in said_heads for head in shown if re.fullmatch(r"[A-Z -]+", head)), said.text


def test_migration(reader):
    for name in "ab":
        reader.write(f"manifests/{name}.yaml", MANIFEST % (name, "blue"))
    [command] = reader.blocks("migration.md")
    reader.must(command)
    assert reader.must("kubectl get specs -o name").split()


def test_pipelines(reader):
    reader.must("cp web.yaml spec.yaml")
    [command] = reader.blocks("pipelines.md")
    preview, *rest = command.splitlines()
    reader.must(preview, code=2)
    reader.must("\n".join(rest))
    reader.must(preview)


def test_replace(reader):
    reader.must("kubectl create -f - <<'EOF'\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: cache}\n"
                "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\nEOF")
    [command] = reader.blocks("replace.md")
    reader.must(command)


def test_state(reader):
    reader.must("kubectl kusion apply -f web.yaml --watch")
    [place] = reader.blocks("state.md")
    assert reader.must(place).strip()


def test_state_encryption(reader):
    [command] = reader.blocks("state-encryption.md")
    reader.must(command)
    reader.must("kubectl delete secret -n kusion-system kusion-state-key")


def test_troubleshooting(reader):
    namespace = reader.shell.namespace
    reader.must("kubectl kusion apply -f web.yaml --watch\n"
                "kubectl kusion convert --preview -f web.yaml | kubectl create -f -\n"
                f"kubectl create role kusion:{namespace}:default:get --verb=get --resource=configmaps")
    preview = reader.must("kubectl get releases -o name | grep preview | cut -d / -f 2").strip()
    for command in sorted(reader.blocks("troubleshooting.md"), key=lambda one: "Orphan" in one):  # the Spec goes with it
        said = reader.must(command.replace("preview-cwc8c", preview).replace("NAME", namespace))
        if command.startswith("kubectl get all"):
            assert "deployment.apps/web" in said and "configmap/web" in said
        if "Orphan" in command:
            reader.must("kubectl delete spec web")
            reader.must("kubectl get deployment web")


def test_runbooks(reader):
    reader.must("kubectl kusion apply -f web.yaml --watch")
    reader.change("green")
    reader.must("kubectl kusion apply -f web.yaml --watch")
    for command in reader.blocks("runbooks.md"):
        for line in command.splitlines():
            finds = "-A" in line or "doctor" in line  # and its exit code is 1 for what others have there, too
            reader.must(f"{line} | cat" if finds else line)
