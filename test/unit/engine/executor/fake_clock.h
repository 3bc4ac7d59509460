/*
 * Time that stands still until a test moves it. Nobody wakes early: a thread
 * that waits is woken by its condition, or by the time that it waits for.
 */
#ifndef TEST_UNIT_ENGINE_EXECUTOR_FAKE_CLOCK_H
#define TEST_UNIT_ENGINE_EXECUTOR_FAKE_CLOCK_H

#include "engine/base/clock.h"

struct fake_waiter;

struct fake_clock {
    struct clock_source source; /* first member */
    pthread_mutex_t lock;       /* taken after those that waiters hold */
    int64_t now;
    struct fake_waiter *waiters;
    unsigned n_waiters;
};

void fake_clock_init(struct fake_clock *clock, int64_t now);
void fake_clock_done(struct fake_clock *clock);
void fake_clock_advance(struct fake_clock *clock, int64_t ms);
unsigned fake_clock_waiters(struct fake_clock *clock); /* threads that wait */

#endif
