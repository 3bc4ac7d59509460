/*
 * A queue of keys to reconcile. A key is in it at most once, and only one worker has it at a time.
 *
 * A key is delayed (until some time), ready, or out (from workqueue_get() to workqueue_done()). A
 * key that is added while it is out becomes ready when it is done. If several times are asked for,
 * the earliest counts: a delay of a ready key is ignored, and a key that becomes ready loses its
 * delay. Nothing is lost by that: each reconcile says when it wants to see the key again.
 *
 * Keys come out in the order in which they became ready, but keys of work that has begun
 * (workqueue_add_first) before all others. Otherwise, of a thousand new keys all would begin before
 * the first one is done.
 *
 * Failures are counted by key, until workqueue_forget(). The delay of a retry doubles with each
 * failure, from 1 s to at most 5 min; of this, a random part between half and all is used.
 *
 * Thread-safe.
 */
#ifndef CONTROLLER_CORE_WORKQUEUE_H
#define CONTROLLER_CORE_WORKQUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/clock.h"

#define WORKQUEUE_RETRY_BASE    1000   /* ms */
#define WORKQUEUE_RETRY_MAXIMUM 300000 /* ms */

struct workqueue;

struct workqueue *workqueue_new(const struct clock_source *clock);
void workqueue_free(struct workqueue *queue); /* only when no thread uses it any more */

/* Keys are copied. After workqueue_shut_down() these do nothing. */
void workqueue_add(struct workqueue *queue, const char *key);
void workqueue_add_after(struct workqueue *queue, const char *key, int64_t delay_ms);
void workqueue_add_first(struct workqueue *queue, const char *key);
void workqueue_add_rate_limited(struct workqueue *queue, const char *key);
void workqueue_forget(struct workqueue *queue, const char *key); /* forgets its failures alone */

/* Blocks until a key is ready. The caller calls workqueue_done() with it, and frees it. NULL: the
 * queue was shut down. */
char *workqueue_get(struct workqueue *queue);
void workqueue_done(struct workqueue *queue, const char *key);

/* All threads in workqueue_get() return NULL at once, even if keys are ready. */
void workqueue_shut_down(struct workqueue *queue);

struct workqueue_stats {
    uint64_t adds;    /* times that a key became ready, or will be when it is done */
    uint64_t retries; /* calls of workqueue_add_rate_limited() */
    size_t depth;     /* keys that are ready */
    size_t in_flight; /* keys that are out */
    size_t delayed;   /* keys that are delayed */
};
void workqueue_stats(struct workqueue *queue, struct workqueue_stats *ret);

#endif
