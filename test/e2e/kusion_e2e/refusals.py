"""Objects that an API server refuses, each in words that repeat a value of it.

A case is a function of the namespace and of a value, which gives an object; the value is a
reference to a secret. BY_CREATE are refused as they are, BY_CHANGE when the secret is another one
than that which they were made with."""

CUSTOM = "canaries.example.com"
FORMATS = ("date-time", "date", "ipv4", "ipv6", "cidr", "uri", "email", "hostname", "uuid",
           "mac", "byte", "creditcard", "hexcolor")


def crd():
    """A kind whose fields refuse what they get, each in its own way."""
    def field(**more):
        return {"type": "string", **more}

    def item():
        return {"type": "object", "properties": {"name": field()}, "required": ["name"]}

    properties = {name.replace("-", ""): field(format=name) for name in FORMATS}
    properties |= {
        "pattern": field(pattern="^x$"), "choice": field(enum=["x"]), "short": field(maxLength=2),
        "long": field(minLength=99), "number": {"type": "integer"}, "truth": {"type": "boolean"},
        "object": {"type": "object", "properties": {}},
        "items": {"type": "array", "items": field()},
        "rule": field(**{"x-kubernetes-validations": [
            {"rule": "self == 'x'", "messageExpression": "'it is ' + self + ', which is wrong'"}]}),
        "plainrule": field(**{"x-kubernetes-validations": [{"rule": "self == 'x'"}]}),
        "fixed": field(**{"x-kubernetes-validations": [
            {"rule": "self == oldSelf",
             "messageExpression": "'it was ' + oldSelf + ', and would be ' + self"}]}),
        "map": {"type": "array", "items": item(), "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"]},
        "set": {"type": "array", "items": field(), "x-kubernetes-list-type": "set"},
    }
    schema = {"type": "object",
              "properties": {"spec": {"type": "object", "properties": properties}}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": CUSTOM},
            "spec": {"group": "example.com", "scope": "Namespaced",
                     "names": {"plural": "canaries", "singular": "canary", "kind": "Canary"},
                     "versions": [{"name": "v1", "served": True, "storage": True,
                                   "schema": {"openAPIV3Schema": schema}}]}}


def policies(namespace):
    """Of admission, whose words have the value: by the label `policy`."""
    messages = {
        "configmaps": {"as-it-is": "'it is ' + object.data.v",
                       "in-json": "'{\"data\":{\"v\":\"' + object.data.v + '\"}}'"},
        "secrets": {"data": "'it is ' + object.data.p"},
    }
    group = "admissionregistration.k8s.io/v1"
    for resource, expressions in messages.items():
        for name, expression in expressions.items():
            full = f"canary-{resource}-{name}"
            rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
                    "resources": [resource]}
            yield {"apiVersion": group, "kind": "ValidatingAdmissionPolicy",
                   "metadata": {"name": full},
                   "spec": {"failurePolicy": "Fail",
                            "matchConstraints": {"resourceRules": [rule], "objectSelector": {
                                "matchLabels": {"policy": name}}},
                            "validations": [{"expression": "false",
                                             "messageExpression": expression}]}}
            yield {"apiVersion": group, "kind": "ValidatingAdmissionPolicyBinding",
                   "metadata": {"name": full},
                   "spec": {"policyName": full, "validationActions": ["Deny"],
                            "matchResources": {"namespaceSelector": {
                                "matchLabels": {"kubernetes.io/metadata.name": namespace}}}}}


def object_of(version, kind, namespace, labels=None, name="x", **more):
    metadata = {"name": name, "namespace": namespace, **({"labels": labels} if labels else {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **more}


def custom(field, of=lambda value: value):
    return lambda ns, v: object_of("example.com/v1", "Canary", ns, spec={field: of(v)})


def config_map(**labels):
    return lambda ns, v: object_of("v1", "ConfigMap", ns, labels, data={"v": v})


def own(labels=None, **more):
    """A Secret, of which the value is its own: that is no reference."""
    return lambda ns, v: object_of("v1", "Secret", ns, labels,
                                   **{key: value(v) for key, value in more.items()})


def container(**more):
    return {"name": "c", "image": "i", **more}


def pod(of_container=None, **more):
    def make(ns, v):
        spec = {"containers": [container(**(of_container(v) if of_container else {}))]}
        spec.update({key: value(v) for key, value in more.items()})
        return object_of("v1", "Pod", ns, spec=spec)
    return make


def service(**fields):
    return lambda ns, v: object_of("v1", "Service", ns, spec={"ports": [{"port": 1}], **{
        key: value(v) for key, value in fields.items()}})


def cron_job(**fields):
    pod_spec = {"restartPolicy": "Never", "containers": [container()]}
    template = {"spec": {"template": {"spec": pod_spec}}}
    return lambda ns, v: object_of("batch/v1", "CronJob", ns, spec={
        "schedule": "@daily", "suspend": True, "jobTemplate": template,
        **{key: value(v) for key, value in fields.items()}})


def role(**fields):
    rule = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}
    return lambda ns, v: object_of("rbac.authorization.k8s.io/v1", "Role", ns, rules=[
        {**rule, **{key: [v] for key in fields}}])


def role_binding(kind):
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind}
    subject = {"kind": "ServiceAccount", "name": "x", "namespace": "x"}
    return lambda ns, v: object_of("rbac.authorization.k8s.io/v1", "RoleBinding", ns,
                                   roleRef={**reference, "name": v}, subjects=[subject])


def deployment_of(labels):
    """labels: those of its Pods. Its selector has the value."""
    return lambda ns, v: object_of("apps/v1", "Deployment", ns, spec={
        "replicas": 0, "selector": {"matchLabels": {"app": v}}, "template": {
            "metadata": {"labels": labels(v)}, "spec": {"containers": [container()]}}})


def ingress(**fields):
    def make(ns, v):
        backend = {"service": {"name": "x", "port": {"number": 1}}}
        path = {"path": "/", "pathType": "Prefix", "backend": backend}
        path.update({key: v for key in fields})
        return object_of("networking.k8s.io/v1", "Ingress", ns,
                         spec={"rules": [{"host": "x.example.com", "http": {"paths": [path]}}]})
    return make


def network_policy(ns, v):
    return object_of("networking.k8s.io/v1", "NetworkPolicy", ns, spec={
        "podSelector": {}, "egress": [{"to": [{"ipBlock": {"cidr": v}}]}]})


def lease(ns, v):
    return object_of("coordination.k8s.io/v1", "Lease", ns, spec={"renewTime": v})


def claim(ns, v):
    return object_of("v1", "PersistentVolumeClaim", ns, spec={
        "accessModes": ["ReadWriteOnce"], "storageClassName": v,
        "resources": {"requests": {"storage": "1Gi"}}})


def with_metadata(**fields):
    def make(ns, v):
        made = object_of("v1", "ConfigMap", ns, data={"a": "b"})
        made["metadata"].update({key: value(v) for key, value in fields.items()})
        return made
    return make


def job(ns, v):
    env = [{"name": "V", "value": v}]
    return object_of("batch/v1", "Job", ns, spec={"suspend": True, "template": {"spec": {
        "restartPolicy": "Never", "containers": [container(env=env)]}}})


def env(v):
    return {"env": [{"name": "V", "value": v}]}


BY_CREATE = {
    **{f"crd-format-{name}": custom(name.replace("-", "")) for name in FORMATS
       if name not in ("byte", "hostname")},  # which it fits
    "crd-pattern": custom("pattern"), "crd-enum": custom("choice"), "crd-too-long": custom("short"),
    "crd-too-short": custom("long"), "crd-integer": custom("number"),
    "crd-boolean": custom("truth"), "crd-object": custom("object"), "crd-array": custom("items"),
    "crd-message-expression": custom("rule"), "crd-rule": custom("plainrule"),
    "crd-duplicate-key": custom("map", lambda v: [{"name": v}, {"name": v}]),
    "crd-duplicate-item": custom("set", lambda v: [v, v]),
    "policy": config_map(policy="as-it-is"), "policy-json": config_map(policy="in-json"),
    "webhook": config_map(webhook="as-it-is"), "webhook-base64": config_map(webhook="in-base64"),
    "webhook-go": config_map(webhook="in-go"), "webhook-warning": config_map(webhook="warns"),
    "webhook-reason": config_map(webhook="reason"), "webhook-code": config_map(webhook="code"),
    "webhook-busy": config_map(webhook="busy"), "webhook-cut": config_map(webhook="cut"),
    "webhook-bytes": config_map(webhook="bytes"), "webhook-hex": config_map(webhook="in-hex"),
    "webhook-json-in-base64": config_map(webhook="json-in-base64"),
    "webhook-long": config_map(webhook="long"), "webhook-causes": config_map(webhook="causes"),
    "pod-priority-class": pod(priorityClassName=lambda v: v),
    "pod-service-account": pod(serviceAccountName=lambda v: v),
    "pod-runtime-class": pod(runtimeClassName=lambda v: v),
    "pod-restart-policy": pod(restartPolicy=lambda v: v),
    "pod-quantity": pod(lambda v: {"resources": {"limits": {"memory": v}}}),
    "pod-field-path": pod(lambda v: {"env": [
        {"name": "V", "valueFrom": {"fieldRef": {"fieldPath": v}}}]}),
    "pod-duplicate-env": pod(lambda v: {"env": [{"name": v, "value": "a"},
                                                {"name": v, "value": "b"}]}),
    "pod-duplicate-container": pod(containers=lambda v: [container(name=v), container(name=v)]),
    "pod-pull-policy": pod(lambda v: {"imagePullPolicy": v}),
    "pod-port": pod(lambda v: {"ports": [{"containerPort": v}]}),
    "pod-mount": pod(lambda v: {"volumeMounts": [{"name": v, "mountPath": "/a"}]}),
    "service-type": service(type=lambda v: v), "service-ip": service(clusterIP=lambda v: v),
    "service-affinity": service(sessionAffinity=lambda v: v),
    "service-external-ip": service(externalIPs=lambda v: [v]),
    "cron-schedule": cron_job(schedule=lambda v: v),
    "cron-time-zone": cron_job(timeZone=lambda v: v),
    "cron-concurrency": cron_job(concurrencyPolicy=lambda v: v),
    "role-resources": role(resources=1), "role-names": role(resourceNames=1),
    "role-verbs": role(verbs=1), "role-groups": role(apiGroups=1),
    "binding-cluster-role": role_binding("ClusterRole"), "binding-role": role_binding("Role"),
    "deployment-selector": deployment_of(lambda v: {"app": "x"}),
    "ingress-path": ingress(path=1), "ingress-path-type": ingress(pathType=1),
    "network-policy-cidr": network_policy, "lease-time": lease,
    "finalizer": with_metadata(finalizers=lambda v: [v]),
}

# Refused when the value changes: both values may be in the words.
BY_CHANGE = {
    "pod-update": pod(env), "pod-update-command": pod(lambda v: {"command": ["sh", "-c", v]}),
    "webhook-old": config_map(webhook="old"),
    "job-template": job, "claim-class": claim, "crd-transition": custom("fixed"),
    "deployment-fixed": deployment_of(lambda v: {"app": v}),
}

# The value is the Secret's own.
OF_SECRETS = {
    "policy-data": own({"policy": "data"}, data=lambda v: {"p": v}),
    "webhook-secret": own({"webhook": "secret"}, data=lambda v: {"p": v}),
    "docker-config": own(None, type=lambda v: "kubernetes.io/dockerconfigjson",
                         data=lambda v: {".dockerconfigjson": v}),
}
