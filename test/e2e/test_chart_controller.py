"""The controller with the rights of the chart's ServiceAccount, and nothing more."""

import pytest
import yaml

from kusion_e2e.chart import OWN, TEAM
from kusion_e2e.controller import Controller
from kusion_e2e.rights import account, wait_until_may
from kusion_e2e.specs import Spec, config_map
from kusion_e2e.wait import eventually


@pytest.fixture
def kubeconfig(installed, tmp_path):
    """One whose user is the ServiceAccount, by a token of its own."""
    accounts = installed.get_json("serviceaccount", "-n", OWN, "-l",
                                  "app.kubernetes.io/name=kusion-operator")["items"]
    name = accounts[0]["metadata"]["name"]
    token = installed.kubectl("create", "token", name, "-n", OWN).stdout.strip()
    config = yaml.safe_load(installed.kubeconfig.read_text())
    for user in config["users"]:
        user["user"] = {"token": token}
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


@pytest.mark.usefixtures("installed")
class TestWithTheChartsRights:
    def test_goes_from_apply_to_delete(self, installed, kubeconfig):
        installed.kubectl("create", "rolebinding", "all", "--clusterrole=edit",
                          f"--serviceaccount={TEAM}:default", "-n", TEAM)
        wait_until_may(installed, account(TEAM), "create", "configmaps", TEAM)
        controller = Controller(installed, kubeconfig, state=OWN)
        try:
            controller.wait_leading()
            spec = Spec(installed, TEAM).apply([config_map("a", TEAM), config_map("b", TEAM)])
            spec.wait("True")
            spec.apply([config_map("a", TEAM)])
            spec.wait("True")
            spec.delete()
            eventually(lambda: spec.releases() == [])
            spec.wait_event("ReconciliationSucceeded")
        finally:
            controller.stop()
