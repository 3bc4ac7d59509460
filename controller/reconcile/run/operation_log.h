/*
 * The log and the metrics of an operation: a line when it begins and one when it ends, and metrics
 * of its end. (Its Release is the lasting record.)
 *
 *   info  "operation started"                      info  "operation succeeded"
 *                                                  warn  "operation failed"
 *                                                  info  "operation cancelled"
 *                                                  info  "operation evicted"
 *
 * The lines of a retry have the level debug, unless it ends differently from the try before it.
 */
#pragma once

#include "controller/reconcile/run/run.h"
#include "controller/serve/metrics.h"

struct operation_metrics {
    struct metric *total, *seconds, *evictions, *corrections, *drifts;
};

void operation_metrics_init(struct operation_metrics *to, struct metrics *metrics);

/* Time counts from here. Logs nothing yet: there may be nothing to do. */
void operation_log_start(struct run *run, enum release_operation operation);

/* The operation's Release, once there is one; NULL is accepted. */
void operation_log_release(struct run *run, const struct release *release);

/* There is something to do: the first line. */
void operation_log_begin(struct run *run, int64_t revision, bool is_retry);

/* The operation waits until a person approves its plan. digest, summary: of the plan. */
void operation_log_awaiting(const struct run *run, const char *digest, const char *summary);

/* The last line. Only the first end of an operation is logged and counted. */
void operation_log_success(struct run *run, const char *summary);

/* The operation failed, or was cancelled (ERR_CANCELLED). is_repeated: the last try ended the same
 * way. */
void operation_log_failure(struct run *run, const struct error *failure, bool is_repeated);

/* The operation was evicted, and begins again later. It is counted apart. */
void operation_log_eviction(struct run *run);

/* A check changed objects back; counted. */
void operation_log_correction(const struct run *run);
