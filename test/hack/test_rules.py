"""The alerts and the dashboard of the chart, by Prometheus' own promtool."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "charts/kusion-operator/files"
TESTS = ROOT / "test/rules/alerts.yaml"


@pytest.fixture(name="promtool", scope="module")
def fixture_promtool():
    program = subprocess.run([ROOT / "hack/promtool"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def run(*arguments):
        done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_the_rules_are_valid(promtool):
    assert "7 rules found" in promtool("check", "rules", "--lint-fatal", FILES / "alerts.yaml")


def test_each_alert_fires(promtool):
    alerts = {rule["alert"] for group in yaml.safe_load((FILES / "alerts.yaml").read_text())["groups"] for rule in group["rules"]}
    fired = {one["alertname"] for test in yaml.safe_load(TESTS.read_text())["tests"] for one in test["alert_rule_test"]
             if one.get("exp_alerts")}
    assert fired == alerts
    promtool("test", "rules", TESTS)


def test_the_dashboard_asks_in_promql(promtool, tmp_path):
    """promtool reads no dashboards: each question is made a rule."""
    board = json.loads((FILES / "dashboard.json").read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    assert len(asked) > 10
    rules = [{"record": f"panel:{i}", "expr": re.sub(r"\$__\w+", "5m", one)} for i, one in enumerate(asked)]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    promtool("check", "rules", tmp_path / "rules.yaml")
