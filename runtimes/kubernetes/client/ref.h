/*
 * The object or the collection that a request is for: kind (with its group,
 * version and plural), namespace, name. path.h makes the URL of it.
 *
 * A reference is copied; it borrows its strings and its kind. Kinds belong to
 * the discovery or are constants, and outlive the references.
 */
#pragma once

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
