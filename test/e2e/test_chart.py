"""The chart, as Helm renders it, and its life in a real cluster. Nothing of it runs here: pods
only look alive. test_chart_rights.py has what it may."""

import re
import tarfile

import pytest
import yaml

from kusion_e2e.chart import NAME, OTHER, OWN, RELEASE, TEAM
from kusion_e2e.cluster import KINDS, tool
from kusion_e2e.controller import PROGRAM
from kusion_e2e.paths import CHART, CRDS
from kusion_e2e.rights import account, may
from kusion_e2e.shell import type_in
from kusion_e2e.wait import eventually


def render(cluster, *arguments, check=True):
    """Its objects by kind and name; the result of the command, where it failed."""
    result = cluster.helm("template", RELEASE, CHART, "-n", OWN, *arguments, check=check)
    if result.returncode != 0:
        return result
    documents = [document for document in yaml.safe_load_all(result.stdout) if document]
    objects = {(d["kind"], d["metadata"]["name"]): d for d in documents}
    assert len(objects) == len(documents), "an object is rendered twice"
    return objects


def kinds_of(objects):
    return sorted(kind for kind, _ in objects)


def pod_of(objects):
    (deployment,) = [d for (kind, _), d in objects.items() if kind == "Deployment"]
    return deployment["spec"]["template"]["spec"]


def container_of(objects):
    return pod_of(objects)["containers"][0]


EVERYTHING = [
    "--set=image.digest=sha256:" + "0" * 64,
    "--set=imagePullSecrets[0].name=registry",
    "--set=crds.keep=false",
    "--set=controller.watchNamespace=team-a",
    "--set=controller.watchLabelSelector=team=a\\,env in (dev\\,test)",
    "--set=controller.defaultServiceAccount=deployer",
    "--set=controller.actAsController=true",
    "--set=controller.concurrent=8",
    "--set=controller.operationMemory=128Mi",
    "--set=controller.maxTimeout=2h",
    "--set=controller.minInterval=1m",
    "--set=controller.minRetryInterval=15s",
    "--set=controller.previewHistoryLimit=20",
    "--set=controller.previewTtl=12h",
    "--set=controller.stuckTimeout=0s",
    "--set=controller.logLevel=debug",
    "--set=controller.logFormat=text",
    "--set=controller.extraArgs[0]=--parallelism=5",
    "--set=state.backend=file:/state",
    "--set=state.volume.persistentVolumeClaim.claimName=state",
    "--set=state.secrets={pg,state-key}",
    r"--set=state.key=file:/state-secrets/state-key\,kms:unix:///run/kms/kms.sock\,identity",
    '--set-json=state.kms={"image":"kms:1","args":["--socket=/run/kms/kms.sock"],'
    '"volumeMounts":[{"name":"state-pg","mountPath":"/etc/kms"}]}',
    "--set=state.encryption=all",
    "--set=state.accept=0123456789abcdef",
    "--set=terraform.providers[0]=hashicorp/random@~> 3.6",
    "--set=terraform.providers[1]=example.com:8443/acme/cloud",
    "--set=terraform.pluginVolume.persistentVolumeClaim.claimName=providers",
    "--set=terraform.networkMirror=https://mirror.example.com/providers/",
    "--set=terraform.downloadFrom={registry.terraform.io,example.com:8443}",
    "--set=terraform.caBundle=-----BEGIN CERTIFICATE-----\nabc",
    "--set=terraform.lockFile=# locked",
    "--set=terraform.cacheVolume.persistentVolumeClaim.claimName=copies",
    "--set=terraform.cacheSize=8Gi",
    "--set=replicas=2",
    "--set=serviceAccount.name=kusion",
    "--set=serviceAccount.annotations.a=b",
    '--set-json=rbac.extraRules=[{"apiGroups":[""],"resources":["configmaps"],"verbs":["*"]}]',
    "--set=userRoles.viewersReadSpecs=true",
    "--set=metrics.port=18080",
    "--set=metrics.service.enabled=true",
    "--set-string=metrics.service.annotations.prometheus\\.io/scrape=true",
    "--set=health.port=19440",
    "--set=podDisruptionBudget.enabled=true",
    "--set=podDisruptionBudget.maxUnavailable=50%",
    "--set=podAnnotations.a=b",
    "--set=podLabels.a=b",
    "--set=nodeSelector.a=b",
    "--set-json=tolerations=[{\"operator\":\"Exists\"}]",
    "--set-json=affinity={\"nodeAffinity\":{}}",
    "--set-json=topologySpreadConstraints=[{\"maxSkew\":1,\"topologyKey\":\"a\","
    "\"whenUnsatisfiable\":\"ScheduleAnyway\"}]",
    "--set=priorityClassName=system-cluster-critical",
]


class TestRendered:
    @pytest.mark.parametrize("values", [[], EVERYTHING], ids=["default", "everything"])
    def test_lint(self, plane, values):
        plane.helm("lint", "--strict", CHART, *values)

    @pytest.mark.parametrize("values", [[], EVERYTHING], ids=["default", "everything"])
    def test_the_api_server_takes_it_strictly(self, plane, values):
        rendered = plane.helm("template", RELEASE, CHART, "-n", OWN, "--skip-tests", *values).stdout
        dry = ("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-")
        plane.kubectl(*dry, input=rendered)

    def test_kinds_are_those_of_the_repository(self, plane):
        for keep in ("true", "false"):
            objects = render(plane, f"--set=crds.keep={keep}")
            for name in KINDS:
                plural, _, group = name.partition(".")
                ours = yaml.safe_load((CRDS / f"{group}_{plural}.yaml").read_text())
                rendered = objects["CustomResourceDefinition", name]
                annotations = rendered["metadata"].pop("annotations", None)
                kept = {"helm.sh/resource-policy": "keep"} if keep == "true" else None
                assert annotations == kept
                assert rendered == ours

    def test_the_charts_copies_are_those_of_the_repository(self):
        """To make them so: cp crds/*.yaml charts/kusion-operator/files/crds/"""
        copies = CHART / "files" / "crds"
        assert {one.name for one in copies.iterdir()} == {one.name for one in CRDS.iterdir()}
        for file in CRDS.iterdir():
            assert (copies / file.name).read_text() == file.read_text(), file.name
        assert not (CHART / "crds").exists(), "Helm would never upgrade these"

    def test_nothing_is_a_link(self, plane):
        """A source controller leaves links out of what it takes from Git."""
        assert [one for one in CHART.rglob("*") if one.is_symlink()] == []
        assert "symbolic link" not in plane.helm("template", RELEASE, CHART).stderr

    def test_objects(self, plane):
        default = [
            "ClusterRole",
            "ClusterRole",
            "ClusterRole",
            "ClusterRoleBinding",
            "CustomResourceDefinition",
            "CustomResourceDefinition",
            "Deployment",
            "FlowSchema",
            "NetworkPolicy",
            "Pod",
            "Role",
            "RoleBinding",
            "ServiceAccount",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
        ]
        assert kinds_of(render(plane)) == default
        least = render(
            plane,
            "--set=crds.enabled=false,rbac.create=false,userRoles.enabled=false",
            "--set=serviceAccount.create=false,networkPolicy.enabled=false,flowSchema.enabled=false",
            "--set=requestPolicy.enabled=false",
        )
        assert kinds_of(least) == ["Deployment", "Pod"]
        everything = [*default, "ConfigMap", "PodDisruptionBudget", "Role", "RoleBinding", "Service"]
        assert kinds_of(render(plane, *EVERYTHING)) == sorted(everything)

    def test_arguments(self, plane):
        assert container_of(render(plane))["args"] == [
            "--leader-elect=true",
            "--state-namespace=$(POD_NAMESPACE)",
            "--metrics-bind-address=:8080",
            "--health-bind-address=:9440",
            "--log-level=info",
            "--log-format=json",
            "--drain-timeout=25s",
        ]
        container = container_of(render(plane, *EVERYTHING))
        assert container["args"] == [
            "--leader-elect=true",
            "--state-namespace=$(POD_NAMESPACE)",
            "--metrics-bind-address=:18080",
            "--health-bind-address=:19440",
            "--log-level=debug",
            "--log-format=text",
            "--drain-timeout=25s",
            "--watch-namespace=team-a",
            "--watch-label-selector=team=a,env in (dev,test)",
            "--default-service-account=deployer",
            "--act-as-controller",
            "--concurrent=8",
            "--operation-memory=128Mi",
            "--max-timeout=2h",
            "--min-interval=1m",
            "--min-retry-interval=15s",
            "--preview-history-limit=20",
            "--preview-ttl=12h",
            "--stuck-timeout=0s",
            "--state-backend=file:/state",
            "--state-key=file:/state-secrets/state-key,kms:unix:///run/kms/kms.sock,identity",
            "--state-encryption=all",
            "--accept-store=0123456789abcdef",
            "--terraform-provider=hashicorp/random@~> 3.6",
            "--terraform-provider=example.com:8443/acme/cloud",
            "--terraform-plugin-dir=/terraform/providers",
            "--terraform-network-mirror=https://mirror.example.com/providers/",
            "--terraform-download-from=registry.terraform.io",
            "--terraform-download-from=example.com:8443",
            "--terraform-ca-file=/terraform/files/ca.pem",
            "--terraform-lock-file=/terraform/files/terraform.lock.hcl",
            "--terraform-cache-dir=/terraform/cache",
            "--terraform-cache-size=8Gi",
            "--parallelism=5",
        ]
        assert {p["name"]: p["containerPort"] for p in container["ports"]} == {
            "metrics": 18080,
            "health": 19440,
        }

    def test_state_and_terraform_providers_have_their_folders(self, plane):
        pod = pod_of(render(plane, *EVERYTHING))
        assert {one["name"]: one for one in pod["volumes"]} == {
            "state": {"name": "state", "persistentVolumeClaim": {"claimName": "state"}},
            "state-pg": {"name": "state-pg", "secret": {"secretName": "pg", "defaultMode": 0o440}},
            "state-state-key": {
                "name": "state-state-key",
                "secret": {"secretName": "state-key", "defaultMode": 0o440},
            },
            "kms": {"name": "kms", "emptyDir": {}},
            "terraform-providers": {
                "name": "terraform-providers",
                "persistentVolumeClaim": {"claimName": "providers"},
            },
            "terraform-cache": {
                "name": "terraform-cache",
                "persistentVolumeClaim": {"claimName": "copies"},
            },
            "terraform-files": {
                "name": "terraform-files",
                "configMap": {"name": f"{NAME}-terraform"},
            },
            "temporary": {"name": "temporary", "emptyDir": {}},
        }
        assert pod["containers"][0]["volumeMounts"] == [
            {"name": "state", "mountPath": "/state"},
            {"name": "state-pg", "mountPath": "/state-secrets/pg", "readOnly": True},
            {"name": "state-state-key", "mountPath": "/state-secrets/state-key", "readOnly": True},
            {"name": "kms", "mountPath": "/run/kms"},
            {"name": "terraform-providers", "mountPath": "/terraform/providers", "readOnly": True},
            {"name": "terraform-cache", "mountPath": "/terraform/cache"},
            {"name": "terraform-files", "mountPath": "/terraform/files", "readOnly": True},
            {"name": "temporary", "mountPath": "/tmp"},
        ]
        assert pod["containers"][1] == {
            "name": "kms", "image": "kms:1", "args": ["--socket=/run/kms/kms.sock"],
            "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                "capabilities": {"drop": ["ALL"]}},
            "volumeMounts": [{"name": "state-pg", "mountPath": "/etc/kms"}, {"name": "kms", "mountPath": "/run/kms"}],
        }
        assert "volumes" not in pod_of(render(plane))
        refused = render(plane, "--set=terraform.providers[0]=hashicorp/random", check=False)
        assert "terraform.providers needs terraform.pluginVolume, terraform.networkMirror or" in refused.stderr

    def test_files_of_terraform_are_in_a_config_map(self, plane):
        objects = render(plane, *EVERYTHING)
        files = objects["ConfigMap", f"{NAME}-terraform"]["data"]
        assert files == {"ca.pem": "-----BEGIN CERTIFICATE-----\nabc", "terraform.lock.hcl": "# locked"}
        annotation = "checksum/terraform-files"
        hashes = {objects["Deployment", NAME]["spec"]["template"]["metadata"]["annotations"][annotation]
                  for objects in (objects, render(plane, *EVERYTHING, "--set=terraform.lockFile=other"))}
        assert len(hashes) == 2, "the Pod is replaced when they change"
        only = [*("--set=terraform.providers[0]=a/b", "--set=terraform.networkMirror=https://a.example.com/")]
        pod = pod_of(render(plane, *only))
        assert [one["name"] for one in pod["volumes"]] == ["temporary"]
        assert ("ConfigMap", f"{NAME}-terraform") not in render(plane, *only)

    @pytest.mark.parametrize(
        "value, image",
        [
            ("image.tag=", "ghcr.io/kusionstack/kusion-operator:0.1.0"),
            ("image.tag=v9", "ghcr.io/kusionstack/kusion-operator:v9"),
            ("image.repository=mirror/k", "mirror/k:0.1.0"),
            (
                f"image.digest=sha256:{'a' * 64}",
                f"ghcr.io/kusionstack/kusion-operator@sha256:{'a' * 64}",
            ),
        ],
    )
    def test_image(self, plane, value, image):
        assert container_of(render(plane, f"--set={value}"))["image"] == image

    def test_without_leader_election_two_never_run(self, plane):
        objects = render(plane, "--set=leaderElection=false")
        assert "--leader-elect=false" in container_of(objects)["args"]
        assert objects["Deployment", NAME]["spec"]["strategy"] == {"type": "Recreate"}

    def test_labels(self, plane):
        for (kind, _), rendered in render(plane, *EVERYTHING).items():
            labels = rendered["metadata"]["labels"]
            name = "kusion-operator-check" if kind == "Pod" else "kusion-operator"
            assert labels["app.kubernetes.io/name"] == name
            assert labels["app.kubernetes.io/part-of"] == "kusion"
            if kind != "CustomResourceDefinition":
                assert labels["app.kubernetes.io/instance"] == RELEASE
                assert labels["app.kubernetes.io/managed-by"] == "Helm"

    @pytest.mark.parametrize(
        "arguments, ingress",
        [
            ([], [{"from": [{"namespaceSelector": {}}], "ports": [{"port": "metrics"}]}]),
            (["--set-json=networkPolicy.metricsFrom=[]"], []),
            (
                ['--set-json=networkPolicy.metricsFrom=[{"podSelector":{"matchLabels":{"a":"b"}}}]'],
                [{"from": [{"podSelector": {"matchLabels": {"a": "b"}}}],
                  "ports": [{"port": "metrics"}]}],
            ),
        ],
    )
    def test_pods_may_connect_for_metrics_only(self, plane, arguments, ingress):
        policy = render(plane, *arguments)["NetworkPolicy", NAME]["spec"]
        assert policy["policyTypes"] == ["Ingress"]
        assert policy["ingress"] == ingress

    def test_selectors_select_the_pods(self, plane):
        objects = render(plane, *EVERYTHING)
        deployment = objects["Deployment", NAME]["spec"]
        labels = deployment["template"]["metadata"]["labels"].items()
        selectors = [
            deployment["selector"]["matchLabels"],
            objects["Service", f"{NAME}-metrics"]["spec"]["selector"],
            objects["PodDisruptionBudget", NAME]["spec"]["selector"]["matchLabels"],
            objects["NetworkPolicy", NAME]["spec"]["podSelector"]["matchLabels"],
        ]
        of_the_test = objects["Pod", f"{NAME}-check"]["metadata"]["labels"].items()
        for selector in selectors:
            assert selector and selector.items() <= labels
            assert not selector.items() <= of_the_test

    def test_helm_test_runs_what_the_operator_runs(self, plane):
        """The same image, arguments and account; but it looks, and does no work."""
        objects = render(plane, *EVERYTHING)
        pod = objects["Pod", f"{NAME}-check"]
        operator = objects["Deployment", NAME]["spec"]["template"]["spec"]
        assert pod["metadata"]["annotations"]["helm.sh/hook"] == "test"
        (container,) = pod["spec"]["containers"]
        assert container["command"] == ["/usr/bin/kusion-operator", "--check"]
        for key in ("image", "args", "env", "securityContext"):
            assert container[key] == container_of(objects)[key]
        for key in ("serviceAccountName", "securityContext", "nodeSelector", "tolerations", "imagePullSecrets"):
            assert pod["spec"][key] == operator[key]

    @pytest.mark.parametrize(
        "arguments, name",
        [
            (["--set=nameOverride=ops"], "kusion-ops"),
            (["--set=fullnameOverride=ops"], "ops"),
            (["--set=nameOverride=kusion"], "kusion"),
            (["--set=nameOverride=" + "n" * 60], ("kusion-" + "n" * 60)[:63]),
        ],
    )
    def test_names(self, plane, arguments, name):
        assert ("Deployment", name) in render(plane, *arguments)

    @pytest.mark.parametrize(
        "value, complaint",
        [
            ("replica=2", "replica"),
            ("controller.loglevel=debug", "loglevel"),
            ("controller.logLevel=verbose", "logLevel"),
            ("controller.concurrent=0", "concurrent"),
            ("controller.operationMemory=64M", "operationMemory"),
            ("controller.previewHistoryLimit=101", "previewHistoryLimit"),
            ("controller.previewTtl=1d", "previewTtl"),
            ("state.key=identity", "key"),
            ("state.key=file:keys", "key"),
            ("state.encryption=aes", "encryption"),
            ("image.digest=sha256:1", "digest"),
            ("metrics.port=80", "port"),
            ("crds.keep=maybe", "keep"),
            ("replicas=2,leaderElection=false", "leaderElection"),
        ],
    )
    def test_wrong_values_are_refused(self, plane, value, complaint):
        result = render(plane, f"--set={value}", check=False)
        assert result.returncode != 0
        assert complaint in result.stderr

    def test_an_older_cluster_is_refused(self, plane):
        result = render(plane, "--kube-version=1.31.9", check=False)
        assert result.returncode != 0
        assert "1.32" in result.stderr


# Installed, upgraded, uninstalled.


OBJECTS = "deployment,serviceaccount,role,rolebinding,clusterrole,clusterrolebinding,flowschema"


def names(cluster, kind, *options):
    return cluster.kubectl("get", kind, "-o", "name", *options).stdout.split()


def served(cluster):
    return {f"customresourcedefinition.apiextensions.k8s.io/{n}" for n in KINDS} <= set(
        names(cluster, "crd")
    )


def make_spec(cluster):
    cluster.apply(
        "{apiVersion: api.kusion.io/v1, kind: Spec, metadata: {name: kept}, spec: {resources: []}}",
        TEAM,
    )


class TestLife:
    def test_check_says_that_the_kinds_are_missing(self, plane):
        """`helm test` of a release without them, say (crds.enabled=false)."""
        result = plane.run(PROGRAM, "--check", "--kubeconfig", plane.kubeconfig, check=False)
        assert result.returncode == 1
        assert result.stderr == ("kusion-operator: the check failed: the API server does not serve specs: "
                                 "are the CRDs installed?\n")

    def test_pods_pass_the_restricted_profile(self, chart):
        """Which the namespace enforces: a pod that fell short of it would not be made."""
        chart.install()
        rollout = ("rollout", "status", f"deployment/{NAME}", "-n", OWN, "--timeout=180s")
        chart.cluster.kubectl(*rollout)
        warnings = chart.helm("upgrade", CHART, "--set=podAnnotations.a=b", "--wait=false").stderr
        assert "PodSecurity" not in warnings

    def test_only_the_controllers_own_requests_have_their_priority_level(self, chart):
        chart.install()
        uid = chart.cluster.kubectl(
            "get", "flowschemas", "-l", f"app.kubernetes.io/instance={RELEASE}",
            "-o", "jsonpath={.items[*].metadata.uid}").stdout
        assert uid

        def is_matched(user):
            """By the header X-Kubernetes-PF-FlowSchema-UID."""
            return uid in chart.cluster.kubectl(
                "get", "leases", "-n", OWN, f"--as={user}", "-v=8", check=False).stderr

        eventually(lambda: is_matched(account(OWN, NAME)))
        assert not is_matched(account(TEAM, "default"))

    def test_kinds_stay_when_uninstalled(self, chart):
        ours = ("-A", "-l", f"app.kubernetes.io/instance={RELEASE}")
        chart.install()
        chart.cluster.wait_for_crds()
        make_spec(chart.cluster)
        assert names(chart.cluster, OBJECTS, *ours) != []
        chart.uninstall()
        assert names(chart.cluster, "spec", "-n", TEAM) == ["spec.api.kusion.io/kept"]
        assert names(chart.cluster, OBJECTS, *ours) == []
        chart.install()  # and may be taken up again
        assert names(chart.cluster, "spec", "-n", TEAM) == ["spec.api.kusion.io/kept"]

    def test_kinds_go_where_that_is_wanted(self, chart):
        chart.install("--set=crds.keep=false")
        chart.cluster.wait_for_crds()
        make_spec(chart.cluster)
        chart.uninstall()
        assert not served(chart.cluster)

    def test_keep_can_be_turned_on_later(self, chart):
        chart.install("--set=crds.keep=false")
        chart.upgrade("--set=crds.keep=true")
        chart.uninstall()
        assert served(chart.cluster)

    def test_without_kinds(self, chart):
        chart.cluster.install_crds()
        refused = chart.install(check=False)
        assert refused.returncode != 0, "they are not Helm's"
        chart.remove_all()
        chart.cluster.install_crds()
        chart.install("--set=crds.enabled=false")
        chart.uninstall()
        assert served(chart.cluster)

    def test_upgrade(self, chart):
        chart.install()
        chart.upgrade("--set=image.tag=v9,replicas=2")
        deployment = chart.cluster.get_json("deployment", NAME, "-n", OWN)
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        assert container["image"].endswith(":v9")
        assert deployment["spec"]["replicas"] == 2

    def test_a_package_holds_the_kinds_and_upgrades_them(self, chart, tmp_path):
        chart.install()
        chart.cluster.wait_for_crds()
        make_spec(chart.cluster)
        chart.cluster.run(tool("helm"), "package", CHART, "-d", tmp_path)
        (package,) = tmp_path.glob("kusion-operator-*.tgz")
        with tarfile.open(package) as archive:
            archive.extractall(tmp_path)
        unpacked = tmp_path / "kusion-operator"
        for file in sorted(CRDS.glob("*.yaml")):
            copy = unpacked / "files" / "crds" / file.name
            assert not copy.is_symlink()
            assert copy.read_text() == file.read_text()
            copy.write_text(copy.read_text().replace("shortNames: [k", "shortNames: [next, k"))
        text = (unpacked / "files" / "crds" / "api.kusion.io_specs.yaml").read_text()
        assert "[next, kspec]" in text
        chart.upgrade(chart=unpacked)
        crd = chart.cluster.get_json("crd", KINDS[0])
        assert crd["spec"]["names"]["shortNames"] == ["next", "kspec"]
        assert names(chart.cluster, "spec", "-n", TEAM) == ["spec.api.kusion.io/kept"]

    def test_from_git(self, chart, tmp_path):
        """As a source controller has it: the files of the checkout without its links."""
        with tarfile.open(tmp_path / "source.tgz", "w:gz") as archive:
            archive.add(CHART, "chart", filter=lambda one: None if one.issym() or one.islnk() else one)
        with tarfile.open(tmp_path / "source.tgz") as archive:
            archive.extractall(tmp_path)
        chart.install(chart=tmp_path / "chart")
        chart.cluster.wait_for_crds()

    def test_notes(self, chart):
        said = chart.install().stdout
        assert "--clusterrole" not in said
        for command in re.findall(r"^  (kubectl -n .* create (?:serviceaccount|role|rolebinding) .*)$", said,
                                  re.MULTILINE):
            done = type_in(chart.cluster, command)
            assert done.returncode == 0, done.stderr
        deployer = account(TEAM, "deployer")
        eventually(lambda: may(chart.cluster, deployer, "create", "apps", "deployments", TEAM))
        assert not may(chart.cluster, deployer, "list", "", "secrets", TEAM)
        assert "those of all its\nother ServiceAccounts" in said
        assert "all Specs and Releases, stay when" in said
        assert "\n\n\n" not in said.partition("NOTES:")[2]

    def test_two_releases_in_one_cluster(self, chart):
        """Each for its namespace; the kinds come from one of them."""
        chart.install(f"--set=controller.watchNamespace={TEAM}")
        options = f"--set=crds.enabled=false,controller.watchNamespace={OTHER}"
        chart.cluster.helm("install", RELEASE, CHART, "-n", OTHER, "--wait=false", options)
        try:
            for home, watched in ((OWN, TEAM), (OTHER, OTHER)):
                account = f"system:serviceaccount:{home}:{NAME}"
                for namespace in (TEAM, OTHER):
                    row = ("list", "api.kusion.io", "specs", namespace)
                    assert may(chart.cluster, account, *row) == (namespace == watched)
        finally:
            chart.cluster.helm("uninstall", RELEASE, "-n", OTHER, "--wait")
