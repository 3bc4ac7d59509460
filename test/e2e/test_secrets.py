"""What is secret is in the objects, and in Secrets; nowhere else."""

import base64
import json

from kusion_e2e.specs import Spec, resource
from kusion_e2e.states import open_text

FIRST, SECOND, THIRD = (base64.b64encode(word).decode() for word in
                        (b"hunter-first", b"hunter-second", b"hunter-third"))


def secret(namespace, value):
    return resource({"apiVersion": "v1", "kind": "Secret",
                     "metadata": {"name": "s", "namespace": namespace}, "data": {"p": value}})


def template(namespace, env):
    return resource({
        "apiVersion": "v1", "kind": "PodTemplate",
        "metadata": {"name": "t", "namespace": namespace},
        "template": {"spec": {"containers": [{"name": "c", "image": "i", "env": env}]}}})


def env_of(cluster, namespace):
    found = cluster.api.get(f"/api/v1/namespaces/{namespace}/podtemplates/t").must().object
    return found["template"]["spec"]["containers"][0]["env"]


def test_a_secret_in_a_list_is_never_shown(controlled, tenant):
    value = {"name": "P", "value": f"$kusion_path.v1:Secret:{tenant}:s.data.p"}
    plain = {"name": "A", "value": "plain"}
    steps = [
        (FIRST, [value]),
        (SECOND, [value]),                             # rotated
        (SECOND, [plain, value]),                      # one before it
        (THIRD, [value]),                              # which goes, and rotated
        (THIRD, [{"name": "P", "value": "some text"}]),  # no reference any more
    ]
    spec = Spec(controlled, tenant)
    for secret_value, env in steps:
        spec.apply([secret(tenant, secret_value), template(tenant, env)])
        spec.wait("True")
        expected = {one["name"]: secret_value if one is value else one["value"] for one in env}
        assert {one["name"]: one["value"] for one in env_of(controlled, tenant)} == expected
        text = open_text(controlled, spec)
        assert not [word for word in (FIRST, SECOND, THIRD) if word in text], text
    assert "(sensitive)" in text
    spec.delete()


def test_another_writer_before_a_secret(controlled, tenant):
    value = {"name": "P", "value": f"$kusion_path.v1:Secret:{tenant}:s.data.p"}
    spec = Spec(controlled, tenant).apply([secret(tenant, FIRST), template(tenant, [value])])
    spec.wait("True")
    controlled.kubectl("patch", "podtemplate", "t", f"--namespace={tenant}", "--type=json", "--patch",
                       json.dumps([{"op": "add", "path": "/template/spec/containers/0/env/0",
                                    "value": {"name": "OTHER", "value": "x"}}]))
    spec.apply([secret(tenant, SECOND), template(tenant, [value])])
    spec.wait("True")
    assert {"name": "P", "value": SECOND} in env_of(controlled, tenant)
    text = open_text(controlled, spec)
    assert not [word for word in (FIRST, SECOND) if word in text], text
    spec.delete()


def test_the_text_of_an_unknown_value_is_applied_as_it_is(controlled, tenant):
    value = {"name": "P", "value": "(known after apply)"}
    spec = Spec(controlled, tenant).apply([template(tenant, [value])])
    spec.wait("True")
    assert env_of(controlled, tenant) == [value]
    spec.delete()
