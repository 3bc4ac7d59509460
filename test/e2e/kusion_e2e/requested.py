"""Specs of which people request a Rollback or a Destroy, with a Release."""

import json

from kusion_e2e.approved import Approved
from kusion_e2e.releases import releases_path
from kusion_e2e.specs import Spec
from kusion_e2e.states import open_text
from kusion_e2e.wait import eventually

GENERATED = "api.kusion.io/generated"
ENDED = ("succeeded", "failed", "cancelled")


class Requested(Approved):
    """Without approval, unless `fields` ask for it."""

    def __init__(self, cluster, namespace, name="spec"):
        super().__init__(cluster, namespace, name)
        self.fields, self.requests = {}, 0

    def apply(self, resources, **fields):
        return Spec.apply(self, resources, **{**self.fields, **fields})

    def request(self, operation, **fields):
        """Makes the Release; its name."""
        self.requests += 1
        name = f"{self.name}-{operation.lower()}-{self.requests}"
        body = {"apiVersion": "api.kusion.io/v1", "kind": "Release",
                "metadata": {"name": name, "namespace": self.namespace},
                "spec": {"specRef": {"name": self.name}, "operation": operation, **fields}}
        self.cluster.kubectl("create", "-f", "-", input=json.dumps(body))
        return name

    def release(self, name):
        return self.cluster.api.get(releases_path(self.namespace, f"/{name}")).must().object

    def wait_ended(self, request):
        def ended():
            release = self.release(request)
            assert release["status"].get("phase") in ENDED, (release["status"], self.get())
            return release

        return eventually(ended)

    def wait_request(self, request, phase="succeeded"):
        release = self.wait_ended(request)
        assert release["status"]["phase"] == phase, (release["status"], self.get()["status"])
        return release

    def records(self):
        """The Releases of the operator, by revision."""
        return [one for one in self.releases()
                if GENERATED in one["metadata"].get("labels", {})]

    def waiting_record(self):
        for one in self.records():
            if one["status"].get("phase") == "awaitingApproval":
                return one
        raise AssertionError([one["status"] for one in self.records()])

    def wait_reason(self, reason):
        def says():
            ready = self.condition()
            assert ready and ready["reason"] == reason, self.get()["status"]
            return ready

        return eventually(says)

    def live(self, plural, name):
        answer = self.cluster.api.get(f"/api/v1/namespaces/{self.namespace}/{plural}/{name}")
        return answer.object if answer.ok else None

    def edit_live(self, name, **data):
        path = f"/api/v1/namespaces/{self.namespace}/configmaps/{name}"
        self.cluster.api.patch(path, {"data": data}).must()

    def open_text(self):
        return open_text(self.cluster, self)
