/* What the owner is told: the results, how far it is, what it waits for, and one error for all. */
#include <stdio.h>
#include <string.h>

#include "engine/base/str.h"
#include "engine/operation/carrying/health_checks.h"
#include "engine/operation/private.h"
#include "engine/operation/results.h"
#include "engine/operation/session.h"
#include "engine/threads/locked.h"
#include "engine/value/json.h"

/* A message names so many failures, and counts the rest. */
#define NAMED_FAILURES 3
/* Bytes that a message keeps for the counts and for what joins the failures. */
#define ROOM_BESIDE_FAILURES 160

void operation_results(struct operation *operation, struct operation_results *ret)
{
    size_t n;

    *ret = (struct operation_results){0};
    LOCKED(&operation->lock);
    n = operation->results.count;
    ret->items = ARENA_ARRAY(&ret->arena, struct operation_result, n + 1);
    ret->count = n;
    ret->is_late = operation->results.is_late;
    for (size_t i = 0; i < n; i++) {
        const struct operation_result *from = &operation->results.items[i];
        size_t size = err_size(from->error);

        ret->items[i] = *from;
        ret->items[i].warnings = value_ref(from->warnings);
        if (from->error)
            ret->items[i].error = memcpy(arena_alloc(&ret->arena, size), from->error, size);
    }
    operation_find_waits(operation, ret->items);
}

void operation_results_done(struct operation_results *results)
{
    for (size_t i = 0; i < results->count; i++)
        value_unref(results->items[i].warnings);
    arena_done(&results->arena);
    *results = (struct operation_results){0};
}

static bool is_failure(const struct operation_result *result)
{
    return result->status == RESULT_FAILED || result->status == RESULT_TIMED_OUT;
}

struct operation_progress operation_progress(struct operation *operation)
{
    struct operation_progress progress = {0};
    LOCKED(&operation->lock);

    progress.total = operation->results.count;
    for (size_t i = 0; i < progress.total; i++) {
        progress.done += operation->results.items[i].status == RESULT_SUCCEEDED;
        progress.failed += is_failure(&operation->results.items[i]);
    }
    return progress;
}

/* A change that waits: one that fails, the one that began to wait last, or else the first. */
static const struct operation_result *find_waiting(const struct operation *operation)
{
    if (operation->fails != STEP_NONE)
        return &operation->results.items[operation->fails];
    if (operation->waits_for != STEP_NONE)
        return &operation->results.items[operation->waits_for];
    for (size_t i = 0; operation->n_waiting && i < operation->results.count; i++)
        if (operation->results.items[i].is_waiting)
            return &operation->results.items[i];
    return NULL;
}

void operation_show_id(struct buf *to, const char *id)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "._:/~@+-";

    if (id[strspn(id, plain)])
        json_write_string(to, id, strlen(id));
    else
        buf_add_str(to, id);
}

void operation_add_message(struct buf *to, const char *id, const struct error *error)
{
    operation_show_id(to, id);
    buf_add_str(to, ": ");
    buf_add(to, error->message, (size_t)(err_hints(error->message) - error->message));
}

bool operation_waits_for(struct operation *operation, char *ret, size_t size, bool *ret_is_failing)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    const struct operation_result *result;
    struct error shown = {0};

    pthread_mutex_lock(&operation->lock);
    result = find_waiting(operation);
    if (result && result->error) {
        operation_add_message(&text, result->change->id, result->error);
        err_set(&shown, result->error->code, NULL, "%s", text.data);
        err_add_hints(&shown, result->error->message);
    } else if (operation->stage == STAGE_CHECKING) {
        const struct error *error = operation_waiting_health_check(operation, &text);

        if (error)
            err_set(&shown, error->code, NULL, "%s", text.data);
        err_add_hints(&shown, error ? error->message : "");
    }
    if (ret_is_failing)
        *ret_is_failing = operation->fails != STEP_NONE;
    pthread_mutex_unlock(&operation->lock);
    if (shown.code)
        str_copy(ret, size, shown.message);
    return shown.code;
}

int64_t operation_longest_visit(struct operation *operation, char *ret, size_t size)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    const struct node *longest = NULL;
    int64_t took = 0;

    pthread_mutex_lock(&operation->lock);
    for (size_t i = 0; operation->nodes && i < operation->plan->n_changes; i++) {
        const struct node *node = &operation->nodes[i];

        if (node->visited_at && (!longest || node->visited_at < longest->visited_at))
            longest = node;
    }
    if (longest) {
        operation_show_id(&text, operation_change(longest)->id);
        took = operation_now(operation) - longest->visited_at;
    }
    pthread_mutex_unlock(&operation->lock);
    if (longest)
        str_copy(ret, size, text.data);
    return took;
}

/* Names the first failures, as many as fit whole, with their hints. */
static size_t name_failures(const struct operation_results *results, struct buf *text,
                            struct buf *hints)
{
    size_t named = 0;

    for (size_t i = 0; i < results->count && named < NAMED_FAILURES; i++) {
        const struct operation_result *result = &results->items[i];
        size_t length;

        if (!is_failure(result))
            continue;
        length = strlen(result->change->id) + strlen(result->error->message);
        if (named &&
            text->length + hints->length + length > ERROR_MESSAGE_SIZE - ROOM_BESIDE_FAILURES)
            break;
        buf_add_str(text, named ? "; " : "");
        operation_add_message(text, result->change->id, result->error);
        buf_add_str(hints, err_hints(result->error->message));
        named++;
    }
    return named;
}

struct tally {
    size_t failed, skipped, cancelled, late, deferred;
    /* Stands for all: one that waiting does not heal, if there is any. */
    const struct operation_result *worst;
};

static void count_results(const struct operation_results *results, struct tally *ret)
{
    for (size_t i = 0; i < results->count; i++) {
        const struct operation_result *result = &results->items[i];
        bool is_worse =
            is_failure(result) && (!ret->worst || (err_is_transient(ret->worst->error->code) &&
                                                   !err_is_transient(result->error->code)));

        ret->skipped += result->status == RESULT_SKIPPED;
        ret->deferred += result->status == RESULT_DEFERRED;
        ret->cancelled += result->status == RESULT_CANCELLED;
        ret->late += result->status == RESULT_CANCELLED && result->error->code == ERR_TIMEOUT;
        ret->failed += is_failure(result);
        if (is_worse)
            ret->worst = result;
    }
}

/* The result that stands for all deferred ones; NULL: there is none. It needs an approval only if
 * all do. */
static const struct operation_result *find_deferred(const struct operation_results *results)
{
    const struct operation_result *found = NULL;

    for (size_t i = 0; i < results->count; i++) {
        const struct operation_result *result = &results->items[i];

        if (result->status != RESULT_DEFERRED)
            continue;
        if (!str_equal(result->error->reason, OPERATION_NEEDS_APPROVAL))
            return result;
        if (!found)
            found = result;
    }
    return found;
}

/* No change failed, and some are not done. */
static int describe_unfinished(const struct operation_results *results, const struct tally *tally,
                               const char *what, struct error *error)
{
    size_t left = tally->skipped + tally->cancelled + tally->deferred;
    const struct operation_result *deferred = find_deferred(results);
    _cleanup_buf_ struct buf text = BUF_INIT;

    if (tally->cancelled)
        return err_set(error, tally->late ? ERR_TIMEOUT : ERR_CANCELLED,
                       tally->late ? "Timeout" : "Cancelled", "%s: %zu not done", what, left);
    if (!deferred)
        return err_set(error, ERR_CANCELLED, "Cancelled", "%s: %zu not done", what, left);
    operation_add_message(&text, deferred->change->id, deferred->error);
    return err_set(error, ERR_UNAVAILABLE, deferred->error->reason, "%s: %zu not done yet: %s",
                   what, left, text.data);
}

int operation_results_error(const struct operation_results *results, const char *what,
                            struct error *error)
{
    struct tally tally = {0};
    struct buf text, hints = BUF_INIT;
    char more[64] = "", skipped[64] = "";
    size_t named, left;

    count_results(results, &tally);
    left = tally.skipped + tally.cancelled;
    if (!tally.failed && !tally.skipped && !tally.cancelled && !tally.deferred)
        return 0;
    if (!tally.failed)
        return describe_unfinished(results, &tally, what, error);
    buf_init(&text, 4096);
    named = name_failures(results, &text, &hints);
    if (tally.failed > named)
        snprintf(more, sizeof(more), "; and %zu more", tally.failed - named);
    if (left)
        snprintf(skipped, sizeof(skipped), ", %zu skipped", left);
    err_set(error, tally.worst->error->code, tally.worst->error->reason,
            "%s: %zu of %zu failed%s: %s%s", what, tally.failed, results->count, skipped, text.data,
            more);
    err_add_hints(error, hints.data);
    buf_done(&text);
    buf_done(&hints);
    return tally.worst->error->code;
}
