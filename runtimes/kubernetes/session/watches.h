/*
 * Watches tell waiting operations that an object may have changed.
 *
 * There is one watch for each combination of cluster, user, kind and namespace that is waited for.
 * All Specs share it. It receives metadata only. An event goes to the subscribers of the object
 * that it names.
 *
 * Each subscriber is called once when its subscription is active: when the first list of the watch
 * is complete. If it is complete already, the call may come before kube_subscribe() returns. A
 * watch that the API server refuses gives no events. A watch ends with its last subscription. There
 * are at most 512 watches, and at most 64 for the Specs of one namespace. Beyond that, waiting
 * operations get no events and poll.
 *
 * Thread-safe. Callbacks run without a lock of this module.
 */
#pragma once

#include "engine/runtime.h"

struct watches;

struct watches *watches_new(void);
void watches_free(struct watches *watches); /* after all subscriptions have ended */

/* The number of watches; for tests. */
size_t watches_count(struct watches *watches);

/* runtime_ops.subscribe. ERR_UNAVAILABLE KindNotKnown: the object's kind is not in the discovery
 * cache. ERR_UNAVAILABLE TooManyWatches. ERR_FORBIDDEN: the API server refuses the shared watch at
 * the moment. */
int kube_subscribe(struct runtime_session *session, const struct runtime_target *target,
                   runtime_on_event *on_event, void *arg, struct runtime_subscription **ret,
                   struct error *error);
/* Waits for a callback that is running; must not be called from a callback. */
void kube_unsubscribe(struct runtime_subscription *subscription);
