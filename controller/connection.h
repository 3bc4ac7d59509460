/*
 * The connection to the API server, and the identity of this process there.
 */
#pragma once

#include "controller/core/outage.h"
#include "controller/flags.h"
#include "runtimes/kubernetes/client/cluster.h"

struct address_filter;

struct connection {
    const struct flags *flags;
    bool is_typed; /* by a person: without --kubeconfig, $KUBECONFIG counts, and outside of a Pod
                      ~/.kube/config. Set before connection_init() */
    bool is_own;   /* the configuration is that of the pod */
    struct kube_config *config;
    char *state_namespace;                       /* of State, plans and the Lease */
    char *identity;                              /* of this process, unique */
    struct http_loop *requests, *watches;        /* for the resources of Specs */
    struct http_loop *control, *control_watches; /* for the controller's own requests */
    struct http_loop *foreign, *foreign_watches; /* for clusters that tenants chose */
    struct address_filter *address_filter;       /* of these */
    int (*guard)(void *arg, struct error *error);
    void *guard_arg;
    struct kube_cluster cluster; /* owned */
};

/* Reads the configuration; nothing is sent. */
int connection_init(struct connection *connection, const struct flags *flags, struct error *error);
/* Makes the client; nothing is sent. guard: of kube_client_config. */
int connection_open(struct connection *connection, int (*guard)(void *arg, struct error *error),
                    void *guard_arg, struct error *error);
void connection_done(struct connection *connection);

/* Makes the checks of preflight.h. */
int connection_try(struct connection *connection, struct outage *outage, struct cancel *stop,
                   struct error *error);

/* The collection of a kind that is watched (--watch-namespace), and which of its objects
 * (--watch-label-selector). */
struct kube_ref connection_collection(const struct connection *connection,
                                      const struct kube_kind *kind);
struct kube_selector connection_selector(const struct connection *connection,
                                         const struct kube_kind *kind);
