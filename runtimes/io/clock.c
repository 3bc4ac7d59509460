#include "runtimes/io/clock.h"

#include <assert.h>
#include <limits.h>
#include <time.h>

/* A condition cannot be timed by CLOCK_BOOTTIME, and CLOCK_MONOTONIC stands still while the
 * machine sleeps: a wait is cut into slices, so that afterwards it is late by one at most. */
#define WAIT_SLICE_MS 5000

static int64_t clock_ms(clockid_t id)
{
    struct timespec time;
    int r = clock_gettime(id, &time);

    assert(r == 0);
    (void)r;
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static int64_t system_now(const struct clock_source *clock)
{
    (void)clock;
    return clock_ms(CLOCK_REALTIME);
}

static int64_t system_monotonic(const struct clock_source *clock)
{
    (void)clock;
    return clock_ms(CLOCK_BOOTTIME);
}

static struct timespec monotonic_after(int64_t ms)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_sec += (time_t)(ms / 1000);
    time.tv_nsec += (long)(ms % 1000) * 1000000;
    if (time.tv_nsec >= 1000000000) {
        time.tv_sec++;
        time.tv_nsec -= 1000000000;
    }
    return time;
}

static void system_wait(const struct clock_source *clock, pthread_cond_t *condition,
                        pthread_mutex_t *mutex, int64_t until)
{
    struct timespec limit;
    int64_t now, left;

    if (until == CLOCK_FOREVER) {
        pthread_cond_wait(condition, mutex);
        return;
    }
    now = system_monotonic(clock);
    if (until <= now)
        return;
    left = until - now;
    /* Both clocks drop what is below a millisecond: one more, so as not to wake just before. */
    limit = monotonic_after((left < WAIT_SLICE_MS ? left : WAIT_SLICE_MS) + 1);
    pthread_cond_timedwait(condition, mutex, &limit);
}

const struct clock_source system_clock = {
    .now = system_now,
    .monotonic = system_monotonic,
    .wait = system_wait,
};

void system_clock_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}
