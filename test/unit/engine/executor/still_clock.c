#include "test/unit/engine/executor/still_clock.h"

#include <stddef.h>

struct still_waiter {
    pthread_cond_t *condition;
    pthread_mutex_t *mutex;
    int64_t until;
    struct still_waiter *next, **link;
};

/* The table's functions get it as a constant. */
static struct still_clock *of(const struct clock_source *source)
{
    return (struct still_clock *)(uintptr_t)source;
}

static int64_t monotonic(const struct clock_source *source)
{
    struct still_clock *clock = of(source);
    int64_t now;

    pthread_mutex_lock(&clock->lock);
    now = clock->now;
    pthread_mutex_unlock(&clock->lock);
    return now;
}

static void wait_until(const struct clock_source *source, pthread_cond_t *condition,
                       pthread_mutex_t *mutex, int64_t until)
{
    struct still_clock *clock = of(source);
    struct still_waiter waiter = {.condition = condition, .mutex = mutex, .until = until};

    pthread_mutex_lock(&clock->lock);
    if (until <= clock->now) {
        pthread_mutex_unlock(&clock->lock);
        return;
    }
    waiter.next = clock->waiters;
    waiter.link = &clock->waiters;
    if (waiter.next)
        waiter.next->link = &waiter.next;
    clock->waiters = &waiter;
    clock->n_waiters++;
    pthread_mutex_unlock(&clock->lock);
    pthread_cond_wait(condition, mutex);
    pthread_mutex_lock(&clock->lock);
    *waiter.link = waiter.next;
    if (waiter.next)
        waiter.next->link = waiter.link;
    clock->n_waiters--;
    pthread_mutex_unlock(&clock->lock);
}

void still_clock_init(struct still_clock *clock, int64_t now)
{
    *clock = (struct still_clock){
        .source = {.now = monotonic, .monotonic = monotonic, .wait = wait_until}, .now = now};
    pthread_mutex_init(&clock->lock, NULL);
}

void still_clock_done(struct still_clock *clock)
{
    pthread_mutex_destroy(&clock->lock);
}

/* The mutex of those who wait: one for all of them, here. */
static pthread_mutex_t *mutex_of_due(struct still_clock *clock)
{
    pthread_mutex_t *mutex = NULL;

    pthread_mutex_lock(&clock->lock);
    for (struct still_waiter *waiter = clock->waiters; waiter; waiter = waiter->next)
        if (waiter->until <= clock->now)
            mutex = waiter->mutex;
    pthread_mutex_unlock(&clock->lock);
    return mutex;
}

/* A waiter leaves the list with its mutex held: so with that, those that are there do wait. */
void still_clock_advance(struct still_clock *clock, int64_t ms)
{
    pthread_mutex_t *mutex;

    pthread_mutex_lock(&clock->lock);
    clock->now += ms;
    pthread_mutex_unlock(&clock->lock);
    mutex = mutex_of_due(clock);
    if (!mutex)
        return;
    pthread_mutex_lock(mutex);
    pthread_mutex_lock(&clock->lock);
    for (struct still_waiter *waiter = clock->waiters; waiter; waiter = waiter->next)
        if (waiter->until <= clock->now)
            pthread_cond_signal(waiter->condition);
    pthread_mutex_unlock(&clock->lock);
    pthread_mutex_unlock(mutex);
}

unsigned still_clock_waiters(struct still_clock *clock)
{
    unsigned n_waiters;

    pthread_mutex_lock(&clock->lock);
    n_waiters = clock->n_waiters;
    pthread_mutex_unlock(&clock->lock);
    return n_waiters;
}
