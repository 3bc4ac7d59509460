"""References to secrets of AWS, Alibaba Cloud and Azure, as the Spec's own ServiceAccount."""

import base64
import json

import pytest

from kusion_e2e.clouds import Alicloud, Aws, Azure
from kusion_e2e.cloud import PROGRAM as DEBUG
from kusion_e2e.controller import Controller
from kusion_e2e.long import sampled
from kusion_e2e.rights import account
from kusion_e2e.specs import Spec, resource
from kusion_e2e.states import open_text
from kusion_e2e.wait import eventually

ROLES = {Aws: "arn:aws:iam::123456789012:role/{}", Alicloud: "acs:ram::1:role/{}", Azure: "client-{}"}


@pytest.fixture(scope="module", params=[Aws, Alicloud, Azure], ids=lambda kind: kind.__name__.lower())
def cloud(request, state_namespace):
    cloud = request.param(state_namespace)
    yield cloud
    cloud.close()


@pytest.fixture(scope="module")
def operator(state_namespace, cloud):
    operator = Controller(state_namespace, flags=cloud.flags(), program=DEBUG,
                          environment={"KUSION_SECRET_ENDPOINTS": cloud.endpoints()}).wait_leading()
    yield operator
    assert operator.stop() == 0


@pytest.fixture
def spec(state_namespace, operator, cloud, tenant):
    spec = Spec(state_namespace, tenant)
    spec.role = ROLES[type(cloud)].format(tenant)
    cloud.roles[spec.role] = account(tenant)
    cloud.requests.clear()
    cloud.refused.clear()
    yield spec


def secret(spec, **string_data):
    return resource({"apiVersion": "v1", "kind": "Secret", "stringData": string_data,
                     "metadata": {"name": "s", "namespace": spec.namespace}})


def data_of(spec):
    found = spec.cluster.api.get(f"/api/v1/namespaces/{spec.namespace}/secrets/s").must().object
    return {key: base64.b64decode(value).decode() for key, value in found["data"].items()}


@sampled
def test_read_and_rotated(spec, cloud, operator):
    name = f"db-{spec.namespace}"
    cloud.put(name, password="hunter-one", port=5432)
    spec.apply([secret(spec, p=f"ref://{name}/password", n=f"ref://{name}/port", whole=f"ref://{name}")],
               secretStore=cloud.store(spec.role), interval="1s")
    spec.wait("True")
    assert data_of(spec) == {"p": "hunter-one", "n": "5432", "whole": '{"password": "hunter-one", "port": 5432}'}
    before = len(spec.releases())
    cloud.requests.clear()
    eventually(lambda: len(cloud.requests) > 6)
    assert len(spec.releases()) == before
    assert not [one for one in cloud.requests if one == "GetSecretValue"]  # the version alone
    cloud.put(name, password="hunter-two", port=1)
    eventually(lambda: data_of(spec)["p"] == "hunter-two")
    spec.wait("True")
    assert not cloud.refused
    text = open_text(spec.cluster, spec)
    assert "hunter" not in text and "hunter" not in operator.logged()
    spec.delete()


def test_versions(spec, cloud):
    name = f"old-{spec.namespace}"
    cloud.put(name, password="hunter-one")
    cloud.put(name, password="hunter-two")
    first = {Aws: "AWSPREVIOUS", Alicloud: "v1",
             Azure: cloud.data[name][0][0] if isinstance(cloud, Azure) else None}[type(cloud)]
    spec.apply([secret(spec, p=f"ref://{name}/password?version={first}")], secretStore=cloud.store(spec.role))
    spec.wait("True")
    assert data_of(spec) == {"p": "hunter-one"}
    if isinstance(cloud, Aws):
        versions = cloud.admin("DescribeSecret", SecretId=name)["VersionIdsToStages"]
        [id] = [id for id, stages in versions.items() if "AWSPREVIOUS" in stages]
        spec.apply([secret(spec, q=f"ref://{name}/password?version=uuid%2F{id}")], secretStore=cloud.store(spec.role))
        spec.wait("True")
        assert data_of(spec)["q"] == "hunter-one"
    spec.delete()


@pytest.mark.parametrize("reference, reason", [("ref://nobody-has-it/password", "SecretNotFound"),
                                               ("ref://NAME/other", "SecretNotFound"),
                                               ("ref://NAME/password?version=none", "SecretNotFound")])
@sampled
def test_what_is_not_there(spec, cloud, operator, reference, reason):
    name = f"some-{spec.namespace}"
    cloud.put(name, password="hunter-some")
    spec.apply([secret(spec, p=reference.replace("NAME", name))], secretStore=cloud.store(spec.role))
    ready = spec.wait("False")
    assert ready["reason"] == reason, ready
    assert "hunter" not in json.dumps(ready) and "hunter" not in operator.logged()
    spec.delete()


def test_the_role_of_another(spec, cloud, operator):
    name = f"theirs-{spec.namespace}"
    cloud.put(name, password="hunter-theirs")
    other = ROLES[type(cloud)].format("other")
    cloud.roles[other] = "system:serviceaccount:other:default"
    spec.apply([secret(spec, p=f"ref://{name}/password")], secretStore=cloud.store(other))
    ready = spec.wait("False")
    assert ready["reason"] == "SecretDenied", ready
    assert "eyJ" not in json.dumps([ready, spec.events()]) and "eyJ" not in operator.logged()  # a token
    spec.delete()
