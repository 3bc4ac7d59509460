/*
 * Condition variables for clock_source.wait(): the real clock waits on them until a time of
 * CLOCK_MONOTONIC (runtimes/io/clock.c).
 */
#pragma once

#include <pthread.h>

/* pthread_cond_destroy() ends it. */
void condition_init(pthread_cond_t *condition);
