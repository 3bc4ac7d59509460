/*
 * Keys that wait to be reconciled: each at most once, and never out twice at
 * the same time.
 *
 * A key is nowhere, or due at some time, or ready, or out (from get to done);
 * one that is added while it is out is ready again when it is done. Of
 * several times that are asked for, the earliest counts: a key that is ready
 * is not delayed too, and making it ready drops its delay. That is enough,
 * since who reconciles a key says afterwards when it wants to see it again.
 *
 * Keys come out in the order in which they became ready, but those of work that
 * was begun (workqueue_add_first) before all others: else a thousand new keys
 * would all be begun before the first of them is done.
 *
 * Failures are counted for each key until they are forgotten; the delay grows
 * with them (1 s doubled each time, at most 5 min, of that a random half to
 * whole). Thread-safe.
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
void workqueue_free(struct workqueue *queue); /* when nobody is in it any more */

/* Keys are copied. After a shut down these do nothing. */
void workqueue_add(struct workqueue *queue, const char *key);
void workqueue_add_after(struct workqueue *queue, const char *key, int64_t delay_ms);
void workqueue_add_first(struct workqueue *queue, const char *key);
void workqueue_add_rate_limited(struct workqueue *queue, const char *key);
void workqueue_forget(struct workqueue *queue, const char *key); /* its failures, not the key */

/* Blocks; the key is the caller's to free() and to say done of. NULL: shut down. */
char *workqueue_get(struct workqueue *queue);
void workqueue_done(struct workqueue *queue, const char *key);

/* Whoever waits gets NULL at once; what was ready stays behind. */
void workqueue_shut_down(struct workqueue *queue);

struct workqueue_stats {
    uint64_t adds;    /* times that a key became ready, or will when it is done */
    uint64_t retries; /* rate-limited ones that were asked for */
    size_t depth;     /* ready */
    size_t in_flight; /* out */
    size_t delayed;
};
void workqueue_stats(struct workqueue *queue, struct workqueue_stats *ret);

#endif
