/*
 * All kinds whose objects can be in a namespace, and be listed and deleted there; each once,
 * whatever versions it has. They are read by aggregated discovery, in two requests, and not kept.
 * (To find one kind by its name: discovery.h.)
 */
#pragma once

#include "engine/base/arena.h"
#include "runtimes/kubernetes/client/discovery.h"

struct kube_kinds {
    struct kube_kind *items;
    size_t count, capacity;
    /* Groups and versions of an aggregated API that does not answer: their kinds are not known. */
    const char **unknown;
    size_t n_unknown, unknown_capacity;
    struct arena arena;
};

int kube_kinds_read(struct kube_client *client, const struct kube_wait *wait,
                    struct kube_kinds *ret, struct error *error);
void kube_kinds_done(struct kube_kinds *kinds);
