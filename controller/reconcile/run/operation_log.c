#include "controller/reconcile/run/operation_log.h"

#include <stdio.h>

#include "controller/reconcile/status/reason.h"
#include "engine/base/str.h"
#include "engine/log/log.h"

typedef void log_function(const char *message, ...);

static const char *const names[] = {
    [RELEASE_APPLY] = "apply",
    [RELEASE_PREVIEW] = "preview",
    [RELEASE_DESTROY] = "destroy",
    [RELEASE_ROLLBACK] = "rollback",
};

/* A counter that appears with its first count has no increase to be seen: that one would be missed.
 */
static void show_from_the_start(const struct operation_metrics *metrics)
{
    metric_add(metrics->corrections, 0, NULL);
    metric_add(metrics->drifts, 0, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        metric_add(metrics->evictions, 0, names[i], NULL);
}

void operation_metrics_init(struct operation_metrics *to, struct metrics *metrics)
{
    to->total = metrics_counter(metrics, "kusion_operations_total",
                                "Operations that ended, by result and reason. Each retry counts.",
                                "operation", "result", "reason", NULL);
    to->seconds = metrics_histogram(metrics, "kusion_operation_duration_seconds",
                                    "Duration of operations.", "operation", NULL);
    to->evictions =
        metrics_counter(metrics, "kusion_operation_evictions_total",
                        "Operations that were evicted to free their memory.", "operation", NULL);
    to->corrections = metrics_counter(metrics, "kusion_drift_corrections_total",
                                      "Checks that changed objects back.", NULL);
    to->drifts = metrics_counter(metrics, "kusion_drift_warnings_total",
                                 "Drift that was told and not corrected (mode warn).", NULL);
    show_from_the_start(to);
}

void operation_log_start(struct run *run, enum release_operation operation)
{
    run->log = (struct run_log){.operation = operation, .started = context_monotonic(run->context)};
}

void operation_log_release(struct run *run, const struct release *release)
{
    if (!release)
        return;
    str_copy(run->log.release, sizeof(run->log.release), release->name);
    run->log.revision = release->revision;
}

/* ---- The log ---- */

static const char *number(char text[24], int64_t number)
{
    snprintf(text, 24, "%lld", (long long)number);
    return text;
}

/* The fields that all lines have, and, where there is a reason, those of an end. */
static void write_line(const struct run *run, log_function *log, const char *message,
                       const char *reason, const char *summary, const char *error)
{
    const struct run_log *own = &run->log;
    char generation[24], revision[24], duration[24];

    log(message, "namespace", run->subject.key.namespace_name, "spec", run->subject.key.name,
        "operation", names[own->operation], "generation",
        run->subject.generation ? number(generation, run->subject.generation) : NULL, "release",
        *own->release ? own->release : NULL, "revision",
        own->revision ? number(revision, own->revision) : NULL, "reason", reason, "summary",
        summary, "error", error, "durationMs",
        reason ? number(duration, context_monotonic(run->context) - own->started) : NULL, NULL);
}

void operation_log_begin(struct run *run, int64_t revision, bool is_retry)
{
    run->log.revision = revision;
    run->log.is_begun = !is_retry;
    write_line(run, is_retry ? log_debug : log_info, "operation started", NULL, NULL, NULL);
}

/* ---- The end ---- */

static void count(const struct run *run, const char *result, const char *reason)
{
    const struct operation_metrics *metrics = run->context->metrics;
    const char *operation = names[run->log.operation];

    if (!metrics)
        return;
    metric_add(metrics->total, 1, operation, result, reason_label(reason), NULL);
    metric_observe(metrics->seconds,
                   (double)(context_monotonic(run->context) - run->log.started) / 1e3, operation,
                   NULL);
}

void operation_log_awaiting(const struct run *run, const char *digest, const char *summary)
{
    log_info("plan awaits approval", "namespace", run->subject.key.namespace_name, "spec",
             run->subject.key.name, "release", run->log.release, "plan", digest, "summary", summary,
             NULL);
}

void operation_log_success(struct run *run, const char *summary)
{
    if (run->log.is_ended)
        return;
    run->log.is_ended = true;
    count(run, "succeeded", "ReconciliationSucceeded");
    write_line(run, log_info, "operation succeeded", "ReconciliationSucceeded", summary, NULL);
}

void operation_log_failure(struct run *run, const struct error *failure, bool is_repeated)
{
    bool is_cancelled = failure->code == ERR_CANCELLED || failure->code == ERR_FENCED;

    if (run->log.is_ended)
        return;
    run->log.is_ended = true;
    count(run, is_cancelled ? "cancelled" : "failed", failure->reason);
    if (is_cancelled)
        write_line(run, run->log.is_begun ? log_info : log_debug, "operation cancelled",
                   failure->reason, NULL, failure->message);
    else
        write_line(run, is_repeated ? log_debug : log_warn, "operation failed", failure->reason,
                   NULL, failure->message);
}

/* ---- Neither ---- */

void operation_log_eviction(struct run *run)
{
    const struct operation_metrics *metrics = run->context->metrics;

    if (metrics)
        metric_add(metrics->evictions, 1, names[run->log.operation], NULL);
    write_line(run, log_info, "operation evicted", NULL, NULL, NULL);
}

void operation_log_correction(const struct run *run)
{
    const struct operation_metrics *metrics = run->context->metrics;

    if (metrics)
        metric_add(metrics->corrections, 1, NULL);
}
