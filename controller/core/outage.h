/*
 * What keeps something from working for the moment: told by who tries, asked by
 * who wants to know whether it is ready. It is worth a line in the log when it
 * begins, when its reason changes, and every minute while it lasts.
 *
 * Thread-safe.
 */
#ifndef CONTROLLER_CORE_OUTAGE_H
#define CONTROLLER_CORE_OUTAGE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/base/buf.h"
#include "engine/base/error.h"

struct outage {
    pthread_mutex_t lock;
    struct error error; /* no code: none, or nothing is known yet */
    const char *pending; /* what is waited for, until that is known; NULL: it is */
    int64_t began_at, logged_at;
};

/* pending: of static storage; it is an outage until it ends for the first time. */
void outage_init(struct outage *outage, const char *pending);
void outage_done(struct outage *outage);

/* A try failed, at `now` (ms, monotonic). True: a line in the log is due. */
bool outage_goes_on(struct outage *outage, const struct error *error, int64_t now);
void outage_ends(struct outage *outage);

/* ms since the first failure of the one that there is; 0: there is none, or nothing is known yet.
 * */
int64_t outage_lasts(struct outage *outage, int64_t now);

/* Whether there is one, and which: "AccessDenied: …"; to may be NULL. */
bool outage_is(struct outage *outage, struct buf *to);

#endif
