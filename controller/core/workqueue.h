/*
 * Keys that wait to be reconciled: each at most once, and never out twice at
 * the same time.
 *
 * A key is nowhere, or due at some time, or ready, or out (from get to done);
 * one that is added while it is out is ready again when it is done. Of
 * several times that are asked for, the earliest counts: a key that is ready
 * is not delayed too, and making it ready drops its delay. Of several
 * priorities, the highest counts. That is enough, since the reconciler of a key
 * says afterwards when it wants to see the key again.
 *
 * A key is "namespace/name". Keys come out in this order:
 *   1. by priority,
 *   2. within a priority: namespaces take turns (round robin), so a thousand
 *      keys of one namespace do not delay those of another,
 *   3. within a namespace: as they became ready.
 * Every eighth turn goes to the key that has been ready for the longest time,
 * so no priority starves.
 *
 * Failures are counted for each key until they are forgotten. The delay grows
 * with them: it doubles each time, up to 5 min, and of that a random half to
 * whole is taken. Thread-safe.
 */
#ifndef CONTROLLER_CORE_WORKQUEUE_H
#define CONTROLLER_CORE_WORKQUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/clock.h"

#define WORKQUEUE_RETRY_MAXIMUM 300000 /* ms */

/* Higher ones first. Begun work goes first: else a thousand new keys would all be begun before the
 * first of them is done. */
enum workqueue_priority {
    WORKQUEUE_RESYNC, /* a regular check; also what was there when the process started */
    WORKQUEUE_RETRY,  /* after a failure */
    WORKQUEUE_CHANGE, /* a new object, generation or deletion */
    WORKQUEUE_BEGUN,  /* an operation goes on */
    WORKQUEUE_PRIORITIES
};

struct workqueue;

struct workqueue *workqueue_new(const struct clock_source *clock);
void workqueue_free(struct workqueue *queue); /* when nobody is in it any more */

/* Keys are copied. After a shut down these do nothing. */
void workqueue_add(struct workqueue *queue, const char *key, enum workqueue_priority priority);
void workqueue_add_after(struct workqueue *queue, const char *key, int64_t delay_ms,
                         enum workqueue_priority priority);
/* After the delay of its failures, of which this is one; WORKQUEUE_RETRY. first: ms, the delay of
 * the first failure, and the smallest of all. */
void workqueue_add_rate_limited(struct workqueue *queue, const char *key, int64_t first);
void workqueue_forget(struct workqueue *queue, const char *key); /* its failures, not the key */

/* Blocks; the key is the caller's to free() and to say done of. NULL: shut down. */
char *workqueue_get(struct workqueue *queue);
void workqueue_done(struct workqueue *queue, const char *key);

/* All blocked gets return NULL at once; what was ready stays behind. */
void workqueue_shut_down(struct workqueue *queue);

struct workqueue_stats {
    uint64_t adds;    /* times that a key became ready, or will when it is done */
    uint64_t retries; /* rate-limited ones that were asked for */
    size_t depth;     /* ready */
    size_t in_flight; /* out */
    size_t delayed;
    int64_t oldest; /* ms for which the oldest of those that are ready has been so; 0: none is */
    int64_t stuck;  /* ms for which keys have been ready, and none was taken; 0: none is ready */
};
void workqueue_stats(struct workqueue *queue, struct workqueue_stats *ret);

#endif
