#include "runtimes/kubernetes/client/ref.h"

const struct kube_kind kube_config_maps = {"v1", "ConfigMap", "configmaps", true};
const struct kube_kind kube_secrets = {"v1", "Secret", "secrets", true};
const struct kube_kind kube_events = {"v1", "Event", "events", true};
const struct kube_kind kube_namespaces = {"v1", "Namespace", "namespaces", false};
const struct kube_kind kube_service_accounts = {"v1", "ServiceAccount", "serviceaccounts", true};
const struct kube_kind kube_leases = {"coordination.k8s.io/v1", "Lease", "leases", true};
const struct kube_kind kube_definitions = {"apiextensions.k8s.io/v1", "CustomResourceDefinition",
                                           "customresourcedefinitions", false};
const struct kube_kind kube_api_services = {"apiregistration.k8s.io/v1", "APIService",
                                            "apiservices", false};
