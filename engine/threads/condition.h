/*
 * Condition variables for clock_source.wait(): the real clock waits on them until a time of
 * CLOCK_MONOTONIC (runtimes/io/clock.c).
 */
#ifndef ENGINE_THREADS_CONDITION_H
#define ENGINE_THREADS_CONDITION_H

#include <pthread.h>

/* pthread_cond_destroy() ends it. */
void condition_init(pthread_cond_t *condition);

#endif
