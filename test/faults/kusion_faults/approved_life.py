"""A life whose plans wait for approval: `approval.mode: Manual`.

Each plan is looked at once more while it waits, and then approved: in its Release, of the first
generation, and in the Spec, of the second. What must hold besides what holds of every life: nothing
is changed before an approval, and of the Releases at most one waits."""

import re
import time

from kusion_faults.life import STEP, Life

MANUAL = {"approval": {"mode": "Manual"}}
ENOUGH = 1000      # requests of such a life; one without faults has 290
ROUNDS = 6         # Releases of one generation: what a fault hid needs another round
GARBAGE = 60       # seconds within which the garbage collector takes away the Releases; it looks for
                   # new kinds every 30 s
OWN = re.compile(r"/(specs|releases|events|leases)(/|\?|$)")


def digest_of(release):
    return release["status"]["plan"]["digest"]


class ApprovedLife(Life):
    step = 2 * STEP  # there may be two rounds
    enough, succeeded = ENOUGH, 3 + ROUNDS  # what is approved in part succeeds, too

    def __init__(self, *args):
        super().__init__(*args)
        self._looked = {}     # by a Release's name: the look that was asked for
        self._approved = set()
        self._since = 0       # of the lane's requests: when this generation began
        self._in_spec = False

    def _apply(self, resources):
        self._since = len(self.lane.requests())
        self._approved = set()
        self._resources = resources
        super()._apply(resources)
        self._in_spec = True

    def _fields(self):
        return {**super()._fields(), **MANUAL}

    def _is_ready(self):
        waiting = [one for one in self.spec.releases()
                   if one.get("status", {}).get("phase") == "awaitingApproval"]
        if len(waiting) > 1:
            self._broken(f"{len(waiting)} Releases wait at once")
        for release in waiting:
            self._attend(release)
        return super()._is_ready()

    def _kept(self):
        """What waited for approval goes after its Release, and that after the Spec."""
        end = time.monotonic() + GARBAGE
        while self.room.kept() and time.monotonic() < end:
            time.sleep(0.1)
        return self.room.kept()

    def _attend(self, release):
        """Looks once more, and approves it after that."""
        spec, name = self.spec.get(), release["metadata"]["name"]
        if not spec or digest_of(release) in self._approved:  # in the Spec, for the next Release
            return
        handled = spec.get("status", {}).get("lastHandledReconcileAt")
        if not self._approved:
            self._nothing_is_changed()
        if name not in self._looked:
            self._looked[name] = f"look-{len(self._looked)}"
            self.api.patch(self.spec.path, {"metadata": {"annotations": {
                "api.kusion.io/reconcile-requested-at": self._looked[name]}}}).must()
        elif handled == self._looked[name]:
            self._approve(release)

    def _approve(self, release):
        digest = digest_of(release)
        if self._in_spec:
            answer = self.api.patch(self.spec.path, {"spec": {"approval": {"approvedPlan": digest}}})
            self.spec.generation = answer.must().object["metadata"]["generation"]
        else:
            path = f"/apis/api.kusion.io/v1/namespaces/{self.room.tenant}/releases"
            answer = self.api.patch(f"{path}/{release['metadata']['name']}",
                                    {"spec": {"approvedPlan": digest}})
        if answer.ok:  # another plan may have taken its place
            self._approved.add(digest)
        if len(self._approved) > ROUNDS:
            self._broken(f"{len(self._approved)} plans were approved, of one generation")

    def _nothing_is_changed(self):
        writes = [f"{one['verb']} {one['path']}" for one in self.lane.requests(self._since)
                  if one["verb"] not in ("GET", "WATCH") and self.world.mark in one["path"]
                  and "dryRun=" not in one["path"] and not OWN.search(one["path"])]
        if writes:
            self._broken(f"nothing is approved, and it writes: {writes}")
