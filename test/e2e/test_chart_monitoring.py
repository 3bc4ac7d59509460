"""What the chart has for Prometheus and Grafana."""

import json
import re

import pytest
import yaml

from kusion_e2e.chart import OWN, RELEASE
from kusion_e2e.paths import CHART, ROOT

ON = ("--set=metrics.service.enabled=true,monitoring.serviceMonitor.enabled=true",
      "--set=monitoring.prometheusRule.enabled=true,monitoring.dashboard.enabled=true",
      "--set=monitoring.serviceMonitor.labels.release=stack,monitoring.prometheusRule.labels.release=stack")


@pytest.fixture(scope="module")
def rendered(cluster):
    text = cluster.helm("template", RELEASE, CHART, "-n", OWN, *ON).stdout
    return {one["kind"]: one for one in yaml.safe_load_all(text) if one}


def test_the_service_monitor_finds_the_service(rendered):
    monitor, service = rendered["ServiceMonitor"], rendered["Service"]
    wanted = monitor["spec"]["selector"]["matchLabels"]
    assert wanted.items() <= service["metadata"]["labels"].items()
    ports = {port["name"] for port in service["spec"]["ports"]}
    assert {endpoint["port"] for endpoint in monitor["spec"]["endpoints"]} <= ports
    assert monitor["metadata"]["labels"]["release"] == "stack"


def test_the_rules_are_those_of_the_file(rendered):
    rule = rendered["PrometheusRule"]
    assert rule["spec"] == yaml.safe_load((CHART / "files/alerts.yaml").read_text())
    assert rule["metadata"]["labels"]["release"] == "stack"


def test_a_service_monitor_without_a_service_is_refused(cluster):
    result = cluster.helm("template", RELEASE, CHART, "--set=monitoring.serviceMonitor.enabled=true", check=False)
    assert result.returncode != 0 and "needs metrics.service.enabled" in result.stderr


def test_the_dashboard_asks_for_what_is_served(rendered):
    """Each metric of a panel is one that docs/observability.md lists."""
    page = (ROOT / "docs/observability.md").read_text().partition("\n## /metrics\n")[2].partition("\n## ")[0]
    served = {name for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    served |= {f"{name}_bucket" for name in served}
    board = json.loads(rendered["ConfigMap"]["data"]["dashboard.json"])
    asked = {name for panel in board["panels"] for target in panel["targets"]
             for name in re.findall(r"\b(?:kusion|leader|workqueue|process)_\w+", target["expr"])}
    assert asked and not asked - served
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
