/*
 * State in ConfigMaps (and, of what is secret, in Secrets) of one namespace:
 * engine/state/store.h.
 *
 * A head ConfigMap, named by state_key_name(), is what compare-and-swap works on. It
 * holds the open part itself where that fits, else it names the chunks, which are
 * objects of their own, named by the checksum of what they are part of: so a
 * save never touches what the head in force names. A save looks which chunks are
 * there, writes its own, swaps the head, then removes those that were there and
 * that the head does not name: the old head's, and what was left by saves that were
 * killed. Small States of Specs that have no chunks are saved in one request, but for
 * the first of a process.
 */
#ifndef RUNTIMES_KUBERNETES_STORE_H
#define RUNTIMES_KUBERNETES_STORE_H

#include "engine/state/store.h"
#include "runtimes/kubernetes/client/client.h"

#define KUBE_STATE_LABEL "api.kusion.io/state" /* on heads and chunks: the head's name */

struct kube_store_config {
    struct kube_client *client;
    const char *namespace_name; /* copied */
};

struct state_store *kube_store_new(const struct kube_store_config *config);
void kube_store_free(struct state_store *store);

#endif
