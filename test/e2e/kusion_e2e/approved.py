"""Specs whose plans a person approves."""

from kusion_e2e.specs import Spec
from kusion_e2e.state_backend import need_objects
from kusion_e2e.wait import eventually

MANUAL = {"approval": {"mode": "Manual"}}


class Approved(Spec):
    """A Spec whose plans a person approves."""

    def apply(self, resources, **fields):
        return super().apply(resources, **{**MANUAL, **fields})

    def release_path(self, release):
        need_objects()
        return (f"/apis/api.kusion.io/v1/namespaces/{self.namespace}/releases/"
                f"{release['metadata']['name']}")

    def waiting(self, **counts):
        """The Release that waits, when the Spec says that it does."""

        def waits():
            assert (self.condition() or {}).get("reason") == "AwaitingApproval", self.get()
            releases = self.releases()
            assert releases, "there is none"
            release = releases[-1]
            assert release["status"].get("phase") == "awaitingApproval", release["status"]
            plan = release["status"]["plan"]
            assert {key: plan[key] for key in counts} == counts, plan
            return release

        return eventually(waits)

    def approve(self, release, digest=None, manager="alice", unseen=False):
        body = {"spec": {"approvedPlan": digest or release["status"]["plan"]["digest"]}}
        if unseen:
            body["spec"]["approvedUnseen"] = True
        self.cluster.api.patch(f"{self.release_path(release)}?fieldManager={manager}", body).must()

    def approve_in_spec(self, digest, manager="bob"):
        body = {"spec": {"approval": {"approvedPlan": digest}}}
        answer = self.cluster.api.patch(f"{self.path}?fieldManager={manager}", body).must()
        self.generation = answer.object["metadata"]["generation"]

    def look(self):
        """Asks for a reconcile, and waits until it is over."""
        trigger = self.get()["metadata"]["resourceVersion"]
        self.cluster.api.patch(self.path, {"metadata": {"annotations": {
            "api.kusion.io/reconcile-requested-at": trigger}}}).must()
        eventually(lambda: self.get()["status"].get("lastHandledReconcileAt") == trigger)

    def phases(self):
        return [one["status"].get("phase") for one in self.releases()]

    def data(self, name):
        """Of a ConfigMap in its namespace; None: it is not there."""
        path = f"/api/v1/namespaces/{self.namespace}/configmaps/{name}"
        answer = self.cluster.api.get(path)
        return answer.object["data"] if answer.ok else None
