"""A life with what a Spec has besides its resources: they come from a ConfigMap and a Secret, it
waits for another Spec, ignores a field, watches a health check and an object of others; and a person
changes objects in between. A `RemoteLife` reaches its objects by a kubeconfig, which is replaced.

What must hold besides what holds of every life: nothing is made before the other Spec is Ready, and
that one stays until this one is gone; one source alone prunes nothing; drift is corrected by what the
watches tell, long before a check; an ignored field stays as it is."""

import base64
import gzip
import json
import time

import yaml

from kusion_faults.life import STEP, Life, Violation
from kusion_faults.world import CORE, World, wanted
from kusion_e2e.specs import Spec, config_map

ENOUGH = 1500      # requests of such a life; one without faults has 400
INTERVAL = "20m"   # no check falls into a life, but where the status says that watches fail
CHECK = "if obj.data.value then return {status = 'Healthy'} end return {status = 'Progressing'}"
OF_OTHERS = "another's"
TOKENS = ("before", "after")  # of the kubeconfig


class WideWorld(World):
    def first(self):
        return [*super().first(), self.shared("1")]

    def second(self):
        return [*super().second(), self.shared("2")]

    def shared(self, value):
        """A ConfigMap with a field that is others', once it is made, and with a check of its health."""
        made = config_map(self.name("shared"), self.tenant, {"value": value, "free": "at first"})
        made["extensions"] = {"healthPolicy": {"health.lua": CHECK}}
        return made

    def base(self):
        """The resource of the Spec that is waited for."""
        return self.config("base", "1")

    def input(self, short):
        """The name of what a Spec is made of. It does not end with the mark: it is none of its objects."""
        return f"{self.mark}-{short}"


class WideLife(Life):
    world_type, enough, succeeded = WideWorld, ENOUGH, 8
    step = 2 * STEP  # two Specs, one after the other
    inputs = ("configmaps", "secrets")

    def run(self):
        self.base = Spec(self.room, self.room.tenant, self.world.name("base-spec"))
        return super().run()

    def _steps(self):
        self._wait_for_base()
        self._change_sources()
        self._drift()
        self._rest()
        self._delete()
        self._nothing_is_left()

    def _fields(self):
        sources = [{"kind": kind, "name": self.world.input(kind.lower()), "key": "all"}
                   for kind in ("ConfigMap", "Secret")]
        foreign = {"apiVersion": "v1", "kind": "ConfigMap", "name": self.world.foreign()}
        return {**super()._fields(), "interval": INTERVAL, "resourcesFrom": sources,
                "dependsOn": [{"name": self.base.name}], "healthChecks": [foreign],
                "commonMetadata": {"labels": {"life": "wide"}},
                "ignore": [{"paths": ["/data/free"], "target": {"name": self.world.name("shared")}}]}

    # ---- sources

    def _put(self, plural, name, data):
        path = f"{CORE}/namespaces/{self.room.tenant}/{plural}/{name}"
        kind = {"configmaps": "ConfigMap", "secrets": "Secret"}[plural]
        body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **data}
        self.api.apply(path, json.dumps(body)).must()

    def _put_sources(self, resources):
        """Half of them each; the Secret has them compressed."""
        halves = resources[::2], resources[1::2]
        self._put("configmaps", self.world.input("configmap"),
                  {"data": {"all": yaml.safe_dump({"resources": halves[0]})}})
        packed = gzip.compress(json.dumps({"resources": halves[1]}).encode())
        self._put("secrets", self.world.input("secret"),
                  {"data": {"all": base64.b64encode(packed).decode()}})

    # ---- steps

    def _wait_for_base(self):
        resources = self.world.first()
        self._put_sources(resources)
        self.spec.apply([], **self._fields())
        self._until(self._waits_for_base, "waiting for the other Spec")
        if any(is_its_own(one) for one in self.world.objects(self.api).values()):
            self._broken("the other Spec is not there, and there are objects already")
        self.base.apply([self.world.base()], retryInterval="1s", interval=INTERVAL)
        self._until(lambda: self._is_done(resources), "applied after the other Spec")
        self._is_as_wanted([*resources, self.world.base()])

    def _waits_for_base(self):
        ready = self.spec.condition()
        return ready and ready["reason"] == "DependencyNotReady"

    def _change_sources(self):
        resources = self.world.second()
        self._put_sources(resources)
        self._until(lambda: self._is_done(resources), "applied as the sources say now")
        self._is_as_wanted([*resources, self.world.base()])

    def _drift(self):
        """A field is changed, an object is deleted, and an ignored field is changed."""
        resources, world = self.world.second(), self.world
        self._asked = 0
        for short, data in (("changed", {"value": OF_OTHERS}), ("shared", {"free": OF_OTHERS})):
            self.api.patch(world.path("ConfigMap", world.name(short)), {"data": data}).must()
        self.api.delete(world.path("ConfigMap", world.name("new"))).must()
        self._uids.pop(("ConfigMap", world.name("new")))
        self._until(lambda: self._is_done(resources) or self._ask_again(), "corrected")
        self._is_as_wanted([*resources, world.base()])
        shared = world.objects(self.api)["ConfigMap", world.name("shared")]
        if shared["data"]["free"] != OF_OTHERS:
            self._broken(f"an ignored field was set: {shared['data']}")

    def _ask_again(self):
        """Where the status says that the watches do not tell, a check has to. Gives False."""
        spec = self.spec.get()
        said = [one["message"] for one in spec.get("status", {}).get("conditions", [])]
        if any("watch" in one for one in said) and not self._asked:
            self._asked = 1
            self.api.patch(self.spec.path, {"metadata": {"annotations": {
                "api.kusion.io/reconcile-requested-at": "drift"}}}).must()
        return False

    def _is_done(self, resources):
        """Ready, and the objects are as wanted."""
        if not self._is_ready():
            return False
        want = wanted(resources)
        there = {key: one for key, one in self.world.objects(self.api).items() if is_its_own(one)}
        return set(there) - {("ConfigMap", self.world.name("base"))} == set(want) and all(
            one["attributes"]["data"]["value"] in (value_of(there, one), None)
            or one["attributes"]["data"]["value"].startswith("$")
            for one in resources if "data" in one["attributes"])

    def _delete(self):
        for spec in (self.base, self.spec):
            self.api.delete(spec.path).must()
        self._until(self._is_deleted, "deleted")

    def _is_deleted(self):
        """The one that is waited for goes last."""
        base_is_gone = self.base.get() is None
        is_gone = self.spec.get() is None
        if base_is_gone and not is_gone:
            raise Violation("the Spec that it depends on was gone first")
        return base_is_gone and is_gone

    # ---- what must hold

    def _once(self, but=()):
        """What a person deleted is made a second time."""
        again = self.world.path("ConfigMap", self.world.name("new"))
        made = [one for one in self.result.requests if one["code"] == 201
                and one["path"].partition("?")[0] == again and "dryRun=" not in one["path"]]
        if len(made) > 2:
            self._broken(f"{again} was made {len(made)} times")
        super()._once({*but, again})

    def _end(self):
        super()._end()
        for plural in self.inputs:
            found = self.api.get(f"{CORE}/namespaces/{self.room.tenant}/{plural}").must().object["items"]
            for one in found:
                if one["metadata"]["name"].startswith(self.world.mark):
                    self.api.delete(f"{CORE}/namespaces/{self.room.tenant}/{plural}/{one['metadata']['name']}")


class RemoteLife(WideLife):
    """The objects are reached by a kubeconfig. It leads to the same API server, by the same lane, so
    its requests have positions, too. It is replaced while the sources are applied anew."""

    flags = ("--allow-cluster-address=127.0.0.0/8",)

    def _fields(self):
        return {**super()._fields(), "kubeConfig": {"secretRef": {"name": self.world.input("kubeconfig")}}}

    def _put_kubeconfig(self, token):
        config = yaml.safe_load(self.lane.kubeconfig.read_text())
        cluster = config["clusters"][0]["cluster"]
        authority = self.lane.ca.read_bytes()
        cluster.pop("certificate-authority")
        cluster["certificate-authority-data"] = base64.b64encode(authority).decode()
        config["users"][0]["user"] = {"token": token}
        self._put("secrets", self.world.input("kubeconfig"), {"data": {"value": base64.b64encode(yaml.safe_dump(config).encode()).decode()}})

    def _wait_for_base(self):
        self._put_kubeconfig(TOKENS[0])
        super()._wait_for_base()

    def _change_sources(self):
        self._put_kubeconfig(TOKENS[1])
        super()._change_sources()


def value_of(there, one):
    attributes = one["attributes"]
    return there[attributes["kind"], attributes["metadata"]["name"]].get("data", {}).get("value")


def is_its_own(one):
    return "api.kusion.io/owner" in one["metadata"].get("labels", {})
