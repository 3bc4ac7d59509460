#include "runtimes/kubernetes/client/pause.h"

#include <pthread.h>

#include "engine/threads/condition.h"
#include "engine/threads/locked.h"
#include "runtimes/io/clock.h"

struct pause {
    pthread_mutex_t lock;
    pthread_cond_t condition;
    bool ended;
};

static void end_pause(void *arg)
{
    struct pause *pause = arg;
    LOCKED(&pause->lock);

    pause->ended = true;
    pthread_cond_signal(&pause->condition);
}

bool pause_for(int64_t delay, struct cancel *cancel)
{
    int64_t until = system_clock.monotonic(&system_clock) + delay;
    struct pause pause = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct cancel_listener *listener = NULL;
    bool ended;

    condition_init(&pause.condition);
    if (cancel)
        listener = cancel_listen(cancel, end_pause, &pause);
    pthread_mutex_lock(&pause.lock);
    while (!pause.ended && system_clock.monotonic(&system_clock) < until)
        system_clock.wait(&system_clock, &pause.condition, &pause.lock, until);
    ended = pause.ended;
    pthread_mutex_unlock(&pause.lock);
    if (cancel)
        cancel_unlisten(cancel, listener);
    pthread_cond_destroy(&pause.condition);
    pthread_mutex_destroy(&pause.lock);
    return !ended;
}
