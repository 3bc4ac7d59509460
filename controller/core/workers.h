/*
 * Threads that take keys from a queue and reconcile them.
 *
 * Each reconcile has a cancel token of its own. It fires when the workers are
 * stopped, and when its key is cancelled because something newer supersedes
 * what is being done; in that case the key is reconciled again at once,
 * whatever the result said.
 *
 * A reconcile that only waits for the world, perhaps for minutes, says so, and
 * another key is taken meanwhile: so no number of Specs that do not get ready
 * keeps the others waiting, up to WORKERS_WAITING of them. One that has waited
 * goes on at once, even if for a while more than `count` are at work then.
 */
#ifndef CONTROLLER_CORE_WORKERS_H
#define CONTROLLER_CORE_WORKERS_H

#include "controller/core/workqueue.h"
#include "engine/base/cancel.h"

struct reconcile_result {
    enum {
        RECONCILE_DONE,  /* until something changes; failures are forgotten */
        RECONCILE_RETRY, /* again, later each time */
        RECONCILE_AFTER, /* again after so long; failures are forgotten */
    } kind;
    int64_t after; /* ms, for RECONCILE_AFTER */
};

struct workers_config {
    const char *name;               /* of the threads: "spec" becomes "spec-0", "spec-1" */
    unsigned count;                 /* of reconciles that are at work at once */
    struct workqueue *queue;        /* borrowed, but shut down by workers_stop() */
    struct cancel *cancel;          /* may be NULL; fires all of theirs */
    const struct clock_source *clock;
    /* Must end soon once its cancel fires. */
    struct reconcile_result (*reconcile)(void *arg, const char *key, struct cancel *cancel);
    void *arg;
};

#define WORKERS_WAITING 32

struct workers;

struct workers *workers_new(const struct workers_config *config);

/* One of the reconciles that run waits from now on, or (false) does not any more; in turns.
 * Thread-safe, and quick. */
void workers_wait(struct workers *workers, bool waits);

/* Cancels what runs, shuts the queue down, waits for the threads, frees. NULL is accepted. */
void workers_stop(struct workers *workers);

/* Fires the cancel of the reconcile of this key, if one runs. reason: of static storage.
 * Thread-safe; not from a listener of that cancel. */
void workers_cancel_key(struct workers *workers, const char *key, const char *reason);

#endif
