"""kill -9 while an apply waits: its Release still has the fields of what was done before."""

from kusion_e2e.controller import Controller
from kusion_e2e.releases import by_name
from kusion_e2e.specs import Spec, config_map, held
from kusion_e2e.wait import eventually


def test_fields_survive_a_kill(state_namespace, tenant):
    cluster = state_namespace
    controller = Controller(cluster).wait_leading()
    try:
        spec = Spec(cluster, tenant).apply([config_map("a", tenant)])
        spec.wait("True")
        spec.apply([config_map("a", tenant, {"a": "new"}), held(tenant)])
        summary = "1 of 2 done, waiting for Deployment/held: Available: 0/1"
        eventually(lambda: [one for one in spec.releases() if one["status"].get("summary", "").startswith(summary)])
        controller.crash()
        controller = Controller(cluster).wait_leading()
        cluster.kubectl("label", "pods", "-n", tenant, "-l", "kwok-hold", "kwok-hold-")
        spec.wait("True")
        status = spec.releases()[-1]["status"]
        assert status["summary"] == "1 created, 1 configured"
        assert by_name(status)["a"]["fields"] == [{"path": "data.a", "from": '"b"', "to": '"new"'}]
        spec.delete()
    finally:
        controller.crash()
