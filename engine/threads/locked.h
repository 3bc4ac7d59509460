/* A mutex that is held to the end of the block: LOCKED(&desk->lock); */
#pragma once

#include <pthread.h>

#include "engine/base/cleanup.h"

static inline pthread_mutex_t *locked_begin(pthread_mutex_t *lock)
{
    pthread_mutex_lock(lock);
    return lock;
}

static inline void locked_end(pthread_mutex_t **lock)
{
    pthread_mutex_unlock(*lock);
}

#define LOCKED(lock) \
    _cleanup_(locked_end) __attribute__((unused)) pthread_mutex_t *locked_ = locked_begin(lock)
