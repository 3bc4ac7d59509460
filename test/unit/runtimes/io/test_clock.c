#include "engine/threads/condition.h"
#include "runtimes/io/clock.h"

#include <time.h>
#include <unistd.h>

#include "test/unit/suite.h"

static const struct clock_source *const real = &system_clock;

struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int woken;
};

static void waiter_init(struct waiter *waiter)
{
    pthread_mutex_init(&waiter->lock, NULL);
    condition_init(&waiter->changed);
    waiter->woken = 0;
}

static void waiter_done(struct waiter *waiter)
{
    pthread_cond_destroy(&waiter->changed);
    pthread_mutex_destroy(&waiter->lock);
}

static void tells_the_wall_time(void)
{
    int64_t now = real->now(real), seconds = (int64_t)time(NULL);

    CU_ASSERT(now >= (seconds - 2) * 1000 && now <= (seconds + 2) * 1000);
}

static void goes_on_at_the_same_pace(void)
{
    int64_t wall = real->now(real), start = real->monotonic(real), passed;

    usleep(30000);
    passed = real->monotonic(real) - start;
    CU_ASSERT(passed >= 29);
    CU_ASSERT(passed <= real->now(real) - wall + 5);
}

static void waits_until_its_limit(void)
{
    struct waiter waiter;
    int64_t until;

    waiter_init(&waiter);
    pthread_mutex_lock(&waiter.lock);
    until = real->monotonic(real) + 50;
    while (real->monotonic(real) < until)
        real->wait(real, &waiter.changed, &waiter.lock, until);
    CU_ASSERT(real->monotonic(real) < until + 5000);
    pthread_mutex_unlock(&waiter.lock);
    waiter_done(&waiter);
}

static void does_not_wait_for_what_has_passed(void)
{
    static const int64_t passed[] = {0, -1, INT64_MIN};
    struct waiter waiter;

    waiter_init(&waiter);
    pthread_mutex_lock(&waiter.lock);
    for (size_t i = 0; i < 3; i++)
        real->wait(real, &waiter.changed, &waiter.lock, passed[i]);
    pthread_mutex_unlock(&waiter.lock);
    waiter_done(&waiter);
}

static void *wake(void *arg)
{
    struct waiter *waiter = arg;

    usleep(20000);
    pthread_mutex_lock(&waiter->lock);
    waiter->woken = 1;
    pthread_cond_signal(&waiter->changed);
    pthread_mutex_unlock(&waiter->lock);
    return NULL;
}

static void wakes_when_signalled(void)
{
    static const int64_t limits[] = {CLOCK_FOREVER, CLOCK_FOREVER - 1};

    for (size_t i = 0; i < 2; i++) {
        struct waiter waiter;
        pthread_t thread;

        waiter_init(&waiter);
        pthread_mutex_lock(&waiter.lock);
        CU_ASSERT_FATAL(pthread_create(&thread, NULL, wake, &waiter) == 0);
        while (!waiter.woken)
            real->wait(real, &waiter.changed, &waiter.lock, limits[i]);
        pthread_mutex_unlock(&waiter.lock);
        pthread_join(thread, NULL);
        waiter_done(&waiter);
    }
}

SUITE(clock, TEST(tells_the_wall_time), TEST(goes_on_at_the_same_pace), TEST(waits_until_its_limit),
      TEST(does_not_wait_for_what_has_passed), TEST(wakes_when_signalled))
