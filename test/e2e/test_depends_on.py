"""Specs that wait for Specs."""

import json

import pytest

from kusion_e2e.rights import account, wait_until_may
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.wait import eventually

SLOW = {"retryInterval": "10m", "interval": "10m"}  # what happens sooner is not polled
SOON = 60  # seconds


def on(*names, **fields):
    """A dependsOn: names, of their namespace or "namespace/name"."""
    wanted = [dict(zip(("namespace", "name"), name.split("/"))) if "/" in name else {"name": name}
              for name in names]
    return {"dependsOn": wanted, **fields}


def waits(spec, text, seconds=SOON):
    """Until its condition says that it waits, in these words. Gives the message."""

    def said():
        ready = spec.condition()
        assert ready and ready["status"] == "False" and ready["reason"] == "DependencyNotReady", ready
        assert text in ready["message"], ready
        assert spec.condition("Reconciling") and not spec.condition("Stalled")
        return ready["message"]

    return eventually(said, seconds)


def is_there(cluster, name, namespace):
    return cluster.api.get(f"/api/v1/namespaces/{namespace}/configmaps/{name}").ok


@pytest.fixture
def late(controlled):
    """A namespace that is not there yet: what is to be in it is tried again until it is."""
    name = controlled.new_namespace("late")
    controlled.delete_namespace(name)
    eventually(lambda: controlled.api.get(f"/api/v1/namespaces/{name}").code == 404)
    yield name
    if controlled.api.get(f"/api/v1/namespaces/{name}").ok:
        controlled.delete_namespace(name)


def come(cluster, namespace):
    cluster.api.create("/api/v1/namespaces", {"metadata": {"name": namespace}}).must()


def test_it_waits_for_one_that_is_not_there_and_then_not_ready(controlled, tenant, late):
    web = Spec(controlled, tenant, "web").apply([config_map("web", tenant)], **on("db"), **SLOW)
    assert waits(web, "waits for db (is not there)") and not web.releases()
    db = Spec(controlled, tenant, "db").apply([config_map("db", late)], retryInterval="1s")
    waits(web, "waits for db (is not Ready in generation 1: NamespaceNotFound)")
    assert not is_there(controlled, "web", tenant)
    assert controlled.get_json("spec", "web", "-n", tenant)["status"]["summary"].startswith("waits for db")
    come(controlled, late)
    db.wait("True")
    web.wait("True", SOON)  # by the event
    assert db.get()["status"]["readyGeneration"] == db.generation
    web.delete()
    db.delete()


def test_what_was_applied_is_corrected_while_the_next_generation_waits(controlled, tenant, late):
    db = Spec(controlled, tenant, "db").apply([config_map("db", tenant)], retryInterval="1s")
    web = Spec(controlled, tenant, "web").apply([config_map("web", tenant)], **on("db"), interval="1s")
    db.wait("True")
    web.wait("True")
    db.apply([config_map("db", tenant), config_map("more", late)], retryInterval="1s", timeout="1s")
    db.wait("False")
    # Its own generation was applied: a check goes on.
    controlled.api.patch(f"/api/v1/namespaces/{tenant}/configmaps/web", {"data": {"a": "x"}}).must()
    eventually(lambda: controlled.get_json("configmap", "web", "-n", tenant)["data"] == {"a": "b"})
    # A new one waits: nothing of it is made or pruned.
    web.apply([config_map("web2", tenant)], **on("db"), interval="1s")
    waits(web, "waits for db (is not Ready in generation 2")
    assert is_there(controlled, "web", tenant) and not is_there(controlled, "web2", tenant)
    db.apply([config_map("db", tenant)], retryInterval="1s")
    web.wait("True", SOON)
    assert is_there(controlled, "web2", tenant)
    eventually(lambda: not is_there(controlled, "web", tenant))
    web.delete()
    db.delete()


def test_a_suspended_one_counts_as_it_was(controlled, tenant):
    db = Spec(controlled, tenant, "db").apply([config_map("db", tenant)])
    db.wait("True")
    db.apply([config_map("db", tenant)], suspend=True)
    eventually(lambda: db.get()["status"]["observedGeneration"] == db.generation)
    web = Spec(controlled, tenant, "web").apply([config_map("web", tenant)], **on("db"), **SLOW)
    web.wait("True", SOON)
    web.delete()
    db.delete()


def let_see(cluster, namespace, there):
    """The default account of a namespace may get the Specs there."""
    cluster.kubectl("create", "role", "see", "--verb=get", "--resource=specs.api.kusion.io", "-n", there)
    cluster.kubectl("create", "rolebinding", "see", "--role=see", "-n", there,
                    f"--serviceaccount={namespace}:default")


def edit_in(cluster, namespace):
    """The default account may do all in its own namespace, and nothing elsewhere."""
    cluster.kubectl("create", "rolebinding", "admin", "--clusterrole=admin", "-n", namespace,
                    f"--serviceaccount={namespace}:default")
    wait_until_may(cluster, account(namespace), "create", "configmaps", namespace)


def test_of_another_namespace_nothing_is_told_that_the_account_may_not_read(controlled, namespace, tenant):
    edit_in(controlled, namespace)
    there = Spec(controlled, tenant, "there").apply([config_map("there", tenant)])
    there.wait("True")
    messages = {}
    for name in ("there", "nowhere"):
        web = Spec(controlled, namespace, f"web-{name}").apply(
            [config_map(f"web-{name}", namespace)], **on(f"{tenant}/{name}"), retryInterval="1s")
        messages[name] = waits(web, "may not read it").replace(f"/{name} ", "/NAME ")
    assert messages["there"] == messages["nowhere"], messages
    assert f"waits for {tenant}/NAME (is not there, or {account(namespace)} may not read it)" == messages["there"]
    events = {e["message"] for e in Spec(controlled, namespace, "web-there").events()}
    assert not any("Ready" in message for message in events), events
    # The right to read it is enough, and is looked for again.
    let_see(controlled, namespace, tenant)
    there_web = Spec(controlled, namespace, "web-there")
    there_web.generation = 1
    there_web.wait("True", 20)
    nowhere = Spec(controlled, namespace, "web-nowhere")
    nowhere.generation = 1
    assert "is not there, or" in nowhere.condition()["message"]
    for spec in (there_web, nowhere, there):
        spec.delete()


class TestCycles:
    def test_all_members_say_so_and_go_on_when_it_is_open(self, controlled, tenant):
        a = Spec(controlled, tenant, "a").apply([config_map("a", tenant)], **on("b"), **SLOW)
        b = Spec(controlled, tenant, "b").apply([config_map("b", tenant)], **on("c"), **SLOW)
        waits(a, "waits for b (")
        c = Spec(controlled, tenant, "c").apply([config_map("c", tenant)], **on("a"), **SLOW)
        for spec, path in ((a, "abca"), (b, "bcab"), (c, "cabc")):
            path = " -> ".join(f"{tenant}/{name}" for name in path)

            def said():
                ready = spec.condition()
                assert ready and ready["reason"] == "CyclicDependency", ready
                assert f"dependsOn forms a cycle: {path}" in ready["message"], ready
                return spec.condition("Stalled")

            eventually(said, SOON)
        c.apply([config_map("c", tenant)], **SLOW)
        for spec in (c, b, a):
            spec.wait("True", SOON)
        for spec in (a, b, c):
            spec.delete()

    def test_a_member_that_may_not_be_seen_is_not_named(self, controlled, namespace, tenant):
        """Of three, the account of one may read the next, and not the one after that."""
        edit_in(controlled, namespace)
        far = controlled.new_namespace("far")
        let_see(controlled, namespace, tenant)
        mine = Spec(controlled, namespace, "mine").apply(
            [config_map("mine", namespace)], **on(f"{tenant}/near"), retryInterval="1s")
        Spec(controlled, tenant, "near").apply([], **on(f"{far}/secret-name"))
        Spec(controlled, far, "secret-name").apply([], **on(f"{namespace}/mine"))

        def said():
            ready = mine.condition()
            assert ready and ready["reason"] == "CyclicDependency", ready
            return ready["message"]

        message = eventually(said, 20)
        assert f"{namespace}/mine -> {tenant}/near -> … -> {namespace}/mine" in message, message
        assert far not in message and "secret-name" not in message
        for space, name in ((namespace, "mine"), (tenant, "near"), (far, "secret-name")):
            Spec(controlled, space, name).delete()

    def test_itself_is_no_wish(self, controlled, tenant):
        web = Spec(controlled, tenant, "web").apply([], **on("web"))
        ready = web.wait("False")
        assert ready["reason"] == "InvalidSpec" and "dependsOn[0]: is this Spec itself" in ready["message"]
        web.delete()

    def test_a_ready_spec_is_checked_though_another_closes_a_cycle(self, controlled, tenant):
        b = Spec(controlled, tenant, "b").apply([config_map("b", tenant)])
        b.wait("True")
        a = Spec(controlled, tenant, "a").apply([config_map("a", tenant)], **on("b"), interval="1s")
        a.wait("True")
        b.apply([config_map("b", tenant)], **on("a"))
        b.wait("True")  # what it waits for became ready in this generation
        controlled.api.patch(f"/api/v1/namespaces/{tenant}/configmaps/a", {"data": {"a": "x"}}).must()
        eventually(lambda: controlled.get_json("configmap", "a", "-n", tenant)["data"] == {"a": "b"})
        a.delete()
        b.delete()


class TestDeletion:
    def held(self, cluster, namespace):
        """A ConfigMap that stays while it has a finalizer of others."""
        entry = config_map("held", namespace)
        entry["attributes"]["metadata"]["finalizers"] = ["example.com/held"]
        return entry

    def let_go(self, cluster, namespace):
        cluster.api.patch(f"/api/v1/namespaces/{namespace}/configmaps/held",
                          {"metadata": {"finalizers": None}}).must()

    def begin(self, spec):
        spec.cluster.api.delete(spec.path).must()

    def test_the_other_way_round(self, controlled, tenant):
        db = Spec(controlled, tenant, "db").apply([config_map("db", tenant)])
        web = Spec(controlled, tenant, "web").apply([self.held(controlled, tenant)], **on("db"))
        web.wait("True")
        self.begin(db)
        self.begin(web)

        def said():
            ready = db.get()["status"]["conditions"][0]
            assert ready["reason"] == "DependentsExist", ready
            return "waits until Specs that depend on it are deleted: web" in ready["message"]

        eventually(said, SOON)
        assert is_there(controlled, "db", tenant)
        self.let_go(controlled, tenant)
        eventually(lambda: web.get() is None, 60)
        eventually(lambda: db.get() is None, SOON)  # by the event
        assert not is_there(controlled, "db", tenant)

    def test_one_that_stays_keeps_nobody(self, controlled, tenant):
        db = Spec(controlled, tenant, "db").apply([config_map("db", tenant)])
        web = Spec(controlled, tenant, "web").apply([config_map("web", tenant)], **on("db"))
        web.wait("True")
        db.delete(20)
        db.wait_event("DependentsExist", "the Spec web depends on it")
        web.delete()

    def test_another_namespace_keeps_it_for_timeout_at_most(self, controlled, namespace, tenant):
        let_see(controlled, namespace, tenant)
        edit_in(controlled, namespace)
        db = Spec(controlled, tenant, "db").apply([config_map("db", tenant)], timeout="8s")
        db.wait("True")
        web = Spec(controlled, namespace, "web").apply([self.held(controlled, namespace)],
                                                       **on(f"{tenant}/db"))
        web.wait("True")
        self.begin(web)
        self.begin(db)

        def said():
            ready = db.get()["status"]["conditions"][0]
            assert ready["reason"] == "DependentsExist", ready
            assert "1 of other namespaces" in ready["message"] and namespace not in ready["message"]
            return True

        eventually(said, SOON)
        eventually(lambda: db.get() is None, 30)
        assert web.get()
        self.let_go(controlled, namespace)
        eventually(lambda: web.get() is None, 60)

    def test_who_may_not_read_it_does_not_keep_it(self, controlled, namespace, tenant):
        edit_in(controlled, namespace)
        db = Spec(controlled, tenant, "db").apply([config_map("db", tenant)])
        db.wait("True")
        web = Spec(controlled, namespace, "web").apply([config_map("web", namespace)])
        web.wait("True")
        web.apply([self.held(controlled, namespace)])
        web.wait("True")
        web.apply([self.held(controlled, namespace)], **on(f"{tenant}/db"))
        waits(web, "may not read it")
        self.begin(web)
        db.delete(30)
        self.let_go(controlled, namespace)
        eventually(lambda: web.get() is None, 60)

    def test_a_cycle_waits_for_nobody(self, controlled, tenant):
        a = Spec(controlled, tenant, "a").apply([config_map("a", tenant)])
        a.wait("True")
        b = Spec(controlled, tenant, "b").apply([config_map("b", tenant)], **on("a"))
        b.wait("True")
        a.apply([config_map("a", tenant)], **on("b"))
        a.wait("True")
        self.begin(a)
        self.begin(b)
        eventually(lambda: a.get() is None and b.get() is None, 30)


@pytest.mark.parametrize("wanted, text", [
    ({"name": "b"}, "expected list"),
    (["b"], "spec.dependsOn[0]"),
    ([{}], "spec.dependsOn[0].name: Required"),
    ([{"name": ""}], "spec.dependsOn[0].name"),
    ([{"name": "b", "namespace": "A"}], "spec.dependsOn[0].namespace"),
    ([{"name": "b"}] * 65, "spec.dependsOn: Too many"),
])
def test_other_values_are_refused(controlled, tenant, wanted, text):
    body = {"apiVersion": "api.kusion.io/v1", "kind": "Spec",
            "metadata": {"name": "web", "namespace": tenant},
            "spec": {"resources": [], "dependsOn": wanted}}
    answer = controlled.api.apply(Spec(controlled, tenant, "web").path, json.dumps(body))
    assert not answer.ok and text in answer.message, answer
