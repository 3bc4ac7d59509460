/*
 * Clusters that tenants chose (kubeConfig): a client and a discovery for each, shared by all
 * sessions of one namespace with the same kubeconfig. Two namespaces never share one.
 *
 * A cluster that nobody uses any more is kept for a while, and then closed by the next call. One
 * that does not answer is asked by one session at a time: the others fail at once, as that one did,
 * so that their threads are free for other work.
 *
 * Thread-safe. No lock is held during requests.
 */
#pragma once

#include "engine/threads/clock.h"
#include "runtimes/kubernetes/client/cluster.h"

#define CLUSTERS_OF_NAMESPACE 64
#define CLUSTERS              256

/* What the clients of these clusters are made of. Borrowed; NULL members: there are none. */
struct clusters_config {
    struct http_loop *requests, *watches;        /* no other clients are on these */
    const struct address_filter *address_filter; /* NULL: no cluster but the runtime's own */
    const char *user_agent;
    bool http1;
    int (*guard)(void *arg, struct error *error); /* as of kube_client_config */
    void *guard_arg;
};

struct clusters;
struct foreign_cluster;

struct clusters *clusters_new(const struct clusters_config *config,
                              const struct clock_source *clock);
/* After all references are gone. */
void clusters_free(struct clusters *clusters);

/* A reference. ERR_UNAVAILABLE TooManyClusters: so many are in use already. ERR_INVALID: no client
 * can be made of it. */
int clusters_get(struct clusters *clusters, const char *namespace_name,
                 const struct kube_config *config, struct foreign_cluster **ret,
                 struct error *error);
void foreign_cluster_unref(struct foreign_cluster *cluster); /* NULL is accepted */
/* Closes those that are not used any more. */
void clusters_tidy(struct clusters *clusters);
/* How many there are, for tests. */
size_t clusters_count(struct clusters *clusters);

/* As long as there is a reference. */
const struct kube_cluster *foreign_cluster_get(const struct foreign_cluster *cluster);
/* SHA-256 of its CA, as hexadecimal. */
const char *foreign_cluster_ca(const struct foreign_cluster *cluster);
/* The namespace that its kubeconfig names, or "default". */
const char *foreign_cluster_namespace(const struct foreign_cluster *cluster);

/* Before a session asks it for the first time. An error: it did not answer a moment ago, or another
 * session is asking. Else the session asks, and then says what that came to. */
int foreign_cluster_begin(struct foreign_cluster *cluster, struct error *error);
void foreign_cluster_end(struct foreign_cluster *cluster, const struct error *failure);
