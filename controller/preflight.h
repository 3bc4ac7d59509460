/*
 * What is asked of the API server before anything is done: whether it answers,
 * and whether it takes what the flags say. What may come right by itself
 * (rights, CRDs) is not for here.
 */
#ifndef CONTROLLER_PREFLIGHT_H
#define CONTROLLER_PREFLIGHT_H

#include "controller/core/outage.h"
#include "runtimes/kubernetes/client/client.h"

/* Reads the namespace of State, and waits a minute for an answer. The outage, which its end ends,
 * and the log tell why it waits. */
int preflight_connect(struct kube_client *client, const char *state_namespace,
                      struct outage *outage, struct cancel *stop, struct error *error);

/* specs: their collection; selector: of labels, or NULL. ERR_INVALID: the API server does not
 * take it. Other failures are not ours to tell: whoever lists them next does. */
int preflight_selector(struct kube_client *client, struct kube_ref specs, const char *selector,
                       struct cancel *stop, struct error *error);

#endif
