/*
 * Time that stands still until a test moves it. Nobody wakes early: a thread
 * that waits is woken by its condition, or by the time that it waits for.
 */
#pragma once

#include "engine/threads/clock.h"

struct still_waiter;

struct still_clock {
    struct clock_source source; /* first member */
    pthread_mutex_t lock;       /* taken after those that waiters hold */
    int64_t now;
    struct still_waiter *waiters;
    unsigned n_waiters;
};

void still_clock_init(struct still_clock *clock, int64_t now);
void still_clock_done(struct still_clock *clock);
void still_clock_advance(struct still_clock *clock, int64_t ms);
unsigned still_clock_waiters(struct still_clock *clock); /* threads that wait */
