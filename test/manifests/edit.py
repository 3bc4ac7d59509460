"""Changes of a set as people make them: a new image, replicas, a port, a rule less and a rule more, a key
of a ConfigMap; two objects less, and one more. Always the same ones, so that a difference comes again."""

import copy

PRUNED = ("RoleBinding", "ClusterRoleBinding", "ConfigMap", "PodDisruptionBudget", "ServiceAccount")


def edit_deployment(one):
    spec = one["spec"]
    spec["replicas"] = (spec.get("replicas") or 1) + 1
    template = spec["template"]
    container = template["spec"]["containers"][0]
    container["image"] = container["image"].partition("@")[0] + "-edited"
    container["env"] = [*(container.get("env") or [])[1:], {"name": "EDITED", "value": "1"}]
    if container.get("args"):
        container["args"] = container["args"][1:]
    template["metadata"]["annotations"] = {**(template["metadata"].get("annotations") or {}), "example.com/edited": "1"}
    one["metadata"].pop("annotations", None)


def edit_service(one):
    ports = one["spec"].get("ports") or []
    if all("name" in port for port in ports):
        one["spec"]["ports"] = [*ports, {"name": "edited", "port": 65000, "targetPort": 65000}]


def edit_role(one):
    if one.get("rules"):
        one["rules"] = [*one["rules"][1:], {"apiGroups": ["example.com"], "resources": ["things"], "verbs": ["get"]}]


def edit_config_map(one):
    data = one.get("data") or {}
    if data:
        one["data"] = {**dict(list(data.items())[1:]), "edited": "yes: 1\n"}


EDITS = {"Deployment": edit_deployment, "Service": edit_service, "ClusterRole": edit_role, "Role": edit_role,
         "ConfigMap": edit_config_map}


def edited(parts, namespace):
    """(parts, resources that are no more). ConfigMaps stay as they are where a webhook may look at them:
    no webhook has anything behind it here."""
    parts = copy.deepcopy(parts)
    kinds = {one["attributes"]["kind"] for part in parts for one in part}
    for part in parts:
        for one in part:
            kind = one["attributes"]["kind"]
            if kind in EDITS and not (kind == "ConfigMap" and "ValidatingWebhookConfiguration" in kinds):
                EDITS[kind](one["attributes"])
    gone = []
    for kind in PRUNED:
        of_kind = [one for part in parts for one in part if one["attributes"]["kind"] == kind]
        if of_kind and len(gone) < 2:
            gone.append(of_kind[-1])
    parts = [[one for one in part if one not in gone] for part in parts]
    name = "added-by-the-edit"
    parts[0].append({"id": f"v1:ConfigMap:{namespace}:{name}", "type": "Kubernetes", "attributes": {
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace}, "data": {"a": "b"}}})
    return parts, gone
