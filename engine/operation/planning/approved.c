/*
 * The approved plan, compared when all changes are planned, and before any of them begins. What is
 * planned anew later is compared in carrying/replan.c.
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/operation/planning/planning.h"
#include "engine/plan/spread.h"
#include "engine/threads/locked.h"

/* Changes of a stale plan that one message names; the rest is counted. */
#define NAMED_CHANGES 3

/* ---- Changes that are not covered ---- */

static void defer_change(struct plan_change *change, const char *reason)
{
    free(TAKE(change->error));
    plan_step_free(TAKE(change->step));
    plan_step_free(TAKE(change->removal));
    if (change->action != PLAN_DEFERRED)
        change->reason = reason;
    change->action = PLAN_DEFERRED;
    change->has_unknown = change->create_first = false;
}

/* It could not be planned when the plan was approved. An error that nothing heals stays what it is.
 */
static void leave_uncovered(struct node *node)
{
    struct plan_change *change = operation_change(node);

    if (change->error && !operation_may_heal(change->error))
        return;
    defer_change(change, "it could not be planned when the plan was approved");
    node->approval = APPROVAL_MISSING;
}

/* ---- Changes that cannot be compared yet ---- */

/* For each change: true if it, or anything that it depends on, near or far, cannot be planned now.
 */
static bool *find_undecided(const struct operation *operation)
{
    const struct plan *plan = operation->plan;
    const struct graph_edge *const edges[2] = {operation->planned.items};
    const size_t n_edges[2] = {operation->planned.count};
    _cleanup_free_ bool *may = NEW_ARRAY(bool, plan->n_changes + 1);
    bool *undecided = NEW_ARRAY(bool, plan->n_changes + 1);
    struct rows rows;

    for (size_t i = 0; i < plan->n_changes; i++) {
        may[i] = true;
        undecided[i] = plan->changes[i].error || plan->changes[i].action == PLAN_DEFERRED;
    }
    rows_init(&rows, (uint32_t)plan->n_changes, edges, n_edges, true);
    spread(&rows, may, undecided);
    rows_done(&rows);
    return undecided;
}

/* A value may have been known when the plan was approved, and not be known now: of an object whose
 * create is in doubt, for example. The change is compared right before it begins, or does not begin
 * at all. */
static void compare_later(struct node *node)
{
    struct plan_change *change = operation_change(node);

    if (approved_plan_check_known(node->operation->config.approved, change, NULL) >= 0)
        node->approval = APPROVAL_LATER;
    else
        defer_change(change, "what it depends on cannot be planned yet");
}

/* ---- The order ---- */

void operation_take_approved(struct operation *operation)
{
    const struct approved_plan *approved = operation->config.approved;
    _cleanup_free_ bool *undecided = approved ? find_undecided(operation) : NULL;

    for (size_t i = 0; approved && i < operation->plan->n_changes; i++) {
        struct plan_change *change = &operation->plan->changes[i];
        int verdict;

        /* Where half of the steps are done, fewer of the others may ask for an order. */
        if (change->action == PLAN_REPLACE && !change->cannot_create_first &&
            approved_plan_creates_first(approved, change))
            change->create_first = true;
        verdict = approved_plan_check(approved, change, NULL);
        if (verdict == NOT_COVERED)
            leave_uncovered(&operation->nodes[i]);
        else if (verdict < 0 && undecided[i] && change->has_unknown)
            compare_later(&operation->nodes[i]);
    }
}

/* ---- The verdict ---- */

static int refuse_stale_plan(struct operation *operation, const struct buf *named, size_t n_stale,
                             struct error *error)
{
    char more[64] = "";

    if (n_stale > NAMED_CHANGES)
        snprintf(more, sizeof(more), "; and %zu more", n_stale - NAMED_CHANGES);
    err_set(error, ERR_CONFLICT, PLAN_STALE, "the approved plan is stale: %s%s", named->data, more);
    LOCKED(&operation->lock);
    err_copy(&operation->stale, error);
    return error->code;
}

int operation_check_approved(struct operation *operation, struct error *error)
{
    _cleanup_buf_ struct buf named = BUF_INIT;
    size_t n_stale = 0;

    for (size_t i = 0; operation->config.approved && i < operation->plan->n_changes; i++) {
        const struct plan_change *change = &operation->plan->changes[i];
        bool is_later = operation->nodes[i].approval == APPROVAL_LATER;
        struct error problem = {0};
        int r = is_later ? approved_plan_check_known(operation->config.approved, change, &problem)
                         : approved_plan_check(operation->config.approved, change, &problem);

        if (r >= 0 || n_stale++ >= NAMED_CHANGES)
            continue;
        buf_printf(&named, "%s%s: %s", named.length ? "; " : "", change->id, problem.message);
    }
    return n_stale ? refuse_stale_plan(operation, &named, n_stale, error) : 0;
}
