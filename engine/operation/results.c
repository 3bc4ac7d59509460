/* The result of each change, and of the whole. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/operation/carrying/health_checks.h"
#include "engine/operation/private.h"
#include "engine/operation/results.h"
#include "engine/operation/session.h"
#include "engine/threads/locked.h"
#include "engine/value/json.h"

/* A message names so many failures, and counts the rest. */
#define NAMED_FAILURES 3
/* Of one change; the rest is left out. */
#define MOST_WARNINGS 16
/* Bytes that a message keeps for the counts and for what joins the failures. */
#define ROOM_BESIDE_FAILURES 160

/* ---- Each ---- */

/* The action that the result shows. An earlier operation of the same revision may have done it, and
 * been killed or evicted before it could report. One that came to its end has reported. */
static enum plan_action done_action(const struct operation *operation,
                                    const struct plan_change *change, enum plan_action action)
{
    const struct record *record = change->record;

    if (!operation->counts_earlier || !record || record->revision != operation->how.revision)
        return action;
    if (action == PLAN_UNCHANGED || (action == PLAN_CREATE && record->action == PLAN_REPLACE))
        return record->action;
    return action;
}

/* An object that was made by a call whose answer was lost is found as wanted, but was not
 * unchanged. A resource that was to be READ when it is due, has been. */
static bool keeps_action(const struct node *node, enum plan_action action)
{
    return operation_change(node)->action == PLAN_REPLACE ||
           (action == PLAN_UNCHANGED &&
            (node->lost || operation_change(node)->action == PLAN_READ));
}

void operation_set_action(struct node *node, enum plan_action action)
{
    struct operation *operation = node->operation;
    LOCKED(&operation->lock);

    if (!keeps_action(node, action))
        operation->results.items[node->index].action =
            done_action(operation, operation_change(node), action);
}

void operation_init_results(struct operation *operation)
{
    size_t n = operation->plan->n_changes;

    operation->results.items = NEW_ARRAY(struct operation_result, n + 1);
    operation->results.count = n;
    for (size_t i = 0; i < n; i++) {
        const struct plan_change *change = &operation->plan->changes[i];

        operation->results.items[i].change = change;
        operation->results.items[i].warnings = value_ref(change->warnings);
        operation->results.items[i].action = done_action(operation, change, change->action);
    }
}

static void set_result_error(struct operation_result *result, const struct error *error)
{
    free((struct error *)(uintptr_t)result->error);
    result->error = error && error->code ? err_new(error) : NULL;
}

void operation_clear_results(struct operation *operation)
{
    for (size_t i = 0; i < operation->results.count; i++) {
        set_result_error(&operation->results.items[i], NULL);
        value_unref(operation->results.items[i].warnings);
    }
    free(operation->results.items);
}

/* ---- Warnings ---- */

static bool has_warning(const struct value *warnings, const struct value *warning)
{
    for (size_t i = 0; i < value_count(warnings); i++)
        if (value_equal(value_at(warnings, i), warning))
            return true;
    return false;
}

static const struct value *join_warnings(const struct value *first, const struct value *second)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    value_begin_array(b);
    for (size_t i = 0; i < value_count(first); i++)
        value_add(b, value_at(first, i));
    for (size_t i = 0, n = value_count(first); i < value_count(second) && n < MOST_WARNINGS; i++)
        if (!has_warning(first, value_at(second, i))) {
            value_add(b, value_at(second, i));
            n++;
        }
    value_end_array(b);
    return value_finish(b);
}

void operation_add_warnings(struct operation *operation, uint32_t change,
                            const struct value *warnings)
{
    struct operation_result *result = &operation->results.items[change];
    const struct value *before;

    if (!warnings)
        return;
    pthread_mutex_lock(&operation->lock);
    before = result->warnings;
    result->warnings = join_warnings(before, warnings);
    value_unref(before);
    pthread_mutex_unlock(&operation->lock);
}

static void set_waiting(struct operation *operation, uint32_t change, bool is_waiting)
{
    struct operation_result *result = &operation->results.items[change];

    if (is_waiting)
        operation->waits_for = change;
    else if (operation->waits_for == change)
        operation->waits_for = STEP_NONE;
    if (is_waiting && result->error && result->error->code == ERR_UNAVAILABLE)
        operation->fails = change;
    else if (operation->fails == change)
        operation->fails = STEP_NONE;
    operation->n_waiting += is_waiting;
    operation->n_waiting -= result->is_waiting;
    result->is_waiting = is_waiting;
}

void operation_start_result(struct operation *operation, uint32_t change)
{
    struct operation_result *result = &operation->results.items[change];

    if (!result->started)
        result->started = operation_now(operation);
}

void operation_wait_result(struct operation *operation, uint32_t change, const struct error *error)
{
    struct operation_result *result = &operation->results.items[change];

    if (result->status != RESULT_PENDING || operation->phase == OPERATION_ENDED)
        return;
    set_result_error(result, error);
    set_waiting(operation, change, true);
    if (operation->fails != change || operation->has_failed)
        return;
    operation->has_failed = true;
    if (operation->config.on_change) /* the owner says why it takes longer */
        operation->config.on_change(operation->config.arg);
}

void operation_end_result(struct operation *operation, uint32_t change, enum result_status status,
                          const struct error *error)
{
    struct operation_result *result = &operation->results.items[change];

    if (result->status != RESULT_PENDING || operation->phase == OPERATION_ENDED)
        return;
    set_waiting(operation, change, false);
    result->status = status;
    result->ended = operation_now(operation);
    if (!result->started)
        result->started = result->ended;
    set_result_error(result, error);
    operation->n_ended++;
}

/* ---- Ends without a verdict of a visit ---- */

static void skip_change(struct operation *operation, const struct step_node *step, uint32_t cause)
{
    const struct step_node *other = &operation->steps->nodes[cause];
    const char *id = other->change == STEP_NONE ? "" : operation->plan->changes[other->change].id;
    bool is_late = other->change != STEP_NONE &&
                   operation->results.items[other->change].status == RESULT_TIMED_OUT;
    struct error error = {0};

    if (step->kind == STEP_APPLY && is_late)
        err_set(&error, ERR_CANCELLED, "DependencyNotReady", "skipped: it waits for %s", id);
    else if (step->kind == STEP_APPLY)
        err_set(&error, ERR_CANCELLED, "DependencyNotReady", "skipped: it depends on %s", id);
    else if (other->kind == STEP_DELETE)
        err_set(&error, ERR_CANCELLED, "DependencyNotReady",
                "skipped: it is deleted after %s, which is still there", id);
    else
        err_set(&error, ERR_CANCELLED, "DependencyNotReady",
                "skipped: nothing is deleted while something else fails");
    operation_end_result(operation, step->change, RESULT_SKIPPED, &error);
}

/* The message says how long it was waited for: `timeout`, not what was measured, since a retry that
 * fails in the same way is to say the same. */
static void time_out_change(struct operation *operation, uint32_t change)
{
    const struct operation_result *result = &operation->results.items[change];
    long long seconds = operation->config.timeout / 1000;
    struct error error = {0};

    if (result->error)
        err_copy(&error, result->error);
    else
        err_set(&error, ERR_TIMEOUT, "HealthCheckFailed", "not ready");
    err_wrap(&error,
             str_equal(error.reason, "HealthCheckFailed") ? "not healthy within %lld s (timeout)"
                                                          : "not done within %lld s (timeout)",
             seconds);
    operation_end_result(operation, change, RESULT_TIMED_OUT, &error);
}

/* The operation ended early, before this change was done. */
static void give_up_change(struct operation *operation, uint32_t change)
{
    bool is_stale = operation->stale.code;
    struct error error = {0};

    err_set(&error, ERR_CANCELLED, is_stale ? PLAN_STALE : operation->exceeded.reason, "%s: %s",
            operation->results.items[change].started ? "not waited for any more" : "not begun",
            is_stale ? "the approved plan is stale"
                     : "the operation needs more memory than it may have");
    operation_end_result(operation, change, RESULT_CANCELLED, &error);
}

void operation_end_step(void *arg, uint32_t step, enum walk_outcome outcome, uint32_t cause)
{
    struct operation *operation = arg;
    const struct step_node *node = &operation->steps->nodes[step];
    struct error error = {0};

    if (node->kind == STEP_BARRIER)
        return;
    if (outcome == WALK_OUTCOME_SKIPPED)
        skip_change(operation, node, cause);
    else if (outcome == WALK_OUTCOME_TIMED_OUT)
        time_out_change(operation, node->change);
    else if (outcome == WALK_OUTCOME_CANCELLED &&
             (operation->stale.code || operation->exceeded.code))
        give_up_change(operation, node->change);
    else if (outcome == WALK_OUTCOME_CANCELLED && !cancel_fired(operation->cancel)) {
        err_set(&error, ERR_TIMEOUT, "Timeout", "not begun: out of time");
        operation_end_result(operation, node->change, RESULT_CANCELLED, &error);
    }
}

void operation_end_stale(struct operation *operation, uint32_t change, const struct error *error)
{
    LOCKED(&operation->lock);

    operation_end_result(operation, change, RESULT_FAILED, error);
    if (!operation->stale.code) {
        err_copy(&operation->stale, error);
        err_wrap(&operation->stale, "%s", operation->plan->changes[change].id);
        walk_stop(operation->walk, false);
    }
}

static void cancel_change(struct operation *operation, uint32_t change, const struct error *error)
{
    const struct operation_result *result = &operation->results.items[change];
    struct error own = {0};

    err_copy(&own, error);
    if (error->code == ERR_CANCELLED)
        err_set(&own, ERR_CANCELLED, "Cancelled", "%s: %s",
                result->is_waiting ? "cancelled while it was waited for"
                : result->started  ? "under way when it was cancelled"
                                   : "not begun",
                error->message);
    operation_end_result(operation, change, RESULT_CANCELLED, &own);
}

void operation_abandon_results(struct operation *operation, const struct error *error)
{
    for (uint32_t i = 0; i < operation->results.count; i++)
        cancel_change(operation, i, error);
}

/* ---- All of them ---- */

void operation_results(struct operation *operation, struct operation_results *ret)
{
    size_t n;

    *ret = (struct operation_results){0};
    pthread_mutex_lock(&operation->lock);
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
    pthread_mutex_unlock(&operation->lock);
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

    pthread_mutex_lock(&operation->lock);
    progress.total = operation->results.count;
    for (size_t i = 0; i < progress.total; i++) {
        progress.done += operation->results.items[i].status == RESULT_SUCCEEDED;
        progress.failed += is_failure(&operation->results.items[i]);
    }
    pthread_mutex_unlock(&operation->lock);
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

/* "ID: MESSAGE" of a change, without the hints. */
static void add_result(struct buf *text, const struct operation_result *result)
{
    const char *message = result->error->message;

    operation_show_id(text, result->change->id);
    buf_add_str(text, ": ");
    buf_add(text, message, (size_t)(err_hints(message) - message));
}

bool operation_waits_for(struct operation *operation, char *ret, size_t size, bool *ret_is_failing)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    const struct operation_result *result;
    struct error shown = {0};

    pthread_mutex_lock(&operation->lock);
    result = find_waiting(operation);
    if (result && result->error) {
        add_result(&text, result);
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
        add_result(text, result);
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
    add_result(&text, deferred);
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
