"""A control plane of hack/controlplane, and what tests do with it."""

import json
import os
import shlex
import subprocess
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from kusion_e2e.api import Api
from kusion_e2e.paths import CONTROLPLANE, CRDS
from kusion_e2e.wait import eventually

KINDS = ("specs.api.kusion.io", "releases.api.kusion.io")


@lru_cache(maxsize=None)
def tool(name):
    """The path of kubectl, helm, …; builds it, where it is missing."""
    return _controlplane("tools", name).strip()


def _controlplane(*arguments):
    return subprocess.run(
        [CONTROLPLANE, *arguments], check=True, stdout=subprocess.PIPE, text=True
    ).stdout


class CommandFailed(AssertionError):
    """A command that had to succeed did not. Shows what it said."""

    def __init__(self, result):
        super().__init__(
            f"{shlex.join(map(str, result.args))}: exit status {result.returncode}\n"
            f"{result.stdout}{result.stderr}"
        )
        self.result = result


class Cluster:
    """Made by `Cluster.up`, or for a control plane that is up."""

    def __init__(self, name, is_own=False):
        self.name = name
        self.is_own = is_own  # it goes when its user does
        line = _controlplane("env", name)
        self.kubeconfig = Path(shlex.split(line)[1].partition("=")[2])
        self.api = Api(self.kubeconfig)

    @classmethod
    @contextmanager
    def given_or_own(cls, prefix):
        """That of KUSION_E2E_CLUSTER, which stays; else one of this run, which goes with it."""
        given = os.environ.get("KUSION_E2E_CLUSTER")
        if given:
            yield cls(given)
            return
        own = cls.up(f"{prefix}-{os.getpid()}")
        try:
            yield own
        finally:
            own.down()

    @classmethod
    def up(cls, name, *options):
        _controlplane("up", name, *options)
        return cls(name, is_own=True)

    def down(self):
        self.api.close()
        _controlplane("down", self.name)

    def run(self, *command, input=None, check=True, timeout=400):
        """Runs a command; gives its CompletedProcess, with stdout and stderr as text."""
        result = subprocess.run(
            command, input=input, capture_output=True, text=True, timeout=timeout, check=False
        )
        if check and result.returncode != 0:
            raise CommandFailed(result)
        return result

    def kubectl(self, *arguments, input=None, check=True):
        return self.run(
            tool("kubectl"), "--kubeconfig", self.kubeconfig, *arguments, input=input, check=check
        )

    def helm(self, *arguments, check=True):
        return self.run(tool("helm"), "--kubeconfig", self.kubeconfig, *arguments, check=check)

    def apply(self, text, namespace=None, check=True):
        """Server-side apply of YAML, checked strictly."""
        where = ("--namespace", namespace) if namespace else ()
        command = ("apply", "--server-side", "--validate=strict", *where, "-f", "-")
        return self.kubectl(*command, input=text, check=check)

    def get_json(self, *arguments):
        """kubectl get … as an object; None where it does not exist."""
        result = self.kubectl("get", *arguments, "--ignore-not-found", "-o", "json")
        return json.loads(result.stdout) if result.stdout.strip() else None

    def install_crds(self):
        self.kubectl("apply", "--server-side", "--validate=strict", "-f", CRDS)
        self.wait_for_crds()
        eventually(self.kubectl_knows_kinds)

    def kubectl_knows_kinds(self):
        """It keeps what it knows of a server, and what it knew before they came may lack them."""
        command = ("api-resources", "--api-group=api.kusion.io", "-o", "name")
        return set(KINDS) <= set(self.kubectl(*command).stdout.split())

    def wait_for_crds(self):
        """Until their objects can be listed, too, which is up to 2 s after they are established.
        (`kubectl wait` fails where a CRD is so new that it has no conditions yet.)"""
        for name in KINDS:
            eventually(lambda: self.is_established(name))
        for name in KINDS:
            plural, _, group = name.partition(".")
            eventually(lambda: self.api.get(f"/apis/{group}/v1/{plural}?limit=1").must())

    def is_established(self, crd):
        conditions = (self.get_json("crd", crd) or {}).get("status", {}).get("conditions") or []
        return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)

    def delete_crds(self):
        """Those that are there. A CRD whose objects cannot be listed yet is not deleted at once:
        the API server then may forget about it until its next resync, minutes later."""
        if all(self.get_json("crd", name) for name in KINDS):
            self.wait_for_crds()
        self.kubectl("delete", "crd", *KINDS, "--ignore-not-found")

    def new_namespace(self, prefix="test"):
        """A namespace of a name that was not there before, with all that a cluster puts into it."""
        namespace = {"metadata": {"generateName": f"{prefix}-"}}
        name = self.api.create("/api/v1/namespaces", namespace).must().object["metadata"]["name"]
        # The controllers of a busy plane were seen to take 90 s for these.
        paths = [f"/api/v1/namespaces/{name}/{path}"
                 for path in ("serviceaccounts/default", "configmaps/kube-root-ca.crt")]
        eventually(lambda: all(self.api.get(path).ok for path in paths), seconds=300)
        return name

    def ensure_namespace(self, name):
        """It may be there: of a plane that is used again."""
        self.apply(json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))

    def delete_namespace(self, name):
        """Does not wait until it is gone."""
        answer = self.api.delete(f"/api/v1/namespaces/{name}")
        assert answer.ok or answer.code in (404, 409), answer  # 409: it goes already

    def leave_namespace(self, name):
        """One of new_namespace(), after its test. Its deletion takes the API server a hundred requests. So one that
        has no Spec any more goes with its plane, if that goes soon."""
        specs = self.api.get(f"/apis/api.kusion.io/v1/namespaces/{name}/specs?limit=1")
        if not self.is_own or (specs.ok and specs.object["items"]):
            self.delete_namespace(name)
