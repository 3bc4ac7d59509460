"""A tenant who means harm: may write Specs, Releases and ServiceAccounts of one namespace, and tries
to get at what is beyond it. The operator has exactly what the chart gives to it."""

import json
import re
import time

import pytest

from kusion_e2e.audit import WRITTEN
from kusion_e2e.chart import NAME, OWN
from kusion_e2e.kinds import new_release, new_spec, path_of
from kusion_e2e.rights import account, groups_of
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.state_backend import need_objects
from kusion_e2e.states import open_text
from kusion_e2e.tenancy import DEPLOYER, forge_record
from kusion_e2e.wait import eventually

OPERATOR = account(OWN, NAME)
CANARY = "canary-of-the-other-tenant"
MANAGE = ["get", "list", "watch", "create", "patch", "delete"]
SYSTEM = "kube-system"
ODD_PATHS = ["../../{there}/configmaps/a", "a/../../../{there}/configmaps/a", "%2e%2e%2f{there}",
             "a?x=y", "a#", "..", "*", "a/status", "a\\..\\b", "a%00"]


@pytest.fixture(scope="module")
def evil(tenancy):
    tenant = tenancy.tenant("evil").allow("", "configmaps", "secrets")
    tenancy.run("--log-level=debug")
    return tenant


@pytest.fixture(scope="module")
def victim(tenancy, evil):
    """Another tenant, with a Secret of its own, and no Spec: nothing is ever asked for it."""
    tenant = tenancy.tenant("victim").allow("", "configmaps", "secrets")
    tenancy.cluster.kubectl("create", "secret", "generic", "s", f"--from-literal=p={CANARY}", "-n",
                            tenant.namespace)
    return tenant


def secret(name, namespace, data=None):
    return resource({"apiVersion": "v1", "kind": "Secret",
                     "metadata": {"name": name, "namespace": namespace}, "data": data or {}})


def plain(version, kind, name, namespace=None, **more):
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return resource({"apiVersion": version, "kind": kind, "metadata": metadata, **more})


def binding(kind, name, account_of, namespace=None):
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    subject = {"kind": "ServiceAccount", "name": DEPLOYER, "namespace": account_of}
    return plain("rbac.authorization.k8s.io/v1", kind, name, namespace, roleRef=role,
                 subjects=[subject])


def failed(spec):
    """What became of the resources that did not go well, by id."""
    return {one["id"]: one for one in spec.get()["status"]["resources"]["failed"]}


def beyond(evil, victim):
    """Objects that the tenant has nothing to do with."""
    there, own = victim.namespace, evil.namespace
    token = {"annotations": {"kubernetes.io/service-account.name": NAME}, "name": "token",
             "namespace": OWN}
    return [
        config_map("evil", there), secret("s", there, {"p": ""}), secret("evil", there),
        config_map("evil", SYSTEM), config_map("evil", OWN), secret("evil", "kube-public"),
        resource({"apiVersion": "v1", "kind": "Secret", "metadata": token,
                  "type": "kubernetes.io/service-account-token"}),
        plain("v1", "Pod", "evil", OWN, spec={"containers": [{"name": "c", "image": "i"}]}),
        plain("v1", "Namespace", "evil-space"), plain("v1", "ServiceAccount", "evil", there),
        binding("ClusterRoleBinding", "evil", own), binding("RoleBinding", "evil", own, SYSTEM),
        plain("rbac.authorization.k8s.io/v1", "ClusterRole", "evil", rules=[]),
        plain("api.kusion.io/v1", "Spec", "evil", there, spec={"resources": []}),
        plain("api.kusion.io/v1", "Release", "evil", there,
              spec={"specRef": {"name": "web"}, "operation": "Preview"}),
        plain("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "evil"),
    ]


class TestBeyondTheNamespace:
    def test_nothing_beyond_it_is_reached(self, tenancy, evil, victim):
        things = beyond(evil, victim)
        spec = Spec(evil, evil.namespace, "beyond").apply(things, serviceAccountName=DEPLOYER)
        assert spec.wait("False")["reason"] == "AccessDenied"
        assert {one["reason"] for one in failed(spec).values()} == {"AccessDenied"}, failed(spec)
        assert set(failed(spec)) == {one["id"] for one in things}
        found = tenancy.cluster.kubectl("get", "secret", "s", "-n", victim.namespace, "-o", "json")
        assert "api.kusion.io" not in found.stdout

    def test_no_reference_reads_it(self, tenancy, evil, victim):
        """Whether the Secret is one of the Spec's own resources, or is not."""
        data = {"a": f"$kusion_path.v1:Secret:{victim.namespace}:s.data.p"}
        token = {"a": f"$kusion_path.v1:Secret:{OWN}:kusion-plan-key.data"}
        named = Spec(evil, evil.namespace, "named").apply(
            [secret("s", victim.namespace), config_map("named", evil.namespace, data)],
            serviceAccountName=DEPLOYER)
        bare = Spec(evil, evil.namespace, "bare").apply(
            [config_map("bare", evil.namespace, data), config_map("token", evil.namespace, token)],
            serviceAccountName=DEPLOYER)
        assert named.wait("False")["reason"] == "AccessDenied"
        assert bare.wait("False")["reason"] == "InvalidSpec"
        kept = tenancy.cluster.get_json("configmaps", "-n", evil.namespace)["items"]
        assert not {"named", "bare", "token"} & {one["metadata"]["name"] for one in kept}
        for spec in (named, bare):
            assert CANARY not in open_text(tenancy.cluster, Spec(tenancy.cluster, evil.namespace,
                                                                 spec.name))

    @pytest.mark.parametrize("id", [
        "v1:ConfigMap:{there}:a", "v1:ConfigMap:{own}/../{there}:a",
        "v1:ConfigMap:{own}:../../{there}/configmaps/a",
        "v1:ConfigMap:{own}:a/status", "v1:ConfigMap:{own}:a?namespace={there}", "v1:ConfigMap::a",
        "v1/../../v1:ConfigMap:{own}:a", "v1:ConfigMap:{own}:%2e%2e%2f", "v1:configmaps:{own}:a"])
    def test_an_id_that_does_not_fit_is_refused(self, evil, victim, id):
        """The object is the tenant's; the id says something else."""
        id = id.format(own=evil.namespace, there=victim.namespace)
        entry = config_map("a", evil.namespace, id=id)
        spec = Spec(evil, evil.namespace, "ids").apply([entry], serviceAccountName=DEPLOYER)
        assert spec.wait("False")["reason"] == "InvalidSpec"

    def test_odd_text_in_an_object_leads_nowhere(self, tenancy, evil, victim):
        """Each text in each place. A group that cannot be found is waited for: for 2 s, here."""
        since, specs = tenancy.audit.now(), []
        for text in ODD_PATHS:
            for place in ("name", "namespace", "apiVersion", "kind"):
                attributes = {"apiVersion": "v1", "kind": "ConfigMap", "data": {},
                              "metadata": {"name": "a", "namespace": evil.namespace}}
                where = attributes if place in attributes else attributes["metadata"]
                where[place] = text.format(there=victim.namespace)
                spec = Spec(evil, evil.namespace, f"odd-{len(specs)}")
                specs.append(spec.apply([resource(attributes)], serviceAccountName=DEPLOYER,
                                        timeout="2s", retryInterval="1h"))
        for spec in specs:
            spec.wait("False")
        time.sleep(WRITTEN)
        found = tenancy.audit.entries(since, OPERATOR)
        wrong = [one for one in found if one.namespace == victim.namespace and one.was_done]
        assert found and not wrong, wrong


class TestOfWhom:
    @pytest.mark.parametrize("name", [
        "a:b", "../victim/default", "a\nb", "a b", "", "a" * 254,
        "system:serviceaccount:kube-system:x", "{there}:deployer", "default/token", "A", "-a", "a."])
    def test_an_odd_account_is_refused(self, evil, victim, name):
        name = name.format(there=victim.namespace)
        body = new_spec("odd-account", serviceAccountName=name, resources=[])
        assert evil.api.create(path_of("Spec", evil.namespace), body).code == 422

    @pytest.mark.parametrize("name", ["generic-garbage-collector", NAME, "victim", "nobody", "a.b"])
    def test_an_account_of_elsewhere_is_not_there(self, evil, name):
        spec = Spec(evil, evil.namespace, "nobody").apply(
            [config_map("nobody", evil.namespace)], serviceAccountName=name)
        assert spec.wait("False")["reason"] == "ServiceAccountNotFound"

    @pytest.mark.parametrize("fields", [
        {"secretStore": {"provider": {"onpremises": {}}}},
    ], ids=lambda fields: next(iter(fields)))
    def test_another_cluster_is_not_taken(self, evil, fields):
        body = {"apiVersion": "api.kusion.io/v1", "kind": "Spec",
                "metadata": {"name": "elsewhere", "namespace": evil.namespace},
                "spec": {"resources": [config_map("elsewhere", evil.namespace)],
                         "serviceAccountName": DEPLOYER, **fields}}
        spec = Spec(evil, evil.namespace, "elsewhere")
        answer = evil.api.apply(spec.path, json.dumps(body))
        if answer.ok:
            spec.generation = answer.object["metadata"]["generation"]
            assert spec.wait("False")["reason"] == "Unsupported"
        else:
            assert answer.code == 422, answer

    def test_extensions_with_a_kubeconfig_are_not_read(self, evil):
        entry = config_map("extended", evil.namespace)
        entry["extensions"] = {"kubeConfig": "/var/run/secrets/kubernetes.io/serviceaccount/token"}
        spec = Spec(evil, evil.namespace, "extended").apply([entry], serviceAccountName=DEPLOYER)
        assert spec.wait("False")["reason"] == "Unsupported"

    @pytest.mark.parametrize("name", [
        "../{there}/specs/web", "web/status", "web?x", "web#x", "%2e%2e", "web%00", "*", "..", ".",
        ""])
    def test_a_preview_of_an_odd_name_finds_nothing(self, evil, victim, name):
        name = name.format(there=victim.namespace)
        body = new_release("", operation="Preview", specRef={"name": name})
        body["metadata"] = {"generateName": "odd-"}
        answer = evil.api.create(path_of("Release", evil.namespace), body)
        if not answer.ok:
            assert answer.code == 422, answer
            return
        path = path_of("Release", evil.namespace, answer.object["metadata"]["name"])

        def ended():
            status = evil.api.get(path).must().object.get("status", {})
            assert status.get("phase") == "failed", status
            return status["conditions"]

        ready = [one for one in eventually(ended) if one["type"] == "Ready"]
        assert ready[0]["reason"] in ("SpecNotFound", "BadRequest"), ready

    def test_labels_of_ours_are_not_the_tenants_to_choose(self, tenancy, evil):
        """Neither as they are nor by a reference to all labels of another object."""
        forged = {"api.kusion.io/owner": "kusion-0", "mine": "yes"}
        first = config_map("labelled", evil.namespace)
        first["attributes"]["metadata"]["labels"] = forged
        second = config_map("copied", evil.namespace)
        second["attributes"]["metadata"]["labels"] = f"$kusion_path.{first['id']}.metadata.labels"
        spec = Spec(evil, evil.namespace, "labels").apply([first, second],
                                                          serviceAccountName=DEPLOYER)
        spec.wait("True")
        for name in ("labelled", "copied"):
            found = tenancy.cluster.get_json("configmap", name, "-n", evil.namespace)
            assert found["metadata"]["labels"]["api.kusion.io/owner"] != "kusion-0"
            assert found["metadata"]["labels"]["mine"] == "yes"


class TestHints:
    def test_none_gives_away_what_is_not_the_tenants(self, evil, victim):
        """To whoever reads them: an administrator who is in a hurry."""
        spec = Spec(evil, evil.namespace, "hints").apply(beyond(evil, victim),
                                                         serviceAccountName=DEPLOYER)
        spec.wait("False")
        messages = [one["message"] for one in failed(spec).values()] + [spec.condition()["message"]]
        assert not [one for one in messages if "kubectl create" in one], messages
        assert all("owners' to give" in one or "administrators' to give" in one
                   for one in messages), messages

    def test_one_in_the_own_namespace_gives_what_is_needed_of_one_kind(self, evil):
        things = [plain("v1", "Service", "s", evil.namespace, spec={"ports": [{"port": 1}]}),
                  binding("RoleBinding", "own", evil.namespace, evil.namespace),
                  plain("v1", "ServiceAccount", "own", evil.namespace)]
        spec = Spec(evil, evil.namespace, "own-hints").apply(things, serviceAccountName=DEPLOYER)
        spec.wait("False")
        for one in failed(spec).values():
            [command] = re.findall(r"\nto allow it(?: for this object alone \([^)]*\))?: (.*)",
                                   one["message"])
            [verbs] = re.findall(r"--verb=(\S+)", command)
            gives_rights = "--resource=services " not in command
            needed = (["get", "create", "patch", "delete"] if gives_rights else
                      ["get", "list", "watch", "create", "patch", "delete"])
            assert verbs.split(",") == needed, one
            assert ("--resource-name=" in command) == gives_rights, one
            assert len(re.findall("--resource=[a-z0-9.]+ ", command)) == 1, one
            assert set(re.findall(r"--namespace=(\S+)", command)) == {evil.namespace}, one
            assert "cluster" not in command.replace("rbac.authorization.k8s.io", ""), one

    FORGED = "to allow it: kubectl create clusterrolebinding x --clusterrole=cluster-admin"

    @pytest.mark.parametrize("where", ["own", "there", "none"])
    def test_a_name_cannot_hold_one(self, evil, victim, where):
        """It would be repeated by every message about the object. Nothing is asked for it."""
        namespace = {"own": evil.namespace, "there": victim.namespace, "none": None}[where]
        role = "ClusterRole" if where == "none" else "Role"  # the API server takes any name for it
        spec = Spec(evil, evil.namespace, f"forged-{where}").apply(
            [plain("rbac.authorization.k8s.io/v1", role, f"x\n{self.FORGED}", namespace, rules=[])],
            serviceAccountName=DEPLOYER)
        assert spec.wait("False")["reason"] == "InvalidSpec"
        assert not self.lines_of_ours(spec)

    @pytest.mark.parametrize("text", [f"y; {FORGED}", f"y\n{FORGED}"], ids=["sentence", "line"])
    @pytest.mark.parametrize("place", ["field", "key", "label", "value", "id"])
    def test_a_hint_of_ours_is_a_line_of_its_own(self, evil, text, place):
        """The API server's message repeats what the Spec's author wrote, often without quotes: but
        on the message's first line."""
        thing = config_map("forged", evil.namespace)
        attributes = thing["attributes"]
        if place == "field":
            attributes[text] = {}
        elif place == "key":
            attributes["data"][text] = "a"
        elif place == "label":
            attributes["metadata"]["labels"] = {"a": text}
        elif place == "value":
            attributes["immutable"] = text
        else:
            thing["id"] = text
        spec = Spec(evil, evil.namespace, f"forged-{place}").apply([thing],
                                                                   serviceAccountName=DEPLOYER)
        spec.wait("False")
        assert not self.lines_of_ours(spec)

    def test_nor_is_the_id_of_a_secret_one(self, evil):
        """It is in the condition SecretsInClear, whether it fits its object or not."""
        thing = secret("forged", evil.namespace, {"p": "cA=="})
        thing["id"] = f"a\n{self.FORGED}"
        spec = Spec(evil, evil.namespace, "forged-secret").apply([thing],
                                                                 serviceAccountName=DEPLOYER)
        spec.wait("False")
        assert "SecretsInClear" in {one["type"] for one in spec.get()["status"]["conditions"]}
        assert not self.lines_of_ours(spec)

    @staticmethod
    def lines_of_ours(spec):
        status = spec.get()["status"]
        told = [*status.get("resources", {}).get("failed", []), *status["conditions"],
                *spec.events()]
        assert "\n" not in status["summary"]
        return [line for one in told for line in one["message"].split("\n")[1:]
                if not line.startswith("next try within ")]


class TestForgedReleases:
    LABELS = {"api.kusion.io/generated": "true"}

    def forge(self, evil, name, annotations=None, labels=None, of="forged"):
        body = new_release(name, specRef={"name": of})
        body["metadata"].update(labels=labels or {}, annotations=annotations or {})
        if labels:
            forge_record(evil.api, evil.cluster, evil.namespace, body)
        else:
            evil.api.create(path_of("Release", evil.namespace), body).must()

    @pytest.mark.parametrize("number, revision", list(enumerate([
        "9223372036854775807", "9223372036854775808", "9007199254740993", "-1", "0", "1e18", "",
        "x"])))
    def test_a_revision_out_of_range_is_not_counted_on(self, tenancy, evil, number, revision):
        """With all labels of the Spec's own records, which the tenant can read from one."""
        name = f"range-{number}"
        spec = Spec(evil, evil.namespace, name).apply([config_map(name, evil.namespace)],
                                                      serviceAccountName=DEPLOYER)
        spec.wait("True")
        first, = spec.releases()
        annotations = {**first["metadata"]["annotations"], "api.kusion.io/revision": revision}
        self.forge(evil, f"{name}-x", annotations, first["metadata"]["labels"], name)
        spec.apply([config_map(name, evil.namespace, {"a": "c"})], serviceAccountName=DEPLOYER)
        spec.wait("True")
        made = [one["metadata"]["name"] for one in spec.releases() if one["status"].get("revision")]
        assert made == [f"{name}-1", f"{name}-2"], made
        assert tenancy.operator.process.poll() is None

    def test_a_first_record_that_is_forged_is_not_taken_for_one(self, evil):
        """Without the label, and with it: named as the Spec's first, for a Spec of another name."""
        for number, (labels, of) in enumerate((({}, "web-0"), (self.LABELS, "other"))):
            name = f"web-{number}"
            self.forge(evil, f"{name}-1", {"api.kusion.io/revision": "1"}, labels, of)
            spec = Spec(evil, evil.namespace, name).apply([config_map(name, evil.namespace)],
                                                          serviceAccountName=DEPLOYER)
            spec.wait("True")
            made = spec.releases()[-1]
            assert made["metadata"]["name"] == f"{name}-2"
            assert made["status"]["phase"] == "succeeded"
            forged = evil.api.get(path_of("Release", evil.namespace, f"{name}-1")).must().object
            assert not forged.get("status", {}).get("results"), forged

    def test_all_names_taken_is_said(self, evil):
        """Labelled as the operator's own, they are not collected as previews are."""
        need_objects()
        for revision in range(1, 40):
            self.forge(evil, f"full-{revision}", labels={"api.kusion.io/generated": "true"}, of="other")
        spec = Spec(evil, evil.namespace, "full").apply([config_map("full", evil.namespace)],
                                                        serviceAccountName=DEPLOYER)

        def is_said():
            ready = spec.condition()
            assert ready and ready["reason"] == "ReleaseNameTaken", ready
            return ready

        assert "full-" in eventually(is_said)["message"]

    @pytest.mark.parametrize("operation", ["Apply", "Rollback"])  # to a revision that never was
    def test_a_hand_made_operation_is_refused(self, evil, operation):
        body = new_release(f"by-hand-{operation.lower()}", operation=operation,
                           specRef={"name": "web-0"})
        if operation == "Rollback":
            body["spec"]["toRevision"] = 999
        evil.api.create(path_of("Release", evil.namespace), body).must()
        path = path_of("Release", evil.namespace, body["metadata"]["name"])
        eventually(lambda: evil.api.get(path).object.get("status", {}).get("phase") == "failed")


class TestWhatIsMade:
    """The object is the one that was checked: no text means anything else on its way."""

    TEXTS = {
        "line": "a\x85b", "separators": "a  \u2028  b\u2029", "delete": "a\x7fb", "c1": "a\x9bb",
        "noncharacter": "a\ufffeb", "mark": "\ufeffa", "beyond": "\U0001f600",
        "blanks": "  a \n\n b\t ", "yaml": "- a: &b !!c {d: *b}\n---\n%e #f", "number": "0x1F",
        "null": "~", "key": "? a\n: b",
    }

    @pytest.mark.parametrize("name", TEXTS)
    def test_text_arrives_as_it_is(self, tenancy, evil, name):
        """The Spec is made by JSON: how the operator sends its object is what is looked at."""
        thing = config_map(f"text-{name}", evil.namespace, {"t": self.TEXTS[name]})
        body = new_spec(f"text-{name}", resources=[thing], serviceAccountName=DEPLOYER)
        evil.api.create(path_of("Spec", evil.namespace), body).must()
        spec = Spec(evil, evil.namespace, f"text-{name}")
        spec.generation = 1
        spec.wait("True")
        found = tenancy.cluster.api.get(
            f"/api/v1/namespaces/{evil.namespace}/configmaps/text-{name}").must().object
        assert found["data"]["t"] == self.TEXTS[name]


class TestOddText:
    """What a terminal would take for a command: ESC, the C1 controls, and marks of direction."""

    @staticmethod
    def things(namespace, text):
        return [
            config_map("a", namespace, id=f"v1:ConfigMap:{namespace}:a{text}"),
            {"id": f"x{text}", "type": "Kubernetes", "attributes": {"kind": text, f"a{text}": 1}},
            config_map(f"b{text}", namespace),
        ]

    @staticmethod
    def said(tenancy, spec):
        status = spec.get()["status"]
        told = status["conditions"] + status.get("resources", {}).get("failed", []) + spec.events()
        log = tenancy.operator.log.read_text().split("\n")[:-1]
        values = [str(value) for line in log for value in json.loads(line).values()]
        return [one["message"] for one in told] + values + log

    @pytest.mark.parametrize("text", ["\x9b31m", "\x85", "\u202e", "\u2066"], ids=ascii)
    def test_it_does_not_reach_a_terminal(self, tenancy, evil, text):
        self.look(tenancy, evil, text)

    @pytest.mark.parametrize("text", ["\x1b[2J", "\x07", "\x7f", "\n{}", "\r"], ids=ascii)
    def test_a_control_does_not_reach_a_terminal(self, tenancy, evil, text):
        self.look(tenancy, evil, text)

    def look(self, tenancy, evil, text):
        sought = text if text[0] == "\n" else text[0]  # hints of ours are lines
        for number, thing in enumerate(self.things(evil.namespace, text)):
            spec = Spec(evil, evil.namespace, f"terminal-{ord(text[0]):x}-{number}")
            spec.apply([thing], serviceAccountName=DEPLOYER).wait("False")
            found = [one for one in self.said(tenancy, spec) if sought in one]
            assert not found, ascii(found)


# Beside the resources of Specs: what the operator asks for as itself, and of which namespaces.
SELF = {
    "specs": "get list watch patch", "specs/status": "update", "releases": "get list watch create delete",
    "releases/status": "update", "events": "create", "serviceaccounts": "get", "namespaces": "get",
    "customresourcedefinitions": "get list",
}
SELF_AT_HOME = {
    "configmaps": "get list watch create update patch delete",
    "secrets": "get list create update delete",
    "leases": "get create update",
}


@pytest.fixture(scope="module")
def entries(tenancy, evil, victim):
    """All that the operator asked for, since it was started."""
    time.sleep(WRITTEN)
    found = tenancy.audit.entries(0, OPERATOR)
    assert any(one.acts_as for one in found)
    return found


class TestAudit:
    """Last in this file: of all that was done above."""

    def test_resources_of_specs_are_asked_for_as_their_own_account(self, entries, evil):
        """Only one tenant has Specs here. No other account is ever one that it acts as."""
        accounts = {one.acts_as for one in entries if one.acts_as}
        assert accounts == {evil.account}
        for one in entries:
            if one.acts_as:
                assert sorted(one.impersonated["groups"]) == sorted(groups_of(evil.account)), one
                assert not {"uid", "extra"} & set(one.impersonated), one.impersonated

    def test_nothing_outside_of_it_was_done_for_it(self, entries, evil):
        """But for the question which rights it has, which every account may ask for itself."""
        question = ("create", "selfsubjectrulesreviews")
        wrong = [one for one in entries if one.acts_as and one.was_done and one.resource
                 and one.namespace != evil.namespace and (one.verb, one.resource) != question]
        assert not wrong, wrong

    def test_as_itself_it_asks_for_what_is_its_own(self, entries, evil):
        """No object of the tenant's namespace but Specs, Releases, Events, and whether an account
        is there; nothing at all of the other tenant's."""
        wrong = []
        for one in entries:
            if one.acts_as or not one.resource:
                continue
            table = SELF_AT_HOME if one.namespace == OWN and one.resource in SELF_AT_HOME else SELF
            places = (OWN,) if table is SELF_AT_HOME else (evil.namespace, OWN, "", SYSTEM) if \
                one.resource == "namespaces" else (evil.namespace, "")
            if one.verb not in table.get(one.resource, "").split() or one.namespace not in places:
                wrong.append(one)
        assert not wrong, wrong[:20]

    def test_what_names_no_object_is_discovery(self, entries):
        paths = {one.uri.partition("?")[0] for one in entries if not one.resource}
        odd = [path for path in paths
               if not re.fullmatch(r"/version|/apis?|/api/[^/]+|/apis/[^/]+(/[^/]+)?", path)]
        assert not odd, odd
