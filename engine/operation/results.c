/* The result of each change. */
#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/operation/private.h"
#include "engine/operation/results.h"
#include "engine/operation/session.h"
#include "engine/threads/locked.h"

/* Of one change; the rest is left out. */
#define MOST_WARNINGS 16

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
    LOCKED(&operation->lock);
    before = result->warnings;
    result->warnings = join_warnings(before, warnings);
    value_unref(before);
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
