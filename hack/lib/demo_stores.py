"""What `hack/demo stores` shows: examples/guestbook.yaml with State in PostgreSQL, which is then moved to a bucket
of S3, and from where all of it is deleted. State is sealed on both. Exit status 1 where something is not as it
should be."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from demo import BOLD, DEADLINE, GREEN, DemoFailed, paint, read_arguments, row, run
from demo_commands import CommandDemo
from kubewatch import ROOT

PROGRAM = ROOT / "build" / "release" / "bin" / "kusion-operator"
NAMES = {"POSTGRES": os.environ["KUSION_TEST_POSTGRES"], "S3": os.environ["KUSION_TEST_S3"]}


class StoresDemo(CommandDemo):
    def __init__(self, manifest, plane, folder):
        super().__init__(manifest, plane, None)
        self.folder = folder
        self.process = None
        self._environment.update(NAMES, KEYS=str(self._make_key()), PATH=f"{PROGRAM.parent}:{self._environment['PATH']}")
        self.watch()

    def _make_key(self):
        """A folder as a mounted Secret has it: keys, and the name of that which seals."""
        keys = self.folder / "keys"
        keys.mkdir()
        for name, content in (("k1", os.urandom(32)), ("current", b"k1")):
            (keys / name).write_bytes(content)
            (keys / name).chmod(0o400)
        return keys

    # The operator

    def start(self, name):
        command = (f'kusion-operator --kubeconfig "$KUBECONFIG" --state-namespace kusion-system '
                   f'--state-backend "${name}" --state-key "file:$KEYS"')
        print(f"  {paint(BOLD, '$ ' + command)} &", flush=True)
        command += " --health-bind-address 127.0.0.1:0 --metrics-bind-address ''"
        with open(self.folder / "log", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(["bash", "-c", f"exec {command}"], env=self._environment, stdout=log,
                                            stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)
        self.operator = self.process.pid

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(DEADLINE)
            self.process = self.operator = None

    # What is kept

    @staticmethod
    def of_state(text):
        return (f'kusion-operator state {text} --state-key "file:$KEYS" --kubeconfig "$KUBECONFIG" '
                "--state-namespace kusion-system")

    def command(self, text):
        """A command of the operator's for its State."""
        said = self.type_in(self.of_state(text))
        print("\n".join(f"    {line}" for line in said.splitlines()), flush=True)

    def look(self, name):
        self.command(f'list --state-backend "${name}"')
        self.command(f'verify --state-backend "${name}"')
        if self.state_objects():
            raise DemoFailed(f"State is in the cluster: {self.state_objects()}")
        print(f"\n  In the cluster there is {paint(GREEN, 'no State')}: no ConfigMap of it, and no Secret.")

    def uids(self):
        return {resource.id: resource.live["metadata"]["uid"] for resource in self.resources.values()}

    # The acts

    def begin(self):
        self.act("An operator whose State is in PostgreSQL, sealed by a key of its own")
        self.start("POSTGRES")
        self.apply()
        self.act("What PostgreSQL keeps")
        self.look("POSTGRES")

    def move(self):
        self.act("State is moved to a bucket of S3, while no operator works")
        self.stop()
        self.command('copy --from "$POSTGRES" --to "$S3"')
        self.command('verify --state-backend "$S3"')

    def refuse(self):
        self.act("An operator that goes on with what was left behind does nothing")
        self.start("POSTGRES")
        self.change("as the left store is refused")
        self.follow(lambda: self.reason() == "StoreMoved")
        self.stop()

    def go_on(self):
        self.act("One that works with the bucket goes on with the same objects")
        before = self.uids()
        self.start("S3")
        self.follow(lambda: self.is_ready() and self.reason() not in (None, "StoreMoved"))
        if self.uids() != before:
            raise DemoFailed("the objects are not the same")
        print()
        for resource in self.resources.values():
            row(resource.kind, resource.name, "the same as before")

    def end(self):
        self.delete()
        verify = 'verify --state-backend "$S3"'
        self.follow(lambda: "\n0 documents" in self.output(self.of_state(verify)))  # Releases go after the Spec
        self.command(verify)

    def change(self, text):
        """Something that changes no object: a new generation."""
        self.manifest["spec"]["context"] = {"note": text}
        self.write(self.manifest, f"context.note: {text}")
        self.type_apply()

    def reason(self):
        status = (self.spec or {}).get("status", {})
        if not self.spec or status.get("observedGeneration") != self.spec["metadata"]["generation"]:
            return None
        return next((c["reason"] for c in status.get("conditions", []) if c["type"] == "Ready"), None)


def show(demo):
    demo.begin()
    demo.move()
    demo.refuse()
    demo.go_on()


def main():
    arguments = read_arguments()
    with tempfile.TemporaryDirectory(prefix="kusion-stores-demo-") as folder:
        demo = StoresDemo(yaml.safe_load(StoresDemo.example.read_text()), arguments.plane, Path(folder))
        try:
            status = run(show, demo, arguments.once)
            if status == 1:
                print((Path(folder) / "log").read_text()[-3000:], file=sys.stderr)
        finally:
            demo.stop()
    return status


if __name__ == "__main__":
    sys.exit(main())
