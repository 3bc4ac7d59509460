"""What the ServiceAccount of the chart may, and may not."""

import pytest

from kusion_e2e.api import Api
from kusion_e2e.chart import NAME, OTHER, OWN, TEAM, Chart
from kusion_e2e.cluster import KINDS
from kusion_e2e.rights import account, may, wait_until_may
from kusion_e2e.wait import eventually

CORE = ""
KUSION = "api.kusion.io"
EXTENSIONS = "apiextensions.k8s.io"
ALL = ""  # of all namespaces, or of the cluster
ACCOUNT = account(OWN, NAME)

# verbs, group, resource, namespace, name
MAY = [
    ("get list watch patch", KUSION, "specs", ALL, ""),
    ("get list watch patch", KUSION, "specs", TEAM, ""),
    ("get update", KUSION, "specs/status", TEAM, ""),
    ("get list watch create delete", KUSION, "releases", TEAM, ""),
    ("get update", KUSION, "releases/status", TEAM, ""),
    ("create", CORE, "events", TEAM, ""),
    ("get impersonate", CORE, "serviceaccounts", TEAM, "default"),
    ("get", CORE, "namespaces", ALL, "kube-system"),
    ("get", EXTENSIONS, "customresourcedefinitions", ALL, KINDS[0]),
    ("get", EXTENSIONS, "customresourcedefinitions", ALL, KINDS[1]),
    ("get list", EXTENSIONS, "customresourcedefinitions", ALL, ""),
    ("get", "apiregistration.k8s.io", "apiservices", ALL, "v1.example.com"),
    ("get list watch create update patch delete", CORE, "configmaps", OWN, ""),
    ("get list create update delete", CORE, "secrets", OWN, ""),
    ("get create update", "coordination.k8s.io", "leases", OWN, ""),
]

MAY_NOT = [
    ("*", "*", "*", ALL, ""),
    ("create update delete deletecollection", KUSION, "specs", TEAM, ""),
    ("update", KUSION, "specs/finalizers", TEAM, ""),
    ("patch", KUSION, "specs/status", TEAM, ""),
    ("update patch deletecollection", KUSION, "releases", TEAM, ""),
    ("patch", KUSION, "releases/status", TEAM, ""),
    ("get list watch create update patch delete", CORE, "secrets", ALL, ""),
    ("get list watch create update patch delete", CORE, "secrets", TEAM, ""),
    ("get list watch create update patch delete", CORE, "secrets", "kube-system", ""),
    ("get list watch create update patch delete", CORE, "configmaps", ALL, ""),
    ("get list watch create update patch delete", CORE, "configmaps", TEAM, ""),
    ("watch patch deletecollection", CORE, "secrets", OWN, ""),
    ("deletecollection", CORE, "configmaps", OWN, ""),
    ("get list delete", "coordination.k8s.io", "leases", TEAM, ""),
    ("list watch patch delete", "coordination.k8s.io", "leases", OWN, ""),
    ("get create update delete", "coordination.k8s.io", "leases", "kube-system", ""),
    ("get list create delete", CORE, "pods", TEAM, ""),
    ("get list create delete", CORE, "pods", OWN, ""),
    ("create", CORE, "pods/exec", TEAM, ""),
    ("get list create update patch delete", "apps", "deployments", TEAM, ""),
    ("get list create update patch delete", "apps", "deployments", OWN, ""),
    ("list watch create update delete", CORE, "serviceaccounts", TEAM, ""),
    ("create", CORE, "serviceaccounts/token", TEAM, "default"),
    ("impersonate", CORE, "users", ALL, "admin"),
    ("impersonate", CORE, "groups", ALL, "system:masters"),
    ("impersonate", "authentication.k8s.io", "uids", ALL, "1"),
    ("impersonate", "authentication.k8s.io", "userextras/scopes", ALL, "a"),
    ("list watch create update patch delete", CORE, "namespaces", ALL, TEAM),
    ("get list create", CORE, "nodes", ALL, ""),
    ("watch create update patch delete", EXTENSIONS, "customresourcedefinitions", ALL, ""),
    ("list watch create update patch delete", "apiregistration.k8s.io", "apiservices", ALL, ""),
    ("update patch delete", EXTENSIONS, "customresourcedefinitions", ALL, KINDS[0]),
    ("create bind escalate", "rbac.authorization.k8s.io", "clusterroles", ALL, ""),
    ("create bind escalate", "rbac.authorization.k8s.io", "roles", TEAM, ""),
    ("create update patch", "rbac.authorization.k8s.io", "clusterrolebindings", ALL, ""),
    ("create update patch", "rbac.authorization.k8s.io", "rolebindings", OWN, ""),
    ("get list update patch delete", CORE, "events", TEAM, ""),
    ("create", "events.k8s.io", "events", TEAM, ""),
]


def row_id(row):
    verbs, group, resource, namespace, name = row
    what = f"{resource}.{group}".rstrip(".")
    return " ".join(filter(None, (verbs, what, name, "in", namespace or "all")))


def answers(cluster, row):
    verbs, *rest = row
    return {verb: may(cluster, ACCOUNT, verb, *rest) for verb in verbs.split()}


def wait_until_may_all(cluster, row):
    def given():
        found = answers(cluster, row)
        assert all(found.values()), found
        return found

    eventually(given)


class TestRights:
    @pytest.fixture(scope="class")
    def users(self, installed):
        """Each with one of the cluster's roles in the namespace, all of what the controller manager
        aggregates into it."""
        users = {role: f"{role}-of-the-team" for role in ("admin", "edit", "view")}
        for role, user in users.items():
            binding = ("create", "rolebinding", user, "-n", TEAM, f"--clusterrole={role}")
            installed.kubectl(*binding, "--user", user)
            wait_until_may(installed, user, "list", "releases", TEAM, KUSION)
            if role != "view":
                wait_until_may(installed, user, "create", "specs", TEAM, KUSION)
        return users

    @pytest.mark.parametrize("row", MAY, ids=row_id)
    def test_may(self, installed, row):
        wait_until_may_all(installed, row)

    @pytest.mark.parametrize("row", MAY_NOT, ids=row_id)
    def test_may_not(self, installed, row):
        given = answers(installed, row)
        assert not any(given.values()), given

    def test_as_kubectl_sees_it(self, installed):
        for verb, what, where, expected in (
            ("list", "specs.api.kusion.io", ["-A"], "yes"),
            ("impersonate", "serviceaccounts", ["-n", TEAM], "yes"),
            ("list", "secrets", ["-A"], "no"),
            ("create", "pods", ["-n", OWN], "no"),
        ):
            question = ("auth", "can-i", verb, what, *where, f"--as={ACCOUNT}")
            said = installed.kubectl(*question, check=False)
            assert said.stdout.strip() == expected, (verb, what)

    @pytest.mark.parametrize(
        "role, verb, resource, allowed",
        [
            ("edit", "create", "specs", True),
            ("edit", "delete", "releases", True),
            ("edit", "patch", "specs/status", False),
            ("edit", "update", "specs/finalizers", False),
            ("admin", "patch", "specs", True),
            ("view", "list", "releases", True),
            ("view", "list", "specs", False),
            ("view", "create", "releases", False),
        ],
    )
    def test_of_users(self, installed, users, role, verb, resource, allowed):
        """By the aggregation of the cluster's own roles."""
        assert may(installed, users[role], verb, KUSION, resource, TEAM) == allowed


class TestRightsOfOneNamespace:
    @pytest.fixture(scope="class")
    def narrow(self, plane):
        chart = Chart(plane)
        chart.install(f"--set=controller.watchNamespace={TEAM}")
        plane.wait_for_crds()
        yield plane
        chart.remove_all()

    @pytest.mark.parametrize("row", [r for r in MAY if r[3] != ALL], ids=row_id)
    def test_may_there(self, narrow, row):
        wait_until_may_all(narrow, row)

    @pytest.mark.parametrize("row", [r for r in MAY if r[3] == TEAM], ids=row_id)
    @pytest.mark.parametrize("namespace", [OTHER, "kube-system", ALL], ids=lambda n: n or "all")
    def test_may_not_elsewhere(self, narrow, row, namespace):
        given = answers(narrow, (*row[:3], namespace, row[4]))
        assert not any(given.values()), given


class TestAsItsServiceAccount:
    """With its real token, and nothing more."""

    @pytest.fixture(scope="class")
    def token(self, installed):
        token = installed.kubectl("create", "token", NAME, "-n", OWN).stdout.strip()
        api = Api(installed.kubeconfig, token)
        yield api
        api.close()

    SPECS = f"/apis/{KUSION}/v1/namespaces/{TEAM}/specs"

    def test_a_spec_can_be_kept_and_reported_on(self, installed, token):
        spec = {
            "apiVersion": f"{KUSION}/v1",
            "kind": "Spec",
            "metadata": {"name": "a"},
            "spec": {"resources": []},
        }
        assert token.create(self.SPECS, spec).code == 403
        installed.api.create(self.SPECS, spec).must()
        path = f"{self.SPECS}/a"
        token.patch(path, {"metadata": {"finalizers": ["api.kusion.io/destroy"]}}).must()
        assert token.patch(f"{path}/status", {"status": {}}).code == 403
        token.patch(path, {"metadata": {"finalizers": None}}).must()
        assert token.delete(path).code == 403
        installed.api.delete(path).must()

    def test_state_in_its_own_namespace_only(self, token):
        for resource in ("configmaps", "secrets"):
            body = {"metadata": {"name": "state"}}
            token.create(f"/api/v1/namespaces/{OWN}/{resource}", body).must()
            token.delete(f"/api/v1/namespaces/{OWN}/{resource}/state").must()
            assert token.create(f"/api/v1/namespaces/{TEAM}/{resource}", body).code == 403
            assert token.get(f"/api/v1/namespaces/{TEAM}/{resource}").code == 403
            assert token.get(f"/api/v1/{resource}").code == 403

    def test_work_is_done_with_the_rights_of_another(self, installed, token):
        """Plain impersonation, beside which the API server has a constrained one now."""
        path = f"/api/v1/namespaces/{TEAM}/configmaps"
        body = {"metadata": {"name": "by-another"}}
        deployer = account(TEAM, "deployer")
        assert token.request("POST", path, body, impersonate=deployer).code == 403
        installed.kubectl("create", "serviceaccount", "deployer", "-n", TEAM)
        binding = ("create", "rolebinding", "deployer", "-n", TEAM, "--clusterrole=edit")
        installed.kubectl(*binding, f"--serviceaccount={TEAM}:deployer")
        wait_until_may(installed, deployer, "create", "configmaps", TEAM)
        made = token.request("POST", path, body, impersonate=deployer).must()
        assert made.object["metadata"]["name"] == "by-another"
        elsewhere = f"/api/v1/namespaces/{OTHER}/configmaps"
        assert token.request("POST", elsewhere, body, impersonate=deployer).code == 403

    def test_nobody_else_can_be_impersonated(self, token):
        for user in ("admin", "system:admin", "system:kube-controller-manager"):
            assert token.request("GET", "/api/v1/secrets", impersonate=user).code == 403
