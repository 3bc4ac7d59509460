/*
 * Which object, or which collection, a request is for: the kind (its group,
 * version and plural), the namespace, the name. path.h makes it a URL.
 *
 * A reference is a value that borrows its strings and its kind. Kinds are of
 * the discovery, or constants: they outlive what refers to them.
 */
#ifndef RUNTIMES_KUBERNETES_CLIENT_REF_H
#define RUNTIMES_KUBERNETES_CLIENT_REF_H

#include <stdbool.h>

struct kube_kind {
    const char *group_version; /* "v1", "apps/v1" */
    const char *kind;          /* "Deployment" */
    const char *plural;        /* "deployments"; NULL: the group and version itself */
    bool namespaced;
};

struct kube_ref {
    const struct kube_kind *kind;
    const char *namespace_name; /* NULL: of the cluster, or of all namespaces */
    const char *name;           /* NULL: the collection */
    const char *subresource;    /* "status"; NULL: none */
};

/* Which objects of a collection; NULL: all. */
struct kube_selector {
    const char *labels; /* "a=b,c!=d" */
    const char *fields;
};

/* The kinds that the controller asks for in its own name. */
extern const struct kube_kind kube_config_maps, kube_secrets, kube_events, kube_namespaces,
    kube_service_accounts, kube_leases, kube_definitions, kube_api_services;

#endif
