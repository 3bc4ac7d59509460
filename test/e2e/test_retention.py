"""How long Releases are kept, and what goes with a Spec: on a real API server, with the real garbage
collector and Job controller. (test_retention_killed.py: with controllers of its own.)"""

import pytest

from kusion_e2e.long import takes_long
from kusion_e2e.releases import GC, ask, left_of, preview, releases_of
from kusion_e2e.specs import Spec, config_map, resource
from kusion_e2e.wait import eventually


def test_the_newest_ten_stay(controlled, tenant):
    spec = Spec(controlled, tenant)
    for generation in range(11):
        spec.apply([config_map("a", tenant, {"n": str(generation)})]).wait("True")
    eventually(lambda: len(spec.releases()) == 10)
    assert [one["status"]["revision"] for one in spec.releases()] == list(range(2, 12))
    spec.apply([config_map("a", tenant, {"n": "11"})], revisionHistoryLimit=3).wait("True")
    eventually(lambda: [one["status"]["revision"] for one in spec.releases()] == [10, 11, 12])
    spec.apply([config_map("a", tenant, {"n": "12"})], revisionHistoryLimit=0).wait("True")
    eventually(lambda: [one["status"]["revision"] for one in spec.releases()] == [13])


def test_previews_live_for_a_while(controlled, tenant):
    spec = Spec(controlled, tenant).apply([config_map("a", tenant)])
    spec.wait("True")
    preview(controlled, tenant, spec.name, "short", ttlSecondsAfterFinished=2)
    preview(controlled, tenant, spec.name, "long")
    eventually(lambda: "short" not in releases_of(controlled, tenant))
    assert set(releases_of(controlled, tenant)) == {"long", "spec-1"}
    controlled.kubectl("patch", "release.api.kusion.io", "long", "-n", tenant, "--type=merge",
                       "-p", '{"spec": {"ttlSecondsAfterFinished": 0}}')
    eventually(lambda: "long" not in releases_of(controlled, tenant))


def test_previews_and_records_do_not_count_together(controlled, tenant):
    spec = Spec(controlled, tenant)
    for n in range(3):
        spec.apply([config_map("a", tenant, {"n": str(n)})], revisionHistoryLimit=2).wait("True")
    for n in range(12):
        preview(controlled, tenant, spec.name, f"look-{n}")

    def ten_and_two():
        names = releases_of(controlled, tenant)
        assert sum(name.startswith("look-") for name in names) == 10, sorted(names)
        assert {"spec-2", "spec-3"} <= set(names), sorted(names)
        assert len(names) == 12, sorted(names)
        return True

    eventually(ten_and_two)


@pytest.mark.parametrize("cascade", ["background", "foreground"])
def test_all_goes_with_the_spec(controlled, tenant, cascade):
    spec = Spec(controlled, tenant)
    for n in range(3):
        spec.apply([config_map("a", tenant, {"n": str(n)})]).wait("True")
    preview(controlled, tenant, spec.name, "look")
    owner = spec.releases()[-1]["metadata"]["ownerReferences"][0]
    assert owner["uid"] == spec.get()["metadata"]["uid"]
    assert not owner.get("blockOwnerDeletion")
    controlled.kubectl("delete", "spec.api.kusion.io", spec.name, "-n", tenant,
                       f"--cascade={cascade}", "--timeout=60s")
    assert controlled.api.get(f"/api/v1/namespaces/{tenant}/configmaps/a").code == 404

    def nothing_left():
        assert left_of(controlled, tenant) == []
        return True

    eventually(nothing_left, GC)


def test_a_spec_made_again_begins_its_own_history(controlled, tenant):
    spec = Spec(controlled, tenant)
    for n in range(2):
        spec.apply([config_map("a", tenant, {"n": str(n)})]).wait("True")
    spec.delete()
    spec.apply([config_map("a", tenant, {"n": "2"})]).wait("True")
    uid = spec.get()["metadata"]["uid"]

    def only_its_own():
        owners = {one["metadata"]["ownerReferences"][0]["uid"] for one in spec.releases()}
        assert owners == {uid}, owners
        return True

    eventually(only_its_own, GC)
    assert spec.releases()[-1]["status"]["phase"] == "succeeded"


@takes_long
def test_replicas_that_something_else_sets_make_one_release(controlled, tenant):
    labels = {"app": "web"}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment",
                  "metadata": {"name": "web", "namespace": tenant},
                  "spec": {"replicas": 1, "selector": {"matchLabels": labels},
                           "template": {"metadata": {"labels": labels},
                                        "spec": {"containers": [{"name": "c", "image": "c"}]}}}}
    spec = Spec(controlled, tenant).apply([resource(deployment)])
    spec.wait("True")
    for n in range(20):
        controlled.kubectl("scale", "deployment", "web", "-n", tenant, f"--replicas={2 + n % 3}")
        ask(spec)
    assert spec.wait("True")
    live = controlled.api.get(f"/apis/apps/v1/namespaces/{tenant}/deployments/web").must().object
    assert live["spec"]["replicas"] == 1
    assert len(spec.releases()) == 2
    corrections = spec.get()["status"]["driftCorrections"]
    assert corrections["count"] == 20
    (change,) = corrections["changes"]
    assert change.pop("lastTimes")
    assert change == {"id": f"apps/v1:Deployment:{tenant}:web", "action": "update",
                      "fields": ["spec.replicas"], "message": "changed by kubectl (scale)"}
    controlled.kubectl("set", "image", "deployment/web", "-n", tenant, "c=other")
    ask(spec)
    assert len(spec.releases()) == 3  # something new


def test_a_job_with_a_time_to_live_runs_once(controlled, tenant):
    job = {"apiVersion": "batch/v1", "kind": "Job",
           "metadata": {"name": "once", "namespace": tenant,
                        "annotations": {"example.com/try": "1"}},
           "spec": {"ttlSecondsAfterFinished": 1, "template": {"spec": {
               "restartPolicy": "Never", "containers": [{"name": "c", "image": "c"}]}}}}
    path = f"/apis/batch/v1/namespaces/{tenant}/jobs/once"
    spec = Spec(controlled, tenant).apply([resource(job)])
    spec.wait("True")
    eventually(lambda: controlled.api.get(path).code == 404)  # kwok's Pods of Jobs complete
    for _ in range(3):
        ask(spec)
        assert controlled.api.get(path).code == 404
    assert len(spec.releases()) == 1
    assert "driftCorrections" not in spec.get()["status"]
    spec.apply([resource(job), config_map("a", tenant)]).wait("True")
    assert controlled.api.get(path).code == 404
    job["metadata"]["annotations"]["example.com/try"] = "2"
    spec.apply([resource(job), config_map("a", tenant)])
    eventually(lambda: controlled.api.get(path).code == 200)
    spec.wait("True")
