/*
 * The controller's threads: named, and with a stack of known size, so that
 * memory does not depend on the machine's ulimit.
 */
#ifndef CONTROLLER_CORE_THREAD_H
#define CONTROLLER_CORE_THREAD_H

#include <pthread.h>

#define THREAD_STACK_BYTES (1u << 20)
#define THREAD_NAME_SIZE 16 /* what the kernel keeps, terminated; longer names are cut */

/* Starts a thread; aborts where there can be none, as mem.h does for memory. */
pthread_t thread_start(const char *name, void *(*run)(void *arg), void *arg);

#endif
