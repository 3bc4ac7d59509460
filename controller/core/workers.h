/*
 * Threads that take keys from a queue and reconcile them.
 *
 * A reconcile compares the object with what is under way for it, starts or cancels an operation,
 * and returns. It does not wait for the operation, so a few threads are enough for any number of
 * keys. Its cancel token fires when the workers are stopped.
 */
#pragma once

#include <stdbool.h>

#include "controller/core/workqueue.h"
#include "engine/threads/cancel.h"

#define RETRY_AFTER 1000 /* ms */

struct reconcile_result {
    enum {
        RECONCILE_DONE,  /* not again until something changes; failures are forgotten */
        RECONCILE_RETRY, /* counts as a failure: again, after a delay that grows from `after` */
        RECONCILE_AFTER, /* again after `after`; failures are forgotten */
        /* An operation is under way: again after `after`, or when the operation adds the key. It is
         * no failure, and earlier failures are not forgotten. */
        RECONCILE_WAITING,
    } kind;
    /* ms. 0: RECONCILE_WAITING waits until the operation adds the key; RECONCILE_RETRY begins with
     * RETRY_AFTER. */
    int64_t after;
    int64_t most;        /* ms, RECONCILE_RETRY: the delay grows no further; 0: no such bound */
    bool is_new_failure; /* RECONCILE_RETRY: the earlier failures were others, and are forgotten */
    enum workqueue_priority priority; /* RECONCILE_AFTER */
};

struct workers_config {
    const char *name; /* of the threads: "spec" names them "spec-0", "spec-1", … */
    unsigned count;
    struct workqueue *queue; /* borrowed; workers_stop() shuts it down */
    /* Must return soon after its cancel fires. */
    struct reconcile_result (*reconcile)(void *arg, const char *key, struct cancel *cancel);
    void *arg;
};

struct workers;

struct workers *workers_new(const struct workers_config *config);

/* Cancels what runs, shuts the queue down, waits for the threads, frees. NULL is accepted. */
void workers_stop(struct workers *workers);
