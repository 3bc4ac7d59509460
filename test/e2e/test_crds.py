"""The two kinds, as a real API server understands them: names, columns, status, and what they
keep as it is. test_crds_validation.py has what they refuse."""

import json
import re

import pytest
import yaml

from kusion_e2e.kinds import create, every_field, new_release, new_spec, path_of, schema_of
from kusion_e2e.paths import CRDS

# The files themselves.


def walk(schema, path=()):
    """Each node of a schema, with its path."""
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from walk(child, (*path, name))
    if "items" in schema:
        yield from walk(schema["items"], (*path, "[]"))
    if isinstance(schema.get("additionalProperties"), dict):
        yield from walk(schema["additionalProperties"], (*path, "{}"))


def described(path):
    """metadata has its description from the API server; elements may be described by their list."""
    return path != ("metadata",) and path[-1:] not in (("[]",), ("{}",))


# Fields of a Release that no other operation has, Rollback least of all.
OF_PREVIEWS = ["resources", "resourcesFrom", "policies", "serviceAccountName"]
PROVIDERS = ("secretStore", "provider")
# Of the store that is meant.
REQUIRED = {(*PROVIDERS, *path) for path in (("vault", "server"), ("aws", "region"), ("alicloud", "region"),
                                             ("azure", "vaultUrl"), ("azure", "tenantId"))}
# Of a Spec there is one provider; and what Flux has is there to be refused with a word.
OF_OTHERS = [("spec", *PROVIDERS, name) for name in ("aws", "alicloud", "azure", "fake", "onpremises", "viettelcloud")]
OF_OTHERS += [("spec", "healthCheckExprs")]

# The status that is not written yet.
UNOBSERVED = {
    "Spec": {"observedGeneration": -1, "summary": "queued",
             "conditions": [{"type": "Ready", "status": "Unknown", "reason": "Progressing",
                             "message": "queued: the operator has not begun with it",
                             "lastTransitionTime": "1970-01-01T00:00:00Z"}]},
    "Release": {"observedGeneration": -1},
}


@pytest.mark.parametrize("kind", ["Spec", "Release"])
class TestFile:
    def test_has_no_anchors(self, kind):
        text = (CRDS / f"api.kusion.io_{kind.lower()}s.yaml").read_text()
        for token in yaml.scan(text):
            assert not isinstance(token, (yaml.AnchorToken, yaml.AliasToken)), token.start_mark

    def test_every_field_is_described(self, kind):
        nodes = [(path, node) for path, node in walk(schema_of(kind)) if described(path)]
        assert [path for path, node in nodes if "description" not in node] == []

    def test_has_defaults_only_for_the_status(self, kind):
        found = {path: node["default"] for path, node in walk(schema_of(kind)) if "default" in node}
        assert found == {("status",): UNOBSERVED[kind]}

    def test_every_optional_field_of_spec_tells_its_default(self, kind):
        """Those that mean something by themselves: not what holds others, parts of an element."""
        silent = []
        for path, node in walk(schema_of(kind)["properties"]["spec"]):
            if not path or "[]" in path or "{}" in path or node.get("type") == "object":
                continue
            if path in {("resources",), ("operation",)} or path[-1] == "name":
                continue
            if path[:1] == ("commonMetadata",) or path in REQUIRED:
                continue
            if "default: " not in node["description"].lower():
                silent.append(path)
        assert silent == []

    def test_every_list_is_bounded(self, kind):
        nodes = walk(schema_of(kind))
        lists = [(path, node) for path, node in nodes if node.get("type") == "array"]
        assert lists
        assert [path for path, node in lists if "maxItems" not in node] == []
        assert [path for path, node in lists if node.get("x-kubernetes-list-type", "") == ""] == []

    def test_every_string_of_spec_is_bounded(self, kind):
        strings = [
            (path, node)
            for path, node in walk(schema_of(kind)["properties"]["spec"])
            if node.get("type") == "string"
        ]
        assert [p for p, node in strings if not {"maxLength", "enum"} & set(node)] == []

    def test_the_example_uses_every_field(self, kind):
        def used(schema, values, path=()):
            """Paths of the schema that no value uses."""
            values = [value for value in values if value is not None]
            if not values:
                yield path
                return
            for name, child in schema.get("properties", {}).items():
                below = [value[name] for value in values if name in value]
                yield from used(child, below, (*path, name))
            if "items" in schema:
                elements = [element for value in values for element in value]
                yield from used(schema["items"], elements, (*path, "[]"))

        missing = list(used(schema_of(kind), [every_field(kind)]))
        assert missing == (OF_OTHERS if kind == "Spec" else [("spec", name) for name in OF_PREVIEWS])


def test_what_a_preview_carries_is_as_in_a_spec():
    """A CRD cannot refer to another one: it is a copy."""
    spec, release = (schema_of(kind)["properties"]["spec"]["properties"]
                     for kind in ("Spec", "Release"))
    for name in OF_PREVIEWS:
        if name == "policies":
            continue
        assert {**release[name], "description": ""} == {**spec[name], "description": ""}
    for name, field in release["policies"]["properties"].items():
        assert {**field, "description": ""} == {**spec[name], "description": ""}


# As served.


class TestServed:
    def test_is_established_without_complaints(self, crds):
        for kind in ("specs", "releases"):
            served = crds.get_json("crd", f"{kind}.api.kusion.io")
            conditions = {c["type"]: c for c in served["status"]["conditions"]}
            assert conditions["NamesAccepted"]["status"] == "True"
            assert conditions["Established"]["status"] == "True"
            assert "NonStructuralSchema" not in conditions
            assert served["spec"]["scope"] == "Namespaced"

    @pytest.mark.parametrize(
        "name, plural",
        [("spec", "specs"), ("kspec", "specs"), ("release", "releases"), ("krel", "releases")],
    )
    def test_names(self, crds, name, plural):
        found = crds.kubectl("get", name, "-A", "-o", "name", "-v=6").stderr
        assert f"/apis/api.kusion.io/v1/{plural}?" in found

    def test_category(self, crds, namespace):
        create(crds, namespace, new_spec("one")).must()
        create(crds, namespace, new_release("two")).must()
        found = crds.kubectl("get", "kusion", "-n", namespace, "-o", "name").stdout.split()
        assert sorted(found) == ["release.api.kusion.io/two", "spec.api.kusion.io/one"]

    @pytest.mark.parametrize(
        "field, says",
        [
            ("spec.spec.resources.dependsOn", "healthy before this resource is applied"),
            ("spec.spec.interval", "Default: 10m."),
            ("spec.spec.approval.approvedPlan", "needs a new approval"),
            ("spec.status.policy.serviceAccountName", "acts as itself"),
            ("release.spec.operation", "changes nothing"),
            ("release.status.results.fields.from", "redacted"),
        ],
    )
    def test_explain(self, crds, field, says):
        text = crds.kubectl("explain", field, "--api-version=api.kusion.io/v1").stdout
        assert says in " ".join(text.split())

    def test_applying_again_changes_nothing(self, crds):
        before = crds.get_json("crd", "specs.api.kusion.io")["metadata"]
        crds.install_crds()
        after = crds.get_json("crd", "specs.api.kusion.io")["metadata"]
        assert after["resourceVersion"] == before["resourceVersion"]


# Status and columns.


class TestStatus:
    @pytest.mark.parametrize("body", [new_spec(), new_release()], ids=["Spec", "Release"])
    def test_is_unobserved_when_made(self, crds, namespace, body):
        """A Spec says at once that it is queued, at no cost: also while there is no operator."""
        made = create(crds, namespace, body).must().object
        assert made["status"] == UNOBSERVED[body["kind"]]

    @pytest.mark.parametrize("kind", ["Spec", "Release"])
    def test_is_not_taken_from_who_makes_it(self, crds, namespace, kind):
        made = create(crds, namespace, every_field(kind)).must().object
        assert made["status"] == UNOBSERVED[kind]

    @pytest.mark.parametrize("kind", ["Spec", "Release"])
    def test_round_trips(self, crds, namespace, kind):
        body = every_field(kind)
        made = create(crds, namespace, body).must().object
        path = path_of(kind, namespace, "every-field", "status")
        written = crds.api.patch(f"{path}?fieldValidation=Strict", {"status": body["status"]})
        assert written.must().object["status"] == body["status"]
        assert written.object["metadata"]["generation"] == made["metadata"]["generation"] == 1

    @pytest.mark.parametrize("kind", ["Spec", "Release"])
    def test_conditions_are_merged_by_type(self, crds, namespace, kind):
        body = new_spec() if kind == "Spec" else new_release()
        create(crds, namespace, body).must()
        path = path_of(kind, namespace, "a", "status")
        for manager, condition in (("one", "Ready"), ("two", "Drifted")):
            status = {
                "conditions": [
                    {
                        "type": condition,
                        "status": "Unknown",
                        "reason": "Because",
                        "message": "",
                        "lastTransitionTime": "2026-11-21T10:00:00Z",
                    }
                ]
            }
            patch = {"apiVersion": body["apiVersion"], "kind": kind, "status": status}
            answer = crds.api.apply(path, patch, manager).must()
        assert [c["type"] for c in answer.object["status"]["conditions"]] == ["Ready", "Drifted"]

    @pytest.mark.parametrize(
        "status",
        [
            {"conditions": [{"type": "Ready", "status": "True"}]},
            {"phase": "finished"},
            {"revision": -1},
            {"results": [{"id": "a", "duration": "1 s"}]},
            {"createTime": "yesterday"},
        ],
        ids=lambda status: next(iter(status)),
    )
    def test_of_a_release_refuses(self, crds, namespace, status):
        create(crds, namespace, new_release()).must()
        path = path_of("Release", namespace, "a", "status")
        assert crds.api.patch(path, {"status": status}).code == 422


def columns(cluster, namespace, kind, *options):
    lines = cluster.kubectl("get", kind, "-n", namespace, *options).stdout.splitlines()
    starts = [lines[0].index(word) for word in lines[0].split()]
    cells = []
    for line in lines:
        ends = [*starts[1:], None]
        cells.append([line[start:end].strip() for start, end in zip(starts, ends)])
    return cells


class TestColumns:
    def prepare(self, crds, namespace, kind):
        body = every_field(kind)
        create(crds, namespace, body).must()
        path = path_of(kind, namespace, "every-field", "status")
        crds.api.patch(path, {"status": body["status"]}).must()

    def test_of_spec(self, crds, namespace):
        self.prepare(crds, namespace, "Spec")
        head, row = columns(crds, namespace, "specs")
        assert head == ["NAME", "READY", "OBJECTS", "REASON", "STATUS", "AGE"]
        assert row[:5] == ["every-field", "True", "17/17", "ReconciliationSucceeded", "Applied revision 4"]
        head, row = columns(crds, namespace, "specs", "-o", "wide")
        assert head[6:] == ["PLAN", "REVISION", "DRIFT", "SUSPENDED", "RECONCILING", "OBSERVED"]
        assert row[6:] == ["sha256:0123456789abcdef", "4", "20", "false", "", "4"]

    def test_of_release(self, crds, namespace):
        self.prepare(crds, namespace, "Release")
        head, row = columns(crds, namespace, "releases")
        assert head == ["NAME", "OPERATION", "REVISION", "PHASE", "SUMMARY", "APPROVER", "AGE"]
        assert row[:6] == ["every-field", "Rollback", "5", "rollingBack", "16 of 17 resources are done", "alice@example.com"]
        head, row = columns(crds, namespace, "releases", "-o", "wide")
        assert head == ["NAME", "SPEC", "OPERATION", "REVISION", "PHASE", "REASON", "SUMMARY", "APPROVER",
                        "AGE", "PLAN"]
        assert row[1] == "guestbook" and row[3] == "5" and row[5] == "Progressing"
        assert row[9] == "sha256:0123456789abcdef"


class TestFieldSelectors:
    @pytest.mark.parametrize(
        "selector, names",
        [
            ("spec.specRef.name=shop", ["a", "b"]),
            ("spec.specRef.name=shop,spec.operation=Preview", ["b"]),
            ("spec.specRef.name=other", ["c"]),
            ("spec.specRef.name=none", []),
            ("status.phase=succeeded", ["c"]),
            ("status.phase!=succeeded,status.phase!=failed", ["a", "b"]),
        ],
    )
    def test_of_releases(self, crds, namespace, selector, names):
        for name, spec, operation in (
            ("a", "shop", "Apply"),
            ("b", "shop", "Preview"),
            ("c", "other", "Apply"),
        ):
            body = new_release(name, specRef={"name": spec}, operation=operation)
            create(crds, namespace, body).must()
        path = path_of("Release", namespace, "c", "status")
        crds.api.patch(path, {"status": {"phase": "succeeded"}}).must()
        listed = crds.kubectl(
            "get", "releases", "-n", namespace, "--field-selector", selector, "-o", "name"
        )
        assert [line.rpartition("/")[2] for line in listed.stdout.split()] == names


# What is accepted as it is.


class TestRoundTrip:
    @pytest.mark.parametrize("kind", ["Spec", "Release"])
    def test_every_field(self, crds, namespace, kind):
        body = every_field(kind)
        made = create(crds, namespace, body).must().object
        assert made["spec"] == body["spec"]
        assert crds.api.get(path_of(kind, namespace, "every-field")).object["spec"] == body["spec"]

    def test_by_server_side_apply(self, crds, namespace):
        """A first one after the creation stores the default of status, which the API server had
        only shown till then; it changes nothing once the controller has written a status."""
        body = every_field("Spec")
        status = {"status": body.pop("status")}
        crds.apply(yaml.safe_dump(body), namespace)
        crds.api.patch(path_of("Spec", namespace, "every-field", "status"), status).must()
        found = crds.get_json("spec", "every-field", "-n", namespace)
        assert found["spec"] == body["spec"]
        crds.apply(yaml.safe_dump(body), namespace)
        again = crds.get_json("spec", "every-field", "-n", namespace)
        assert again["metadata"]["resourceVersion"] == found["metadata"]["resourceVersion"]

    def test_resources_are_owned_as_a_whole(self, crds, namespace):
        """A second manager's list replaces the first's: managedFields stay small."""
        path = path_of("Spec", namespace, "a")
        for manager in ("one", "two"):
            resource = {"id": manager, "type": "Kubernetes", "attributes": {"a": {"b": manager}}}
            answer = crds.api.apply(path, new_spec(resources=[resource]), manager).must()
        assert [r["id"] for r in answer.object["spec"]["resources"]] == ["two"]
        fields = json.dumps(answer.object["metadata"]["managedFields"])
        assert "f:resources" in fields and "f:attributes" not in fields

    def test_an_empty_object_has_no_defaults(self, crds, namespace):
        fields = {
            "resources": [],
            "approval": {},
            "driftDetection": {},
            "remediation": {},
            "commonMetadata": {},
        }
        assert create(crds, namespace, new_spec(**fields)).must().object["spec"] == fields


class TestUnknownFields:
    BODY = new_spec(resources=[], resuorces=[{"id": "a"}])

    def test_are_refused_strictly(self, crds, namespace):
        refused = crds.apply(yaml.safe_dump(self.BODY), namespace, check=False)
        assert refused.returncode != 0
        assert "resuorces" in refused.stderr

    def test_a_misspelt_list_of_resources_removes_nothing(self, crds, namespace):
        """Where a client does not ask for strictness the field is dropped; what is left must not
        mean an empty Spec."""
        body = new_spec(resuorces=[{"id": "a"}])
        answer = crds.api.create(f"{path_of('Spec', namespace)}?fieldValidation=Ignore", body)
        assert answer.code == 422
        assert "resources is required" in answer.message
