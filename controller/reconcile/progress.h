/*
 * What an operation waits for, while it does: a status that says no more than
 * "applying" for minutes tells nobody where to look.
 */
#ifndef CONTROLLER_RECONCILE_PROGRESS_H
#define CONTROLLER_RECONCILE_PROGRESS_H

#include <pthread.h>
#include <stdint.h>

#include "engine/operation/operation.h"

#define PROGRESS_FIRST 5000     /* ms of waiting, after which it is said for what */
#define PROGRESS_INTERVAL 30000 /* ms between two that say something else */

struct run;

struct run_progress {
    const char *doing; /* "applying"; NULL: nothing is said */
    int64_t due;       /* ms, monotonic: when the next may be said */
    pthread_mutex_t mutex;
};

/* From here on, until progress_end(), the Spec's status may be written by the operation's threads:
 * the run's own leaves it alone. doing: of static storage. */
void progress_begin(struct run *run, const char *doing);
void progress_end(struct run *run);

/* operation_config's on_pending. arg: the run. */
void progress_on_pending(void *arg, const struct operation_result *result);

#endif
