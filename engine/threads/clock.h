/*
 * A clock, which is passed in: the engine has no clock of its own. runtimes/io/clock.h has the real
 * clock; tests use a fake one that they advance.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>

#define CLOCK_FOREVER INT64_MAX

struct clock_source {
    /* Wall time, ms since 1970 UTC: for what people read. */
    int64_t (*now)(const struct clock_source *clock);
    /* ms since some start. Never jumps, and continues while the machine sleeps. */
    int64_t (*monotonic)(const struct clock_source *clock);
    /* Waits on the condition, mutex held, until signalled or until monotonic()
     * reaches `until` (CLOCK_FOREVER: no limit). May wake early. */
    void (*wait)(const struct clock_source *clock, pthread_cond_t *condition,
                 pthread_mutex_t *mutex, int64_t until);
};
