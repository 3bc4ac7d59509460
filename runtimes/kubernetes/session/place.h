/*
 * What tells one cluster from another, as State records it:
 *
 *   namespace:kube-system=UID   the uid of kube-system, which lives as long as a cluster
 *   namespace:NAME=UID          of another namespace, where kube-system may not be read
 *   ca:SHA256                   of the CA in the kubeconfig, where none may be. It is weak: another
 *                               cluster may have the same, and the same one may get another
 *
 * All requests are made here, without a session.
 */
#pragma once

#include <stdbool.h>

#include "runtimes/kubernetes/client/client.h"
#include "runtimes/kubernetes/client/wait.h"

/* Who is asked, and by whom. Borrowed. */
struct place_question {
    struct kube_client *client;
    const char *impersonate;   /* or NULL */
    const char *namespaces[2]; /* that may be read, where kube-system may not */
    const char *ca;            /* foreign_cluster_ca(); NULL: the cluster is the runtime's own */
    struct kube_wait wait;
};

/* What the cluster is; free(). ERR_UNAVAILABLE: it does not answer … */
int place_find(const struct place_question *question, char **ret, struct error *error);

/* Whether the cluster is the recorded one: 1 or 0. An error: it is not known. Of a weak place: it
 * has the same CA. */
int place_is(const struct place_question *question, const char *recorded, struct error *error);

bool place_is_weak(const char *place);
