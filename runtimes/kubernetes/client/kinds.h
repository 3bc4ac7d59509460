/*
 * All that can be in a namespace: every kind that has a collection there which can be listed and
 * deleted from, once each, by the server's aggregated discovery (two requests). Nothing of it is
 * kept. (Which kind is called what: discovery.h.)
 */
#ifndef RUNTIMES_KUBERNETES_CLIENT_KINDS_H
#define RUNTIMES_KUBERNETES_CLIENT_KINDS_H

#include "engine/base/arena.h"
#include "runtimes/kubernetes/client/discovery.h"

struct kube_kinds {
    struct kube_kind *items;
    size_t count, capacity;
    /* Groups and versions of an aggregated API that does not answer: nobody knows their kinds. */
    const char **unknown;
    size_t n_unknown, unknown_capacity;
    struct arena arena;
};

int kube_kinds_read(struct kube_client *client, const struct kube_wait *wait,
                    struct kube_kinds *ret, struct error *error);
void kube_kinds_done(struct kube_kinds *kinds);

#endif
