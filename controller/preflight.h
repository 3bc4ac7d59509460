/*
 * Checks that are made before anything else: that the API server answers, and that it accepts the
 * label selector of the flags. Problems that may go away by themselves (missing rights or CRDs) are
 * not checked here.
 */
#pragma once

#include "controller/core/outage.h"
#include "runtimes/kubernetes/client/client.h"

/* Reads the namespace of State, and retries for a minute until there is an answer. Meanwhile the
 * outage and the log tell why; it ends the outage. */
int preflight_connect(struct kube_client *client, const char *state_namespace,
                      struct outage *outage, struct cancel *stop, struct error *error);

/* Lists one object of a collection, to see whether that can be done. */
int preflight_list(struct kube_client *client, struct kube_ref collection,
                   struct kube_selector selector, struct cancel *stop, struct error *error);

/* specs: the collection of Specs. selector: of labels, or NULL. ERR_INVALID: the API server rejects
 * the selector. All other failures return 0: the informer meets them again, and reports them. */
int preflight_selector(struct kube_client *client, struct kube_ref specs, const char *selector,
                       struct cancel *stop, struct error *error);
