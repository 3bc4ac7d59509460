#include <stdio.h>

#include "engine/base/mem.h"
#include "engine/operation/private.h"

/* Failures that one message names; the rest is counted. */
#define NAMED_FAILURES 3
/* Bytes of a message for what joins them, and says how many there are. */
#define ROOM_BESIDE_FAILURES 160

struct operation_result *operation_results_init(struct operation_results *results, size_t count)
{
    arena_init(&results->arena);
    results->items = ARENA_ARRAY(&results->arena, struct operation_result, count ? count : 1);
    results->count = count;
    return results->items;
}

void operation_results_done(struct operation_results *results)
{
    arena_done(&results->arena);
    *results = (struct operation_results){0};
}

void operation_report(struct operation *operation, struct operation_result *result)
{
    int64_t now = operation->config.clock->monotonic(operation->config.clock);

    if (!result->started)
        result->started = now;
    if (result->status != RESULT_PENDING && !result->ended)
        result->ended = now;
    if (!operation->config.on_progress)
        return;
    pthread_mutex_lock(&operation->lock);
    operation->config.on_progress(operation->config.arg, result);
    pthread_mutex_unlock(&operation->lock);
}

void operation_report_pending(struct operation *operation, const struct operation_result *result)
{
    if (operation->config.on_pending)
        operation->config.on_pending(operation->config.arg, result);
}

void operation_end(struct operation *operation, struct operation_result *result,
                   enum walk_outcome outcome, const char *why_skipped)
{
    if (result->status != RESULT_PENDING)
        return;
    switch (outcome) {
    case WALK_OUTCOME_SKIPPED:
        result->status = RESULT_SKIPPED;
        err_set(&result->error, ERR_CANCELLED, "DependencyNotReady", "skipped: %s", why_skipped);
        break;
    case WALK_OUTCOME_TIMED_OUT:
        result->status = RESULT_TIMED_OUT;
        if (!result->error.code)
            err_set(&result->error, ERR_TIMEOUT, "HealthCheckFailed", "not ready in time");
        break;
    case WALK_OUTCOME_DONE:
        result->status = RESULT_SUCCEEDED;
        break;
    default:
        result->status = RESULT_CANCELLED;
        if (cancel_fired(operation->config.cancel))
            err_set(&result->error, ERR_CANCELLED, "Cancelled", "%s: %s",
                    result->error.code ? "cancelled while it was waited for" : "not begun",
                    cancel_reason(operation->config.cancel));
        else if (!result->error.code)
            err_set(&result->error, ERR_TIMEOUT, "Timeout", "not begun: out of time");
    }
    operation_report(operation, result);
}

void operation_results_abandon(struct operation_results *results, const struct error *error)
{
    for (size_t i = 0; i < results->count; i++)
        if (results->items[i].status == RESULT_PENDING) {
            results->items[i].status = RESULT_CANCELLED;
            err_copy(&results->items[i].error, error);
        }
}

static bool is_failure(const struct operation_result *result)
{
    return result->status == RESULT_FAILED || result->status == RESULT_TIMED_OUT;
}

/* The first of them, as many as fit whole: a message may end in a command to be typed. */
static size_t name_failures(const struct operation_results *results, struct buf *text)
{
    size_t named = 0;

    for (size_t i = 0; i < results->count && named < NAMED_FAILURES; i++) {
        const struct operation_result *result = &results->items[i];
        size_t length = strlen(result->id) + strlen(result->error.message);

        if (!is_failure(result))
            continue;
        if (named && text->length + length > ERROR_MESSAGE_SIZE - ROOM_BESIDE_FAILURES)
            break;
        buf_printf(text, "%s%s: %s", named ? "; " : "", result->id, result->error.message);
        named++;
    }
    return named;
}

int operation_results_error(const struct operation_results *results, const char *what,
                            struct error *error)
{
    const struct operation_result *first = NULL;
    size_t failed = 0, skipped = 0, cancelled = 0, late = 0, named;
    struct buf text;
    char more[64] = "";

    for (size_t i = 0; i < results->count; i++) {
        const struct operation_result *result = &results->items[i];

        skipped += result->status == RESULT_SKIPPED;
        late += result->status == RESULT_CANCELLED && result->error.code == ERR_TIMEOUT;
        cancelled += result->status == RESULT_CANCELLED;
        failed += is_failure(result);
        /* What will not heal by waiting stands for the whole. */
        if (is_failure(result) && (!first || (err_is_transient(first->error.code) &&
                                              !err_is_transient(result->error.code))))
            first = result;
    }
    if (!failed && !skipped && !cancelled)
        return 0;
    if (!failed)
        return err_set(error, late ? ERR_TIMEOUT : ERR_CANCELLED, late ? "Timeout" : "Cancelled",
                       "%s: %zu not done", what, skipped + cancelled);
    buf_init(&text, 4096);
    named = name_failures(results, &text);
    if (failed > named)
        snprintf(more, sizeof(more), "; and %zu more", failed - named);
    err_set(error, first->error.code, first->error.reason, "%s: %zu failed, %zu skipped: %s%s",
            what, failed, skipped + cancelled, text.data, more);
    buf_done(&text);
    return first->error.code;
}
