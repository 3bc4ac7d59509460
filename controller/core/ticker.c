#include "controller/core/ticker.h"

#include <stdbool.h>

#include "engine/base/mem.h"
#include "engine/threads/condition.h"
#include "engine/threads/locked.h"
#include "engine/threads/thread.h"
#include "runtimes/io/clock.h"

struct ticker {
    const struct clock_source *clock;
    int64_t interval;
    void (*fn)(void *arg);
    void *arg;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stopped;
    bool is_stopping;
};

/* False: it is over. */
static bool pause_for_interval(struct ticker *ticker)
{
    const struct clock_source *clock = ticker->clock;
    int64_t until = clock->monotonic(clock) + ticker->interval;
    LOCKED(&ticker->lock);
    while (!ticker->is_stopping && clock->monotonic(clock) < until)
        clock->wait(clock, &ticker->stopped, &ticker->lock, until);
    return !ticker->is_stopping;
}

static void *run(void *arg)
{
    struct ticker *ticker = arg;

    while (pause_for_interval(ticker))
        ticker->fn(ticker->arg);
    return NULL;
}

struct ticker *ticker_new(const struct clock_source *clock, const char *name, int64_t interval,
                          void (*fn)(void *arg), void *arg)
{
    struct ticker *ticker = NEW(struct ticker);

    *ticker = (struct ticker){.clock = clock, .interval = interval, .fn = fn, .arg = arg};
    pthread_mutex_init(&ticker->lock, NULL);
    condition_init(&ticker->stopped);
    ticker->thread = thread_must_start(name, run, ticker);
    return ticker;
}

void ticker_free(struct ticker *ticker)
{
    if (!ticker)
        return;
    pthread_mutex_lock(&ticker->lock);
    ticker->is_stopping = true;
    pthread_cond_signal(&ticker->stopped);
    pthread_mutex_unlock(&ticker->lock);
    pthread_join(ticker->thread, NULL);
    pthread_cond_destroy(&ticker->stopped);
    pthread_mutex_destroy(&ticker->lock);
    free(ticker);
}
