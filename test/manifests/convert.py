"""From manifests to Specs: by hack/tospec, where there is one. What stands in for it here knows no more
than the sets need, and goes once hack/tospec is there."""

import json
import subprocess

import yaml

from kusion_e2e.paths import ROOT

TOSPEC = ROOT / "hack" / "tospec"
MOST = 900_000  # bytes of a Spec's resources as JSON: the limit is 1 MiB
CLUSTER_KINDS = {"APIService", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "IngressClass",
                 "MutatingWebhookConfiguration", "Namespace", "PriorityClass", "ValidatingWebhookConfiguration"}


class Loader(yaml.CSafeLoader):
    pass


Loader.add_constructor("tag:yaml.org,2002:value", lambda loader, node: node.value)  # a plain =
Loader.add_constructor("tag:yaml.org,2002:timestamp", lambda loader, node: node.value)


def resource(attributes, namespace):
    metadata = attributes["metadata"]
    if attributes["kind"] not in CLUSTER_KINDS:
        metadata.setdefault("namespace", namespace)
    parts = [attributes["apiVersion"], attributes["kind"], metadata.get("namespace"), metadata["name"]]
    return {"id": ":".join(part for part in parts if part), "type": "Kubernetes", "attributes": attributes}


def parts_of(files, namespace):
    """The resources of each Spec: one Spec if they fit into it."""
    return by_tospec(files, namespace) if TOSPEC.exists() else by_hand(files, namespace)


def by_tospec(files, namespace):
    for count in range(1, 100):
        made = subprocess.run([TOSPEC, "--name", "set", "--namespace", namespace, "--split", str(count), *files],
                              capture_output=True, text=True, check=False)
        if made.returncode == 0:
            specs = [one for one in yaml.load_all(made.stdout, Loader) if one]
            return [one["spec"].get("resources", []) for one in specs]
        if "the limit is" not in made.stderr:
            break
    raise OSError(made.stderr)


def by_hand(files, namespace):
    documents = [one for file in files for one in yaml.load_all(file.read_text(), Loader) if one]
    parts, size = [[]], 0
    for one in documents:
        more = len(json.dumps(one))
        if size + more > MOST:
            parts.append([])
            size = 0
        parts[-1].append(resource(one, namespace))
        size += more
    return parts
