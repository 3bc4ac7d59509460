/*
 * A queue of keys to reconcile. A key is in it at most once, and only one worker has it at a time.
 *
 * A key is delayed (until some time), ready, or out (from workqueue_get() to workqueue_done()). A
 * key that is added while it is out becomes ready when it is done. If several times are asked for,
 * the earliest counts: a delay of a ready key is ignored, and a key that becomes ready loses its
 * delay. Of several priorities, the highest counts. Nothing is lost by that: each reconcile says
 * when it wants to see the key again.
 *
 * A key is "namespace/name". Keys come out in this order:
 *   1. by priority; work that is begun and changes are one,
 *   2. within a priority: namespaces take turns (round robin), so a thousand keys of one namespace
 *      do not delay those of another,
 *   3. within a namespace: work that is begun before changes,
 *   4. then in the order in which they became ready with this priority.
 * Every eighth turn goes to the key that has been ready for the longest time, so no priority
 * starves.
 *
 * Failures are counted by key, until workqueue_forget(). The delay of a retry doubles with each
 * failure, up to 5 min; of this, a random part between half and all is used.
 *
 * Thread-safe.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "engine/threads/clock.h"

#define WORKQUEUE_RETRY_MAXIMUM 300000 /* ms */

/* Higher ones first. Begun work goes first in its namespace: else a thousand new keys would all be
 * begun before the first of them is done. */
enum workqueue_priority {
    WORKQUEUE_RESYNC, /* a regular check; also what was there when the process started */
    WORKQUEUE_RETRY,  /* after a failure */
    WORKQUEUE_CHANGE, /* a new object, generation or deletion; a status that is due */
    WORKQUEUE_BEGUN,  /* an operation goes on; the last: workqueue.c keeps it with the changes */
};

/* For metrics. */
enum workqueue_event {
    WORKQUEUE_ADDED,   /* a key became ready, or will when it is done */
    WORKQUEUE_RETRIED, /* workqueue_add_rate_limited() */
    WORKQUEUE_TAKEN,   /* ms: for which it was ready */
    WORKQUEUE_DONE,    /* ms: for which it was out */
};
/* Called with the queue's lock: it is quick, and does not call the queue. */
typedef void workqueue_observe(void *arg, enum workqueue_event event, int64_t ms);

struct workqueue;

/* observe: NULL: nobody. */
struct workqueue *workqueue_new(const struct clock_source *clock, workqueue_observe *observe,
                                void *arg);
void workqueue_free(struct workqueue *queue); /* only when no thread uses it any more */

/* Keys are copied. After workqueue_shut_down() these do nothing. */
void workqueue_add(struct workqueue *queue, const char *key, enum workqueue_priority priority);
void workqueue_add_after(struct workqueue *queue, const char *key, int64_t delay_ms,
                         enum workqueue_priority priority);
/* After the delay of its failures, of which this is one; WORKQUEUE_RETRY. first: ms, the delay of
 * the first failure, and the smallest of all. */
void workqueue_add_rate_limited(struct workqueue *queue, const char *key, int64_t first);
void workqueue_forget(struct workqueue *queue, const char *key); /* forgets its failures alone */

/* Blocks until a key is ready. The caller calls workqueue_done() with it, and frees it. NULL: the
 * queue was shut down. */
char *workqueue_get(struct workqueue *queue);
void workqueue_done(struct workqueue *queue, const char *key);

/* All blocked gets return NULL at once; what was ready stays behind. */
void workqueue_shut_down(struct workqueue *queue);

struct workqueue_stats {
    size_t depth;     /* ready */
    size_t in_flight; /* out */
    size_t delayed;
    int64_t oldest; /* ms for which the oldest of those that are ready has been so; 0: none is */
    int64_t stuck;  /* ms for which keys have been ready, and none was taken; 0: none is ready */
};
void workqueue_stats(struct workqueue *queue, struct workqueue_stats *ret);
