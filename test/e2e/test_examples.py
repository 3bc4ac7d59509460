"""What examples/ gives to a team: enough for its Specs, and nothing outside of its namespace."""

import json

import pytest
import yaml

from kusion_e2e.approved import Approved
from kusion_e2e.controller import STATE
from kusion_e2e.paths import ROOT
from kusion_e2e.rights import account, may, wait_until_may
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.state_backend import need_objects
from kusion_e2e.wait import eventually

TEAM = "team-a"
DEPLOYER = account(TEAM, "deployer")
EXAMPLES = ROOT / "examples"
REFUSED = ("a Spec of this namespace, or a Preview with resources, must have serviceAccountName "
           "deployer")


def example(name):
    return (EXAMPLES / name).read_text()


@pytest.fixture(scope="module")
def team(controlled):
    """The shared control plane, with team-a.yaml and a controller at work."""
    controlled.apply(example("team-a.yaml"))
    wait_until_may(controlled, DEPLOYER, "create", "deployments", TEAM, "apps")
    yield controlled
    controlled.delete_namespace(TEAM)


@pytest.fixture
def one_account(team):
    """Makes the policy, when a test calls it."""

    def refuses():
        path = f"/apis/api.kusion.io/v1/namespaces/{TEAM}/specs?dryRun=All"
        probe = {"apiVersion": "api.kusion.io/v1", "kind": "Spec", "metadata": {"name": "probe"},
                 "spec": {"resources": [config_map("probe", TEAM)]}}
        return REFUSED in team.api.create(path, probe).object.get("message", "")

    def make():
        team.apply(example("one-account.yaml"))
        eventually(refuses)

    yield make  # a policy works, and ceases to, some time after it was made, and deleted
    team.kubectl("delete", "--ignore-not-found", "-f", EXAMPLES / "one-account.yaml")
    eventually(lambda: not refuses())


def can_i(cluster, *words):
    """What kubectl says to it. It ends with 1 where it says no."""
    return cluster.kubectl("auth", "can-i", f"--as={DEPLOYER}", *words, check=False).stdout.strip()


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
def test_no_example_binds_in_the_whole_cluster(path):
    kinds = {document["kind"] for document in yaml.safe_load_all(path.read_text())}
    assert kinds and not kinds & {"ClusterRole", "ClusterRoleBinding"}


def test_the_account_may_do_its_work(team):
    assert can_i(team, "create", "secrets", "-n", TEAM) == "yes"
    assert can_i(team, "create", "deployments.apps", "-n", TEAM) == "yes"


@pytest.mark.parametrize("words", [
    f"create secrets -n {STATE}",
    f"get secrets -n {STATE}",
    f"patch configmaps -n {STATE}",
    "create secrets -n kube-system",
    "create deployments.apps -n kube-system",
    "list secrets -A",
    "list *.* -A",
    "create namespaces",
    "create clusterrolebindings.rbac.authorization.k8s.io",
    "create rolebindings.rbac.authorization.k8s.io -n default",
    f"impersonate serviceaccounts -n {TEAM}",
    f"bind roles.rbac.authorization.k8s.io -n {TEAM}",
    f"escalate roles.rbac.authorization.k8s.io -n {TEAM}",
    f"create serviceaccounts --subresource=token -n {TEAM}",
])
def test_the_account_may_not(team, words):
    assert can_i(team, *words.split()) == "no"


@pytest.mark.parametrize("namespace", [STATE, "kube-system"])
@pytest.mark.parametrize("group, resource_name", [("", "secrets"), ("", "serviceaccounts"), ("apps", "deployments")])
def test_the_groups_of_the_account_give_it_nothing_more(team, namespace, group, resource_name):
    """kubectl's --as has no groups; a ServiceAccount is in some."""
    assert not any(may(team, DEPLOYER, verb, group, resource_name, namespace)
                   for verb in ("get", "list", "create", "patch", "delete"))


def test_the_guestbook_becomes_ready_and_goes(team):
    team.apply(example("guestbook.yaml"))
    spec = Spec(team, TEAM, "guestbook")
    spec.generation = 1
    spec.wait("True")
    service = team.get_json("service", "redis", "-n", TEAM)
    config = team.get_json("configmap", "frontend", "-n", TEAM)
    assert service["spec"]["clusterIP"] in config["data"].values()
    spec.delete()
    for kind in ("deployments", "services", "poddisruptionbudgets", "secrets"):
        assert team.get_json(kind, "-n", TEAM) is None
    assert team.get_json("rolebinding", "frontend", "-n", TEAM) is None


def test_a_spec_gets_no_token_of_the_operator(team):
    """The API server fills in a Secret of this type with a token of the account that it names."""
    token = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
             "metadata": {"name": "tok", "namespace": STATE,
                          "annotations": {"kubernetes.io/service-account.name": "default"}}}
    taken = config_map("taken", TEAM, {"token": f"$kusion_path.v1:Secret:{STATE}:tok.data.token"})
    spec = Spec(team, TEAM, "attack").apply([resource(token), taken], serviceAccountName="deployer")
    ready = spec.wait("False")
    assert ready["reason"] == "AccessDenied", ready
    assert team.get_json("secret", "tok", "-n", STATE) is None
    assert team.get_json("configmap", "taken", "-n", TEAM) is None
    spec.delete()


@pytest.mark.parametrize("fields, allowed", [
    ({"serviceAccountName": "deployer"}, True),
    ({"serviceAccountName": "default"}, False),
    ({}, False),
])
def test_a_policy_holds_specs_to_one_account(team, one_account, fields, allowed):
    one_account()
    spec = Spec(team, TEAM, "held")
    body = {"apiVersion": "api.kusion.io/v1", "kind": "Spec",
            "metadata": {"name": spec.name, "namespace": TEAM},
            "spec": {"resources": [config_map("held", TEAM)], **fields}}
    answer = team.api.apply(spec.path, json.dumps(body))
    assert answer.ok == allowed, answer.object
    if allowed:
        spec.generation = answer.object["metadata"]["generation"]
        spec.wait("True")
        spec.delete()
    else:
        assert REFUSED in answer.object["message"]


def try_preview(cluster, namespace, **fields):
    """By a dry run."""
    body = {"apiVersion": "api.kusion.io/v1", "kind": "Release", "metadata": {"name": "probe"},
            "spec": {"specRef": {"name": "held"}, "operation": "Preview", **fields}}
    path = f"/apis/api.kusion.io/v1/namespaces/{namespace}/releases?dryRun=All"
    return cluster.api.create(path, body)


def test_a_policy_holds_previews_to_one_account(team, one_account):
    one_account()
    resources = [config_map("held", TEAM)]
    try_preview(team, TEAM).must()
    try_preview(team, TEAM, resources=resources, serviceAccountName="deployer").must()
    for wrong in ({}, {"serviceAccountName": "default"}):
        answer = try_preview(team, TEAM, resources=resources, **wrong)
        assert not answer.ok and REFUSED in answer.message, answer


def test_a_policy_of_one_account_holds_no_spec_that_goes(team, one_account):
    """A Spec with another account, from before the policy, must still lose its finalizer."""
    team.kubectl("create", "rolebinding", "other", "--role=deployer", "-n", TEAM,
                 f"--serviceaccount={TEAM}:default")
    wait_until_may(team, account(TEAM), "create", "configmaps", TEAM)
    spec = Spec(team, TEAM, "before").apply([config_map("before", TEAM)])
    spec.wait("True")
    one_account()
    spec.delete()
    team.kubectl("delete", "rolebinding", "other", "-n", TEAM)


def test_a_policy_of_one_account_holds_what_is_being_deleted(team, one_account):
    """With the account of another it would be deleted with rights that its author does not have."""
    one_account()
    path = f"/apis/api.kusion.io/v1/namespaces/{TEAM}/specs"
    body = {"apiVersion": "api.kusion.io/v1", "kind": "Spec",
            "metadata": {"name": "going", "namespace": TEAM, "finalizers": ["example.com/stay"]},
            "spec": {"resources": [config_map("going", TEAM)], "serviceAccountName": "deployer"}}
    team.api.create(path, body).must()
    team.api.delete(f"{path}/going").must()
    answer = team.api.patch(f"{path}/going", {"spec": {"serviceAccountName": "default"}})
    assert not answer.ok and REFUSED in answer.message, answer
    team.api.patch(f"{path}/going", {"metadata": {"labels": {"a": "b"}}}).must()
    eventually(lambda: team.api.get(f"{path}/going").object["metadata"]["finalizers"] == ["example.com/stay"])
    team.api.patch(f"{path}/going", {"metadata": {"finalizers": None}}).must()


@pytest.fixture
def no_kube_specs(team):
    file = "no-specs-in-kube-namespaces.yaml"
    team.apply(example(file))
    yield
    team.kubectl("delete", "-f", EXAMPLES / file)
    eventually(lambda: may_have_a_spec(team, "kube-system"))


def test_a_policy_keeps_a_spec_of_kube_namespaces_as_it_is(team):
    """One from before the policy may go, and do nothing else."""
    path = "/apis/api.kusion.io/v1/namespaces/kube-public/specs"
    body = {"apiVersion": "api.kusion.io/v1", "kind": "Spec",
            "metadata": {"name": "before", "finalizers": ["example.com/stay"]},
            "spec": {"resources": [], "suspend": True}}
    team.api.create(path, body).must()
    team.apply(example("no-specs-in-kube-namespaces.yaml"))
    eventually(lambda: not may_have_a_spec(team, "kube-public"))
    team.api.delete(f"{path}/before").must()
    answer = team.api.patch(f"{path}/before", {"spec": {"suspend": False}})
    assert not answer.ok and "Specs are not allowed" in answer.message, answer
    team.api.patch(f"{path}/before", {"metadata": {"finalizers": None}}).must()
    team.kubectl("delete", "-f", EXAMPLES / "no-specs-in-kube-namespaces.yaml")
    eventually(lambda: may_have_a_spec(team, "kube-public"))


def may_have_a_spec(cluster, namespace):
    path = f"/apis/api.kusion.io/v1/namespaces/{namespace}/specs?dryRun=All"
    body = {"apiVersion": "api.kusion.io/v1", "kind": "Spec", "metadata": {"name": "probe"},
            "spec": {"resources": [config_map("probe", namespace)]}}
    answer = cluster.api.create(path, body)
    assert answer.ok or "Specs are not allowed" in answer.message, answer
    return answer.ok


def test_a_policy_keeps_specs_out_of_kube_namespaces(team, no_kube_specs):
    eventually(lambda: not may_have_a_spec(team, "kube-system"))
    assert not may_have_a_spec(team, "kube-public")
    assert not may_have_a_spec(team, "kusion-system")
    assert may_have_a_spec(team, TEAM)
    answer = try_preview(team, "kube-system", resources=[config_map("a", "kube-system")])
    assert not answer.ok and "nor Previews with resources" in answer.message, answer
    try_preview(team, "kube-system").must()


# ---- Who may request a Rollback, or a Destroy ----

GENERATED = {"api.kusion.io/generated": "true"}
OF_THE_OPERATOR = "is for the operator's own Releases"


@pytest.fixture
def request_policy(team):
    team.apply(example("release-requests.yaml"))
    yield
    team.kubectl("delete", "--ignore-not-found", "-f", EXAMPLES / "release-requests.yaml")


def request(team, user, operation, spec="web", **metadata):
    """As somebody with these rights on Specs; what the API server answers."""
    body = {"apiVersion": "api.kusion.io/v1", "kind": "Release",
            "metadata": {"generateName": "request-", "namespace": TEAM, **metadata},
            "spec": {"specRef": {"name": spec}, "operation": operation}}
    return team.kubectl(f"--as={user}", "create", "--dry-run=server", "-f", "-",
                        input=json.dumps(body), check=False).stderr


@pytest.mark.parametrize("verbs, operation, missing", [
    (["create"], "Preview", None), (["create"], "Rollback", "update"), (["create"], "Destroy", "delete"),
    (["create", "update"], "Rollback", None), (["create", "update"], "Destroy", "delete"),
    (["create", "delete"], "Destroy", None),
])
def test_what_a_request_takes(team, request_policy, verbs, operation, missing):
    user = f"user-{'-'.join(verbs)}-{operation.lower()}"
    rules = [{"apiGroups": ["api.kusion.io"], "resources": ["releases"], "verbs": ["create"]}]
    if verbs[1:]:
        rules.append({"apiGroups": ["api.kusion.io"], "resources": ["specs"], "verbs": verbs[1:]})
    team.apply(json.dumps({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
                           "metadata": {"name": user, "namespace": TEAM}, "rules": rules}))
    team.kubectl("create", "rolebinding", user, f"--role={user}", f"--user={user}", "-n", TEAM)
    wait_until_may(team, user, "create", "releases", TEAM, "api.kusion.io")
    wanted = f"takes the right to {missing} the Spec web" if missing else ""

    def answered():
        answer = request(team, user, operation)
        assert (wanted in answer and answer) if wanted else not answer, answer
        return True

    eventually(answered)  # a policy works some time after it was made
    eventually(lambda: OF_THE_OPERATOR in request(team, user, operation, labels=GENERATED))


def test_nobody_makes_a_record_of_a_release(team, request_policy):
    """By a label that comes later, while the Release is deleted, or in an update."""
    user = "user-of-releases"
    team.kubectl("create", "role", user, "--verb=*", "--resource=releases.api.kusion.io", "-n", TEAM)
    team.kubectl("create", "rolebinding", user, f"--role={user}", f"--user={user}", "-n", TEAM)
    wait_until_may(team, user, "update", "releases", TEAM, "api.kusion.io")
    eventually(lambda: OF_THE_OPERATOR in request(team, user, "Preview", labels=GENERATED))
    made = {"apiVersion": "api.kusion.io/v1", "kind": "Release",
            "metadata": {"name": "forged-7", "namespace": TEAM, "finalizers": ["example.com/stay"]},
            "spec": {"specRef": {"name": "forged"}, "operation": "Preview"}}
    team.kubectl(f"--as={user}", "create", "-f", "-", input=json.dumps(made))
    label = (f"--as={user}", "label", "release", "forged-7", "-n", TEAM, "api.kusion.io/generated=true")
    assert OF_THE_OPERATOR in team.kubectl(*label, check=False).stderr
    team.kubectl(f"--as={user}", "delete", "release", "forged-7", "-n", TEAM, "--wait=false")
    assert OF_THE_OPERATOR in team.kubectl(*label, check=False).stderr
    team.kubectl(f"--as={user}", "patch", "release", "forged-7", "-n", TEAM, "--type=merge",
                 "-p", '{"metadata": {"finalizers": null}}')


# ---- Who may approve ----

AUTHOR, APPROVER, OTHER_USER = "author@example.com", "approver@example.com", "other@example.com"
TO_APPROVE = "takes the right to approve"
OWNED = {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "bait",
                              "uid": "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"}]}
STATE_TO = {"to": {"secretRef": {"name": "tfstate-default-other"}}}


@pytest.fixture
def approvals(team):
    """Makes an author, who may do all that can be had with the usual verbs, and an approver."""
    team.apply(example("approvals.yaml"))
    team.kubectl("create", "role", "author", "--verb=get,list,watch,create,update,patch,delete",
                 "--resource=specs.api.kusion.io,releases.api.kusion.io", "-n", TEAM)
    for role, user in ("author", AUTHOR), ("approver", APPROVER):
        team.kubectl("create", "rolebinding", role, f"--role={role}", f"--user={user}", "-n", TEAM)
    wait_until_may(team, AUTHOR, "create", "specs", TEAM, "api.kusion.io")
    wait_until_may(team, APPROVER, "approve", "specs", TEAM, "api.kusion.io")
    eventually(lambda: "must have approval.mode Manual" in write(team, AUTHOR, spec_of(mode="Automatic")))
    eventually(lambda: TO_APPROVE in decide(team, AUTHOR, "none", approvedPlan="x"))
    yield team
    team.kubectl("delete", "--ignore-not-found", "-f", EXAMPLES / "approvals.yaml")
    team.kubectl("delete", "rolebinding", "author", "approver", "-n", TEAM)
    team.kubectl("delete", "role", "author", "-n", TEAM)


def spec_of(name="shown", mode="Manual", approval=None, **fields):
    return {"apiVersion": "api.kusion.io/v1", "kind": "Spec", "metadata": {"name": name, "namespace": TEAM},
            "spec": {"resources": [config_map("shown", TEAM)], "serviceAccountName": "deployer",
                     "approval": {"mode": mode, **(approval or {})}, **fields}}


def write(team, user, body, *options):
    """What is wrong with it; empty: it was written."""
    dry = options or ("--dry-run=server",)
    return team.kubectl(f"--as={user}", "apply", "--server-side", "--force-conflicts", *dry, "-f", "-",
                        input=json.dumps(body), check=False).stderr


def decide(team, user, release, **fields):
    if release == "none":  # one that would be made with a decision
        body = {"apiVersion": "api.kusion.io/v1", "kind": "Release",
                "metadata": {"name": "forged", "namespace": TEAM},
                "spec": {"specRef": {"name": "shown"}, "operation": "Preview", **fields}}
        return team.kubectl(f"--as={user}", "create", "--dry-run=server", "-f", "-",
                            input=json.dumps(body), check=False).stderr
    return team.kubectl(f"--as={user}", "patch", "release", release, "-n", TEAM, "--type=merge", "-p",
                        json.dumps({"spec": fields}), check=False).stderr


def test_authors_get_nothing_done_without_an_approver(approvals):
    """All ways that an author could try: one after another, on one Spec."""
    need_objects()
    team = approvals
    assert not write(team, AUTHOR, spec_of(), "--field-manager=author")
    spec = Approved(team, TEAM, "shown")
    spec.generation = 1
    release = spec.waiting()
    name, digest = release["metadata"]["name"], release["status"]["plan"]["digest"]
    owned = spec_of("other")
    owned["metadata"].update(OWNED)
    attacks = {
        "approve in the Release": decide(team, AUTHOR, name, approvedPlan=digest),
        "reject": decide(team, AUTHOR, name, rejected=True),
        "approve in the Spec": write(team, AUTHOR, spec_of(approval={"approvedPlan": digest})),
        "create it approved": write(team, AUTHOR, spec_of("other", approval={"approvedPlan": digest})),
        "have the next plans approved unseen": write(team, AUTHOR, spec_of(approval={"approvedUnseen": True})),
        "create it without approval": write(team, AUTHOR, spec_of("other", mode="Automatic")),
        "switch approval off": write(team, AUTHOR, spec_of(mode="Automatic")),
        "another account": write(team, AUTHOR, spec_of(serviceAccountName="default")),
        "another deletionPolicy": write(team, AUTHOR, spec_of(deletionPolicy="Orphan")),
        "another context": write(team, AUTHOR, spec_of(context={"AWS_PROFILE": "other"})),
        "another contextFrom": write(team, AUTHOR, spec_of(contextFrom=[{"secretRef": {"name": "other"}}])),
        "a file of state": write(team, AUTHOR, spec_of(terraformState=STATE_TO)),
        "create it with a file of state": write(team, AUTHOR, spec_of("other", terraformState=STATE_TO)),
        "remediation": write(team, AUTHOR, spec_of(remediation={"strategy": "rollback", "retries": 1})),
        "delete it": team.kubectl(f"--as={AUTHOR}", "delete", "spec", "shown", "-n", TEAM, check=False).stderr,
        "have it deleted": team.kubectl(f"--as={AUTHOR}", "patch", "spec", "shown", "-n", TEAM, "--type=merge", "-p",
                                        json.dumps({"metadata": OWNED}), check=False).stderr,
        "create it to be deleted": write(team, AUTHOR, owned),
    }
    assert {what for what, answer in attacks.items() if "Forbidden" not in answer and "forbidden" not in answer} == set()
    assert spec.data("shown") is None
    # While it is being deleted, nothing else is allowed (T3).
    keep = spec.get()["metadata"]["finalizers"]
    team.api.patch(spec.path, {"metadata": {"finalizers": [*keep, "example.com/stay"]}}).must()
    assert not decide(team, APPROVER, name, approvedPlan=digest)
    spec.wait("True")
    assert spec.data("shown") == {"a": "b"}
    team.api.delete(spec.path).must()
    assert TO_APPROVE in write(team, AUTHOR, spec_of(serviceAccountName="default"))
    eventually(lambda: spec.get()["metadata"]["finalizers"] == ["example.com/stay"])
    team.api.patch(spec.path, {"metadata": {"finalizers": None}}).must()


def test_authors_request_only_what_waits_for_an_approver(approvals):
    """Of a Spec that is not Manual, it would be carried out at once."""
    team = approvals
    for name, mode in ("manual", "Manual"), ("automatic", "Automatic"):
        body = {**spec_of(name, mode), "spec": {**spec_of(name, mode)["spec"], "suspend": True}}
        team.api.create(f"/apis/api.kusion.io/v1/namespaces/{TEAM}/specs", body).must()
    for operation in "Rollback", "Destroy":
        eventually(lambda: TO_APPROVE in request(team, AUTHOR, operation, "automatic"))
        assert not request(team, AUTHOR, operation, "manual")
        assert not request(team, AUTHOR, operation, "absent")
        assert not request(team, AUTHOR, operation, "automatic", labels=GENERATED), "the operator makes such ones"
    assert not request(team, AUTHOR, "Preview", "automatic")
    record = {"apiVersion": "api.kusion.io/v1", "kind": "Release",
              "metadata": {"name": "forged", "namespace": TEAM, "labels": GENERATED},
              "spec": {"specRef": {"name": "automatic"}, "operation": "Destroy"}}
    team.kubectl(f"--as={AUTHOR}", "create", "-f", "-", input=json.dumps(record))
    answer = team.kubectl(f"--as={AUTHOR}", "label", "release", "forged", "-n", TEAM, "api.kusion.io/generated-",
                          check=False).stderr
    assert TO_APPROVE in answer, "a record becomes a request without its label"
    team.kubectl("delete", "release", "forged", "-n", TEAM)
    team.kubectl("delete", "spec", "manual", "automatic", "-n", TEAM)


@pytest.mark.parametrize("user", ["system:serviceaccount:kube-system:namespace-controller",
                                  "system:serviceaccount:kube-system:generic-garbage-collector",
                                  "system:kube-controller-manager"])
def test_controllers_of_kubernetes_delete_specs(approvals, user):
    """As the controller manager does: with a user for each of its controllers, or with one for all."""
    team = approvals
    team.kubectl("create", "role", "deleter", "--verb=get,list,delete", "--resource=specs.api.kusion.io", "-n", TEAM)
    team.kubectl("create", "rolebinding", "deleter", "--role=deleter", f"--user={user}", f"--user={OTHER_USER}", "-n", TEAM)
    wait_until_may(team, user, "delete", "specs", TEAM, "api.kusion.io")
    wait_until_may(team, OTHER_USER, "delete", "specs", TEAM, "api.kusion.io")
    assert not write(team, AUTHOR, {**spec_of("going"), "spec": {**spec_of()["spec"], "suspend": True}}, "--field-manager=author")
    delete = ("delete", "spec", "going", "-n", TEAM)
    assert TO_APPROVE in team.kubectl(f"--as={OTHER_USER}", *delete, check=False).stderr
    team.kubectl(f"--as={user}", *delete)
    team.kubectl("delete", "rolebinding/deleter", "role/deleter", "-n", TEAM)


def test_authors_may_do_the_rest(approvals):
    """Write, preview, request, withdraw; and delete what deletes nothing."""
    team = approvals
    made = spec_of("kept", deletionPolicy="Orphan", context={"AWS_REGION": "eu-west-1"},
                   contextFrom=[{"secretRef": {"name": "aws", "optional": True}}],
                   terraformState={"from": {"secretRef": {"name": "tfstate-default-mine"}}})
    assert not write(team, AUTHOR, made, "--field-manager=author")
    assert not write(team, AUTHOR, {**made, "spec": {**made["spec"], "interval": "20m"}})
    assert not team.kubectl(f"--as={AUTHOR}", "label", "spec", "kept", "-n", TEAM, "a=b", check=False).stderr
    assert not request(team, AUTHOR, "Preview")
    assert not team.kubectl(f"--as={AUTHOR}", "delete", "spec", "kept", "-n", TEAM, check=False).stderr
