/*
 * Threads: named, with a stack of known size, so that memory does not depend on the machine's
 * ulimit, and without signals, which belong to the process' signal thread.
 */
#pragma once

#include <pthread.h>

#include "engine/base/error.h"

#define THREAD_NAME_SIZE 16 /* what the kernel keeps, terminated; longer names are cut */

/* Bytes of stack. */
#define THREAD_SMALL (256u << 10) /* of loops, and of calls, of which there are many */
#define THREAD_LARGE (1u << 20)   /* of work that goes deep */

/* ERR_UNAVAILABLE ThreadNotStarted. */
int thread_start(const char *name, size_t stack, void *(*run)(void *arg), void *arg, pthread_t *ret,
                 struct error *error);
/* Large. Aborts where there can be no thread, as mem.h does for memory. */
pthread_t thread_must_start(const char *name, void *(*run)(void *arg), void *arg);
