/*
 * A source of keys that does what a test says: it counts its calls, fails, and waits. And a clock
 * that a test moves on.
 */
#pragma once

#include <pthread.h>

#include "engine/threads/clock.h"
#include "runtimes/seal/source.h"

enum fake_call { FAKE_CURRENT, FAKE_WRAP, FAKE_UNWRAP, FAKE_CALLS };

struct fake_source {
    struct seal_source base;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const char *key;        /* of current() and wrap() */
    bool fails[FAKE_CALLS]; /* ERR_TIMEOUT */
    bool exchanges;         /* unwrap() gives another seed */
    bool holds;             /* unwrap() waits until it does not */
    unsigned calls[FAKE_CALLS];
};

void fake_source_init(struct fake_source *fake); /* its ops->free() does nothing */
void fake_source_done(struct fake_source *fake);
unsigned fake_source_calls(struct fake_source *fake, enum fake_call call);
/* Waits until so many of the calls have begun. */
void fake_source_wait(struct fake_source *fake, enum fake_call call, unsigned count);
void fake_source_release(struct fake_source *fake); /* those that it holds */

/* The real clock, and so many ms later. */
extern const struct clock_source late_clock;
void late_clock_add(int64_t ms);
