/*
 * Threads that take keys from a queue and reconcile them.
 *
 * A reconcile looks at what there is, begins or ends what is to be, and
 * returns: it does not wait for the world. So a few threads are enough for any
 * number of keys. Its cancel token fires when the workers are stopped.
 */
#ifndef CONTROLLER_CORE_WORKERS_H
#define CONTROLLER_CORE_WORKERS_H

#include <stdbool.h>

#include "controller/core/workqueue.h"
#include "engine/base/cancel.h"

#define RETRY_AFTER 1000 /* ms */

struct reconcile_result {
    enum {
        RECONCILE_DONE,    /* until something changes; failures are forgotten */
        RECONCILE_RETRY,   /* again, later each time; `after` is the first delay */
        RECONCILE_AFTER,   /* again after so long; failures are forgotten */
        RECONCILE_WAITING, /* something is under way: again after so long, unless it tells before.
                              Neither a failure, nor the end of those before it */
    } kind;
    int64_t after; /* ms. 0: of WAITING, it tells; of RETRY, RETRY_AFTER */
    bool is_new_failure; /* for RETRY: the failures before it were others, and are forgotten */
    enum workqueue_priority priority; /* for AFTER */
};

struct workers_config {
    const char *name; /* of the threads: "spec" becomes "spec-0", "spec-1" */
    unsigned count;
    struct workqueue *queue; /* borrowed, but shut down by workers_stop() */
    /* Must end soon once its cancel fires. */
    struct reconcile_result (*reconcile)(void *arg, const char *key, struct cancel *cancel);
    void *arg;
};

struct workers;

struct workers *workers_new(const struct workers_config *config);

/* Cancels what runs, shuts the queue down, waits for the threads, frees. NULL is accepted. */
void workers_stop(struct workers *workers);

#endif
