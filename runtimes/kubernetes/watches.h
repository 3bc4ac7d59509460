/*
 * Hints that objects changed. One watch for each cluster, user, kind and
 * namespace of which an object is waited for, shared by all that
 * wait, of whatever Spec; metadata only. Events go to the subscribers of the
 * object that they name.
 *
 * Each subscriber hears once that its subscription is in force: when the
 * watch's first list is complete, or at once where it is already, perhaps
 * before kube_subscribe() returns. A watch that is refused gives no hints.
 * It ends with its last subscription. There are at most 512 watches, and at
 * most 64 for the Specs of one namespace: beyond that, waiters get no hints,
 * and look by themselves.
 *
 * Thread-safe. Callbacks run without a lock of this module.
 */
#ifndef RUNTIMES_KUBERNETES_WATCHES_H
#define RUNTIMES_KUBERNETES_WATCHES_H

#include "engine/runtime.h"

struct watches;

struct watches *watches_new(void);
void watches_free(struct watches *watches); /* after its subscriptions */

/* How many watches there are; for tests. */
size_t watches_count(struct watches *watches);

/* runtime_ops. ERR_UNAVAILABLE KindNotKnown: where the object is would have to be asked first.
 * ERR_UNAVAILABLE TooManyWatches. ERR_FORBIDDEN: the watch that it would share is refused at the moment. */
int kube_subscribe(struct runtime_session *session, const struct runtime_target *target,
                   runtime_on_event *on_event, void *arg, struct runtime_subscription **ret,
                   struct error *error);
/* Waits for a callback that runs; so it must not be called from one. */
void kube_unsubscribe(struct runtime_subscription *subscription);

#endif
