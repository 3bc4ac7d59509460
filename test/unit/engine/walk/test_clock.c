#include "test/unit/engine/walk/test_clock.h"

#include <time.h>

static int64_t monotonic(const struct clock_source *clock)
{
    struct timespec now;

    (void)clock;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void wait_until(const struct clock_source *clock, pthread_cond_t *condition,
                       pthread_mutex_t *mutex, int64_t until)
{
    struct timespec limit = {.tv_sec = (time_t)(until / 1000),
                             .tv_nsec = (long)(until % 1000) * 1000000};

    (void)clock;
    if (until == CLOCK_FOREVER)
        pthread_cond_wait(condition, mutex);
    else
        pthread_cond_timedwait(condition, mutex, &limit);
}

const struct clock_source test_clock = {
    .now = monotonic, .monotonic = monotonic, .wait = wait_until};

int64_t jumping_now;

static int64_t jumping_monotonic(const struct clock_source *clock)
{
    (void)clock;
    return jumping_now;
}

static void jump(const struct clock_source *clock, pthread_cond_t *condition,
                 pthread_mutex_t *mutex, int64_t until)
{
    (void)clock, (void)condition, (void)mutex;
    if (until > jumping_now)
        jumping_now = until;
}

const struct clock_source jumping_clock = {
    .now = jumping_monotonic, .monotonic = jumping_monotonic, .wait = jump};
