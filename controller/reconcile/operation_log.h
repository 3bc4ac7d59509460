/*
 * What is heard of an operation while it happens: a line in the log where it
 * begins and one where it ends, and metrics of the end. (What is told of it
 * afterwards, and for good, is its Release.)
 *
 *   info  "operation started"                      info  "operation succeeded"
 *                                                  warn  "operation failed"
 *                                                  info  "operation cancelled"
 *                                                  info  "operation evicted"
 *
 * A retry is no news until it ends otherwise than the try before it: until then
 * its lines are of level debug.
 */
#ifndef CONTROLLER_RECONCILE_OPERATION_LOG_H
#define CONTROLLER_RECONCILE_OPERATION_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "controller/serve/metrics.h"
#include "engine/base/error.h"
#include "engine/release/release.h"

struct run;
struct release;

struct operation_metrics {
    struct metric *total, *seconds, *evictions;
};

void operation_metrics_init(struct operation_metrics *to, struct metrics *metrics);

struct operation_log {
    enum release_operation operation;
    int64_t started;   /* ms, monotonic */
    char release[254]; /* its name; "": none */
    int64_t revision;  /* 0: none */
    bool is_begun;     /* its first line was written, at info */
    bool is_ended;     /* its last was written */
};

/* Time counts from here; nothing is said yet: there may be nothing to do. */
void operation_log_start(struct run *run, enum release_operation operation);

/* The Release that it works under, once there is one; NULL is accepted. */
void operation_log_release(struct run *run, const struct release *release);

/* There is something to do. */
void operation_log_begin(struct run *run, int64_t revision, bool is_retry);

/* Its end, told once: what comes after that is not told any more. */
void operation_log_success(struct run *run, const char *summary);

/* Or was cancelled, as the error's code says. is_repeated: the last try ended the same way. */
void operation_log_failure(struct run *run, const struct error *failure, bool is_repeated);

/* It is put off for the memory that it holds, and begun again later: counted apart. */
void operation_log_eviction(struct run *run);

#endif
