/*
 * An outage: something does not work at the moment. The thread that tries it reports failures and
 * the end; others ask if there is an outage, since when, and why. An outage is logged when it
 * begins, when its reason changes, and every minute.
 *
 * Thread-safe.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/base/buf.h"
#include "engine/base/error.h"

struct outage {
    pthread_mutex_t lock;
    struct error error;  /* of the last failure; code 0: no outage, or nothing was tried yet */
    const char *pending; /* why nothing is known yet; NULL after the first success */
    int64_t began_at, logged_at; /* ms, monotonic */
};

/* Until the first success there is an outage. pending: its reason while nothing was tried; in
 * static storage. */
void outage_init(struct outage *outage, const char *pending);
void outage_done(struct outage *outage);

/* Reports a failure at `now` (ms, monotonic). True: the caller has to log it. */
bool outage_goes_on(struct outage *outage, const struct error *error, int64_t now);
/* Reports a success. */
void outage_ends(struct outage *outage);

/* ms since the first failure of this outage; 0: there is none, or nothing was tried yet. */
int64_t outage_lasts(struct outage *outage, int64_t now);

/* Whether there is an outage; appends its reason ("AccessDenied"), and not the message: that has
 * addresses and names, and probes are answered whoever asks. to: may be NULL. */
bool outage_is(struct outage *outage, struct buf *to);
