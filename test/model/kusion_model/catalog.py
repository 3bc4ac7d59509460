"""The resources that Specs of the test are made of. Pure data: a name, a kind, and a few fields."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Kind:
    """Fields: by a short name, the path in the object. Defaults: what the API server sets where
    nobody has set it. Wanted and foreign: the values that Specs and others give to a field; they
    never have one in common. optional: the fields that a Spec may leave out."""

    version: str
    kind: str
    collection: str
    fields: dict
    wanted: dict
    foreign: dict
    optional: tuple = ()
    defaults: dict = field(default_factory=dict)
    spec: dict = field(default_factory=dict)


TEXTS, OTHERS = ("1", "2", "3"), ("x1", "x2")
NUMBERS, OTHER_NUMBERS = (1, 2, 3), (11, 12)
NOTE = ("metadata", "annotations", "note")

CONFIG_MAP = Kind("v1", "ConfigMap", "/api/v1/namespaces/{}/configmaps",
                  {"k": ("data", "k"), "l": ("data", "l")},
                  {"k": TEXTS, "l": TEXTS}, {"k": OTHERS, "l": OTHERS}, ("l",))
SERVICE = Kind("v1", "Service", "/api/v1/namespaces/{}/services",
               {"note": NOTE, "affinity": ("spec", "sessionAffinity")},
               {"note": TEXTS, "affinity": ("ClientIP",)}, {"note": OTHERS}, ("note", "affinity"),
               {"affinity": "None"}, {"ports": [{"port": 80}]})
DEPLOYMENT = Kind("apps/v1", "Deployment", "/apis/apps/v1/namespaces/{}/deployments",
                  {"note": NOTE, "min": ("spec", "minReadySeconds")},
                  {"note": TEXTS, "min": NUMBERS}, {"note": OTHERS, "min": OTHER_NUMBERS},
                  ("note", "min"), {}, {
                      "replicas": 0, "selector": {"matchLabels": {"app": "web"}},
                      "template": {"metadata": {"labels": {"app": "web"}},
                                   "spec": {"containers": [{"name": "c", "image": "none"}]}}})
WIDGET = Kind("model.kusion.io/v1", "Widget", "/apis/model.kusion.io/v1/namespaces/{}/widgets",
              {"size": ("spec", "size"), "color": ("spec", "color")},
              {"size": NUMBERS, "color": TEXTS}, {"size": OTHER_NUMBERS, "color": OTHERS}, ("color",))

# addr has an address of svc, by reference.
RESOURCES = {"a": CONFIG_MAP, "b": CONFIG_MAP, "c": CONFIG_MAP, "svc": SERVICE, "addr": CONFIG_MAP,
             "web": DEPLOYMENT, "cr": WIDGET}
NAMES = tuple(RESOURCES)
REFERENCE = "the address of svc"

# Field managers of others.
SOMEONE, OTHER, KUBECTL, CREATOR = "someone", "other", "kubectl-edit", "kubectl-create"
OURS = "ours"


def is_kubectl(manager):
    return manager.startswith("kubectl")


def id_of(name, namespace):
    kind = RESOURCES[name]
    return f"{kind.version}:{kind.kind}:{namespace}:{name}"


def attributes(name, namespace, fields, with_rest=True):
    """The object as somebody sends it. With rest: also what is the same for all of its kind."""
    kind = RESOURCES[name]
    made = {"apiVersion": kind.version, "kind": kind.kind,
            "metadata": {"name": name, "namespace": namespace}}
    if with_rest and kind.spec:
        made["spec"] = dict(kind.spec)
    for short, value in fields.items():
        *parents, last = kind.fields[short]
        place = made
        for parent in parents:
            place = place.setdefault(parent, {})
        if value == REFERENCE:
            value = f"$kusion_path.{id_of('svc', namespace)}.spec.clusterIP"
        place[last] = value
    return made


def complete(wanted):
    """What can be in a Spec, of {name: (fields, depends_on)}: no reference and no dependency without
    its object. Dependencies only go backwards in the catalog, so there is no cycle."""
    names = [name for name in NAMES if name in wanted and (name != "addr" or "svc" in wanted)]
    return {name: (dict(wanted[name][0]),
                   tuple(one for one in wanted[name][1]
                         if one in names and NAMES.index(one) < NAMES.index(name)))
            for name in names}


def resources(wanted, namespace):
    """spec.resources."""
    made = []
    for name, (fields, depends_on) in complete(wanted).items():
        one = {"id": id_of(name, namespace), "type": "Kubernetes",
               "attributes": attributes(name, namespace, fields)}
        if depends_on:
            one["dependsOn"] = [id_of(other, namespace) for other in depends_on]
        made.append(one)
    return made


def field_of(body, path):
    for part in path:
        if not isinstance(body, dict) or part not in body:
            return None
        body = body[part]
    return body
