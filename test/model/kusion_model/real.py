"""The Spec of one sequence on a cluster: actions as requests, and what there is as plain data."""

import base64
import json
import time

from kusion_model import paths  # noqa: F401
from kusion_model.catalog import (NAMES, OTHER, OURS, RESOURCES, attributes, field_of, id_of,
                                  resources)
from kusion_model.compare import Live, Record, Seen
from kusion_model.generate import SOURCES
from kusion_model.world import MANUAL
from kusion_e2e.api import APPLY, Api
from kusion_e2e.controller import STATE
from kusion_e2e.states import open_state

OWNER = "api.kusion.io/owner"
TRIGGER = "api.kusion.io/reconcile-requested-at"
SPEC_MANAGER = "author"
OUR_PREFIX = "kusion"
REFUSED = (404, 409, 422)
SOURCE_SEEN = 5  # seconds after which it is, if it is to be
REPLAY = 1  # seconds in which the API server tells of what is past
GROUP = "/apis/api.kusion.io/v1/namespaces"


class Trouble(Exception):
    """The cluster did not do what an action needs: no finding."""


class Real:
    """One thread uses it."""

    def __init__(self, kubeconfig, namespace, name, kill):
        self.api = Api(kubeconfig)
        self.namespace, self.name, self._kill = namespace, name, kill
        self._source = f"{name}-resources"  # a ConfigMap or a Secret
        self._source_version, self._source_written = None, 0.0
        self._spec = f"{GROUP}/{namespace}/specs/{name}"
        self._releases = f"{GROUP}/{namespace}/releases"
        self.requests = []    # names of Releases that a person made
        self.trigger = None
        self._since = {}

    # ---- actions: whether each was taken

    def act(self, action, world, seen):
        """world: before the action, as far as it is known. seen: what the person saw last."""
        verb, *arguments = action
        return getattr(self, f"_do_{verb}")(world, seen, *arguments)

    def apply(self, world):
        """The Spec, as the World has it."""
        wanted = resources(world.wanted, self.namespace)
        if world.source:
            self._put_source(world.source, wanted)
        spec = {**self._resources(world.source, wanted), "interval": "1h",
                "retryInterval": "1s", "timeout": f"{300 + world.touched}s",
                "revisionHistoryLimit": 1000, "approval": {"mode": world.mode}}
        if world.mode == MANUAL and world.approved_in_spec:
            spec["approval"] |= {"approvedPlan": world.approved_in_spec, "approvedUnseen": True}
        body = {"apiVersion": "api.kusion.io/v1", "kind": "Spec",
                "metadata": {"name": self.name, "namespace": self.namespace}, "spec": spec}
        self.api.apply(self._spec, json.dumps(body), SPEC_MANAGER).must()

    def _resources(self, source, wanted):
        if not source:
            return {"resources": wanted}
        return {"resourcesFrom": [{"kind": source, "name": self._source, "key": "all"}]}

    def _put_source(self, kind, wanted):
        """All in one object: two that are written one after the other may be applied so."""
        text = json.dumps({"resources": wanted})
        data = {"all": base64.b64encode(text.encode()).decode() if kind == "Secret" else text}
        body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": self._source}, "data": data}
        written = self.api.apply(self._source_path(kind), json.dumps(body), SPEC_MANAGER).must()
        self._source_version = written.object["metadata"]["resourceVersion"]
        self._source_written = time.monotonic()

    def _source_path(self, kind):
        return f"/api/v1/namespaces/{self.namespace}/{kind.lower()}s/{self._source}"

    def _edit_spec(self, world, action):
        taken = world.act(action)
        if taken:
            self.apply(world)
        return taken

    def _do_put(self, world, _, *arguments):
        return self._edit_spec(world, ["put", *arguments])

    def _do_drop(self, world, _, name):
        return self._edit_spec(world, ["drop", name])

    def _do_mode(self, world, _, mode):
        return self._edit_spec(world, ["mode", mode])

    def _do_touch(self, world, _):
        return self._edit_spec(world, ["touch"])

    def _do_approve_in_spec(self, world, _, back):
        return self._edit_spec(world, ["approve_in_spec", back])

    def _path(self, name=""):
        return f"{RESOURCES[name].collection.format(self.namespace)}/{name}"

    def _taken(self, answer):
        if not answer.ok and answer.code not in REFUSED:
            raise Trouble(repr(answer))
        return answer.ok

    def _do_edit(self, _, __, name, short, value, manager):
        body = attributes(name, self.namespace, {short: value}, with_rest=False)
        return self._taken(self.api.patch(f"{self._path(name)}?fieldManager={manager}", body))

    def _do_take(self, _, __, name, short, value):
        answer = self.api.get(self._path(name))
        if not self._taken(answer):
            return False
        live = answer.object
        fields = {one: field_of(live, path) for one, path in RESOURCES[name].fields.items()
                  if OTHER in owners_of(live, path)}
        fields[short] = field_of(live, RESOURCES[name].fields[short]) if value is None else value
        if fields[short] is None:
            return False
        body = attributes(name, self.namespace, fields, with_rest=False)
        body["metadata"]["uid"] = live["metadata"]["uid"]  # it is not to be created
        path = f"{self._path(name)}?fieldManager={OTHER}&force=true"
        return self._taken(self.api.request("PATCH", path, body, APPLY))

    def _do_delete(self, _, __, name):
        return self._taken(self.api.delete(f"{self._path(name)}?propagationPolicy=Background"))

    def _do_make(self, _, __, name, manager):
        short = next(iter(RESOURCES[name].foreign))
        body = attributes(name, self.namespace, {short: RESOURCES[name].foreign[short][0]})
        path = RESOURCES[name].collection.format(self.namespace)
        return self._taken(self.api.create(f"{path}?fieldManager={manager}", body))

    def _do_kill(self, *_):
        self._kill()
        return True

    def _approve(self, name, digest):
        return self._taken(self.api.patch(f"{self._releases}/{name}?fieldManager=approver",
                                          {"spec": {"approvedPlan": digest, "approvedUnseen": True}}))

    def _do_approve(self, _, seen):
        waiting = seen.waiting()
        return self._approve(waiting[0].name, waiting[0].digest) if waiting else False

    def _do_approve_ended(self, _, seen):
        ended = [one for one in seen.records if one.phase in ("succeeded", "cancelled") and one.digest]
        if not ended or ended[-1].asked == ended[-1].digest:
            return False  # there it is already, so this would change nothing
        return self._approve(ended[-1].name, ended[-1].digest)

    def _do_approve_older(self, world, seen):
        waiting = seen.waiting()
        older = [one for one in world.plans.values() if not waiting or one != waiting[0].digest]
        return self._approve(waiting[0].name, older[-1]) if waiting and older else False

    def _do_rollback(self, world, seen, back):
        if not world.act(["rollback", back]):
            return False
        fields = {"operation": "Rollback"}
        if back is not None:
            succeeded = [one for one in seen.records if one.phase == "succeeded"]
            fields["toRevision"] = succeeded[-1 - back].revision
        return self._request(fields)

    def _do_destroy(self, world, _):
        return self._request({"operation": "Destroy"}) if world.act(["destroy"]) else False

    def _request(self, fields):
        name = f"{self.name}-asked-{len(self.requests) + 1}"
        self.requests.append(name)
        body = {"apiVersion": "api.kusion.io/v1", "kind": "Release", "metadata": {"name": name},
                "spec": {"specRef": {"name": self.name}, **fields}}
        return self._taken(self.api.create(self._releases, body))

    # ---- waiting

    def ask(self):
        """For a check of the Spec."""
        self.trigger = str(time.time_ns())
        self.api.patch(self._spec, {"metadata": {"annotations": {TRIGGER: self.trigger}}}).must()

    def is_quiet(self, spec):
        status = spec.get("status", {})
        ready = next((one for one in status.get("conditions", []) if one["type"] == "Ready"), {})
        return (status.get("observedGeneration") == spec["metadata"]["generation"]
                and (self.trigger is None or status.get("lastHandledReconcileAt") == self.trigger)
                and ready.get("reason") not in (None, "Progressing"))

    # ---- what there is

    def see(self):
        """None: the operator is not done yet."""
        spec = self.api.get(self._spec).must().object
        if not self.is_quiet(spec):
            return None
        records = self._records()
        if self._awaits_source(records):
            return None
        requests = [one for one in records if one.name in self.requests]
        live = {name: self.api.get(self._path(name)) for name in NAMES}
        service = live["svc"].object if live["svc"].ok else {}
        return Seen(spec["metadata"]["generation"], spec["status"],
                    {name: _live(name, one.object) for name, one in live.items() if one.ok},
                    self._state(), [one for one in records if one.name not in self.requests],
                    service.get("spec", {}).get("clusterIP"), requests)

    def _awaits_source(self, records):
        """The operator sees a source a moment after it was written, and makes a record of it. None is made where
        something else is in force, a Rollback, say."""
        return (time.monotonic() - self._source_written < SOURCE_SEEN
                and self._source_version not in [one.source for one in records])

    def _records(self):
        found = self.api.get(f"{self._releases}?fieldSelector=spec.specRef.name={self.name}").must()
        records = [self._record(one) for one in found.object["items"]]
        return sorted(records, key=lambda one: one.revision)

    def _record(self, release):
        status = release.get("status", {})
        ready = next((one for one in status.get("conditions", []) if one["type"] == "Ready"), {})
        plan = dict(status.get("plan", {}))
        digest = plan.pop("digest", None)
        for what in ("serviceAccountName", "unseen"):
            plan.pop(what, None)
        names = {id_of(name, self.namespace): name for name in NAMES}
        actions = {names[one["id"]]: one["action"] for one in status.get("results", [])
                   if one.get("action") not in (None, "unchanged")}
        return Record(release["metadata"]["name"], release["spec"]["operation"],
                      status.get("revision", 0), status.get("phase"), ready.get("reason"),
                      status.get("specGeneration"), digest, plan,
                      status.get("approval", {}).get("plan"), actions,
                      release["spec"].get("approvedPlan"), release["metadata"]["resourceVersion"],
                      next((one.get("resourceVersion") for one in status.get("sources", [])), None))

    def _state(self):
        """By name: the uid, None for an intent."""
        names = {id_of(name, self.namespace): name for name in NAMES}
        for head in self._heads():
            state = open_state(head)
            return {names[one["id"]]: one["record"].get("uid")
                    if one["record"]["status"] == "applied" else None for one in state["resources"]}
        return {}

    def _heads(self):
        path = f"/api/v1/namespaces/{STATE}/configmaps?labelSelector=api.kusion.io/state"
        return [one for one in self.api.get(path).must().object["items"]
                if self._is_mine(one["metadata"].get("annotations", {})) and open_state(one)]

    def _is_mine(self, annotations):
        return (annotations.get("api.kusion.io/spec-namespace") == self.namespace
                and annotations.get("api.kusion.io/spec-name") == self.name)

    # ---- how often each object was made

    def begin(self):
        """From now on."""
        self._since = {one: self.api.get(one).must().object["metadata"]["resourceVersion"]
                       for one in self._collections()}

    def _collections(self):
        return sorted({kind.collection.format(self.namespace) for kind in RESOURCES.values()})

    def made(self):
        """By name; None: the API server does not know any more."""
        found = {}
        for collection, since in self._since.items():
            query = f"watch=1&resourceVersion={since}&timeoutSeconds={REPLAY}"
            answer = self.api.get(f"{collection}?{query}")
            events = [json.loads(line) for line in answer.text.splitlines()]
            if not answer.ok or any(event["type"] == "ERROR" for event in events):
                return None
            for event in events:
                name = event["object"]["metadata"]["name"]
                if event["type"] == "ADDED" and name in NAMES:
                    found[name] = found.get(name, 0) + 1
        return found

    def told(self):
        """A line for each Release of the Spec."""
        found = self.api.get(f"{self._releases}?fieldSelector=spec.specRef.name={self.name}").must()
        return [_line(one) for one in found.object["items"]]

    # ---- the end

    def delete_spec(self):
        answer = self.api.delete(self._spec)
        if answer.code != 404:
            answer.must()

    def left(self):
        """After the Spec is deleted: the objects by name, and texts of what should not be there."""
        if self.api.get(self._spec).ok:
            return None
        live = {name: self.api.get(self._path(name)) for name in NAMES}
        found = [f"State {one['metadata']['name']} is left" for one in self._heads()]
        return {name: _live(name, one.object) for name, one in live.items() if one.ok}, found

    def clean(self):
        """Releases that people made stay for a day: each start of the operator would read them all."""
        for name in self.requests:
            self.api.delete(f"{self._releases}/{name}")
        for kind in SOURCES:
            self.api.delete(self._source_path(kind))
        for name in NAMES:
            self.api.delete(f"{self._path(name)}?propagationPolicy=Background")


def owners_of(body, path):
    """The managers that own a field; ours by one name."""
    found = set()
    for entry in body["metadata"].get("managedFields", []):
        place = entry.get("fieldsV1", {})
        for part in path:
            place = place.get(f"f:{part}") if isinstance(place, dict) else None
        if place is not None:
            found.add(OURS if entry["manager"].startswith(OUR_PREFIX) else entry["manager"])
    return found


def _line(release):
    status = release.get("status", {})
    ready = next((one for one in status.get("conditions", []) if one["type"] == "Ready"), {})
    return (f"Release {release['metadata']['name']}: {release['spec']['operation']} {status.get('phase')}, "
            f"revision {status.get('revision')}, {ready.get('reason')}: {ready.get('message', '')[:300]}")


def _live(name, body):
    fields, owners = {}, {}
    for short, path in RESOURCES[name].fields.items():
        value = field_of(body, path)
        if value is not None:
            fields[short] = value
        managers = owners_of(body, path)
        if managers:
            owners[short] = managers
    return Live(body["metadata"]["uid"], fields, owners,
                body["metadata"].get("labels", {}).get(OWNER))
