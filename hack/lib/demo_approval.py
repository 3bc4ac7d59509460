"""What `hack/demo approval` shows: examples/guestbook.yaml, whose changes wait for approval. A change is
previewed, approved and applied; another makes things worse, and is rolled back. Exit status 1 where something
is not as it should be."""

import copy
import json
import shlex
import sys

from demo import GREEN, DemoFailed, make, paint, run
from demo_commands import CommandDemo

FRONTEND = "apps/v1:Deployment:team-a:frontend"
SETTINGS = "v1:ConfigMap:team-a:frontend"
BUDGET = "policy/v1:PodDisruptionBudget:team-a:frontend"


def attributes(manifest, name):
    return next(one["attributes"] for one in manifest["spec"]["resources"] if one["id"] == name)


def without(manifest, name):
    made = copy.deepcopy(manifest)
    made["spec"]["resources"] = [one for one in made["spec"]["resources"] if one["id"] != name]
    return made


def better(guestbook):
    """Something is changed, something comes, a password is another one."""
    made = copy.deepcopy(guestbook)
    made["spec"]["approval"] = {"mode": "Manual"}
    pod = attributes(made, FRONTEND)["spec"]["template"]["spec"]
    pod["containers"][0]["image"] = "php:8.4-apache"
    attributes(made, SETTINGS)["data"]["GREETING"] = "Welcome, visitor"
    attributes(made, "v1:Secret:team-a:redis")["data"]["password"] = "YW5vdGhlciBvbmU="
    return made


def worse(guestbook):
    """Nobody answers any more."""
    made = without(guestbook, BUDGET)
    attributes(made, FRONTEND)["spec"]["replicas"] = 0
    attributes(made, SETTINGS)["data"]["REDIS_PORT"] = "6380"
    return made


def reason_of(item):
    """Of the condition Ready."""
    conditions = item.get("status", {}).get("conditions", [])
    return next((one["reason"] for one in conditions if one["type"] == "Ready"), None)


class ApprovalDemo(CommandDemo):
    def __init__(self, guestbook, plane, operator):
        super().__init__(guestbook, plane, operator)
        self.better, self.worse = better(guestbook), worse(better(guestbook))
        self.watch()
        self.manifest, self.budget = without(guestbook, BUDGET), self.resources.pop(BUDGET)

    # What is so

    def waiting(self):
        """The name of the Release that waits for approval."""
        return next((name for name, one in self.releases.items()
                     if one.get("status", {}).get("phase") == "awaitingApproval"), None)

    def replicas(self):
        live = self.resources[FRONTEND].live
        return live["status"].get("availableReplicas", 0) if live else 0

    def is_as_it_was(self):
        return self.replicas() == 3 and self.resources[BUDGET].live

    def is_gone(self):
        """The documents of plans go last."""
        return super().is_gone() and not self.state_objects()

    # The acts

    def preview(self):
        self.act("A change is previewed: nothing is stored, nothing is changed")
        self.resources[BUDGET] = self.budget
        self.write(self.better, "another image and password, a greeting, a PodDisruptionBudget; approval.mode: Manual")
        name = self.preview_file()
        self.show_plan(name)
        return self.status_of(name)["plan"]["digest"]

    def apply_file(self):
        """Gives the Release that waits then."""
        self.type_apply()
        self.follow(lambda: self.waiting() and reason_of(self.spec) == "AwaitingApproval")
        return self.waiting()

    def approve(self, release, is_done):
        digest = self.status_of(release)["plan"]["digest"]
        patch = json.dumps({"spec": {"approvedPlan": digest}})
        self.type_in(f"kubectl patch release {release} -n {self.namespace} --type=merge -p {shlex.quote(patch)}")
        self.follow(lambda: self.has_ended(release) and is_done())
        if self.status_of(release)["phase"] != "succeeded":
            raise DemoFailed(f"{release}: {self.status_of(release).get('summary')}")
        approval = self.status_of(release)["approval"]
        print(f"\n  {paint(GREEN, 'Approved')} by {approval.get('manager')} at {approval.get('time')}, and done.")

    def change(self, digest):
        self.act("The change is applied: its Release waits, with the plan of the Preview")
        release = self.apply_file()
        if self.status_of(release)["plan"]["digest"] != digest:
            raise DemoFailed("the plan that waits is not the plan that was previewed")
        print(f"\n  The digest is {paint(GREEN, 'that of the Preview')}: {digest[:16]}…\n", flush=True)
        self.approve(release, self.is_ready)
        return self.status_of(release)["revision"]

    def make_worse(self):
        self.act("The next change makes it worse, and is approved all the same")
        self.write(self.worse, "no replicas, a wrong port, no PodDisruptionBudget")
        release = self.apply_file()
        self.show_plan(release)
        self.approve(release, self.is_ready)
        if self.replicas():
            raise DemoFailed("the page is still there")

    def roll_back(self, revision):
        self.act(f"Back to revision {revision}")
        release = self.create_release(operation="Rollback", toRevision=revision)
        self.follow(lambda: self.has_ended(release) or self.waiting())  # its plan may want an approval, too
        waiting = self.waiting()
        if waiting:
            self.show_plan(waiting)
            self.approve(waiting, self.is_as_it_was)
        self.follow(lambda: self.has_ended(release) and self.is_as_it_was())
        if self.status_of(release)["phase"] != "succeeded":
            raise DemoFailed(f"{release}: {self.status_of(release).get('summary')}")
        if not waiting:
            self.show_plan(release)
        held = self.type_in(f"kubectl get spec {self.name} -n {self.namespace}")
        print(f"\n{held}\n\n  It is {paint(GREEN, f'as in revision {revision}')}; the Spec is held until it changes.")


def show(demo):
    demo.apply()
    digest = demo.preview()
    revision = demo.change(digest)
    demo.make_worse()
    demo.roll_back(revision)
    demo.history()


def main():
    return run(show, *make(ApprovalDemo))


if __name__ == "__main__":
    sys.exit(main())
