#include "runtimes/io/clock.h"

#include <assert.h>
#include <time.h>

/* pthread conditions cannot use CLOCK_BOOTTIME, and CLOCK_MONOTONIC stops while the machine sleeps.
 * So a wait is cut into slices, and is late by at most one slice after a sleep. */
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

int64_t clock_thread_cpu(void)
{
    return clock_ms(CLOCK_THREAD_CPUTIME_ID);
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
    /* Both clocks are cut to ms, so 1 ms is added to avoid waking too early. */
    limit = monotonic_after((left < WAIT_SLICE_MS ? left : WAIT_SLICE_MS) + 1);
    pthread_cond_timedwait(condition, mutex, &limit);
}

const struct clock_source system_clock = {
    .now = system_now,
    .monotonic = system_monotonic,
    .wait = system_wait,
};
