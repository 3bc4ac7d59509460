/* What can be told only when every change is planned. */
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "engine/operation/private.h"

/* ---- What goes with something else, or goes on ---- */

int operation_guard_content(const struct node *node, struct error *error)
{
    const struct plan_change *change = operation_change(node);

    if (change->resource || !node->content)
        return 0;
    return err_set(
        error, ERR_CONFLICT, "DeletionGuardTripped",
        "it left the Spec, which still names \"%s\", and that would go with it: take both "
        "out of the Spec, or none",
        node->content->id);
}

static void guard_content(struct operation *operation)
{
    for (size_t i = 0; i < operation->plan->n_changes; i++) {
        struct plan_change *change = &operation->plan->changes[i];
        struct error error = {0};

        if (change->action == PLAN_DELETE && !change->error &&
            operation_guard_content(&operation->nodes[i], &error) < 0)
            change->error = err_new(&error);
    }
}

/* An object that goes on under another id (its API version changed, say) is not deleted as the old
 * one. */
static void keep_renamed(struct operation *operation)
{
    struct plan *plan = operation->plan;
    struct strmap uids = STRMAP_INIT;

    for (size_t i = 0; i < plan->n_changes; i++) {
        const struct plan_change *change = &plan->changes[i];

        if (change->resource && change->step && change->step->uid)
            strmap_put(&uids, change->step->uid, plan);
    }
    for (size_t i = plan->n_resources; i < plan->n_changes && uids.count; i++) {
        struct plan_change *change = &plan->changes[i];

        if (change->action == PLAN_DELETE && change->step->uid &&
            strmap_get(&uids, change->step->uid))
            change->action = PLAN_FORGET;
    }
    strmap_done(&uids);
}

/* ---- The approved plan ---- */

/* Changes of a stale plan that one message names; the rest is counted. */
#define NAMED_CHANGES 3

/* What could not be planned when the plan was approved: it is left for another round. An error that
 * nothing heals stays what it is. */
static void leave_uncovered(struct operation *operation, struct plan_change *change)
{
    if (change->error && !operation_may_heal(change->error))
        return;
    free(TAKE(change->error));
    if (change->action != PLAN_DEFERRED)
        change->reason = "it could not be planned when the plan was approved";
    plan_step_free(TAKE(change->step));
    plan_step_free(TAKE(change->removal));
    change->action = PLAN_DEFERRED;
    operation->nodes[change - operation->plan->changes].needs_approval = true;
}

/* Before the steps are made: what is left out, and which replacements create first. Where half of
 * the steps are done, fewer of the others may force an order, and the approved one holds. */
static void take_approved(struct operation *operation, const struct approved_plan *approved)
{
    for (size_t i = 0; i < operation->plan->n_changes; i++) {
        struct plan_change *change = &operation->plan->changes[i];

        if (approved_plan_check(approved, change, NULL) == NOT_COVERED)
            leave_uncovered(operation, change);
        else if (change->action == PLAN_REPLACE && !change->cannot_create_first)
            change->create_first =
                change->create_first || approved_plan_creates_first(approved, change);
    }
}

static int refuse(struct operation *operation, const struct buf *named, size_t n_stale,
                  struct error *error)
{
    char more[64] = "";

    if (n_stale > NAMED_CHANGES)
        snprintf(more, sizeof(more), "; and %zu more", n_stale - NAMED_CHANGES);
    err_set(error, ERR_CONFLICT, PLAN_STALE, "the approved plan is stale: %s%s", named->data, more);
    pthread_mutex_lock(&operation->lock);
    err_copy(&operation->stale, error);
    pthread_mutex_unlock(&operation->lock);
    return error->code;
}

/* Everything that would be done is what was approved; else nothing is. */
static int check_approved(struct operation *operation, const struct approved_plan *approved,
                          struct error *error)
{
    _cleanup_buf_ struct buf named = BUF_INIT;
    size_t n_stale = 0;

    for (size_t i = 0; i < operation->plan->n_changes; i++) {
        const struct plan_change *change = &operation->plan->changes[i];
        struct error problem = {0};

        if (approved_plan_check(approved, change, &problem) >= 0 || n_stale++ >= NAMED_CHANGES)
            continue;
        buf_printf(&named, "%s%s: %s", named.length ? "; " : "", change->id, problem.message);
    }
    return n_stale ? refuse(operation, &named, n_stale, error) : 0;
}

/* ---- The steps ---- */

static const char *step_name(void *arg, uint32_t change)
{
    const struct plan *plan = arg;

    return plan->changes[change].id;
}

static int make_steps(struct operation *operation, struct error *error)
{
    struct plan *plan = operation->plan;
    struct steps_input input = {.changes = operation->step_changes,
                                .n_changes = (uint32_t)plan->n_changes,
                                .planned = operation->planned.items,
                                .n_planned = operation->planned.count,
                                .recorded = operation->recorded.items,
                                .n_recorded = operation->recorded.count,
                                .name = step_name,
                                .arg = plan};
    int r;

    for (size_t i = 0; i < plan->n_changes; i++) {
        struct step_change *step = &operation->step_changes[i];

        step->applies = plan->changes[i].resource != NULL;
        step->deletes = !step->applies || plan->changes[i].action == PLAN_REPLACE;
        step->create_first = plan->changes[i].create_first;
        step->cannot_create_first = plan->changes[i].cannot_create_first;
        step->has_unknown = plan->changes[i].has_unknown;
    }
    r = steps_new(&input, &operation->steps, error);
    for (size_t i = 0; r >= 0 && i < plan->n_changes; i++)
        plan->changes[i].create_first = operation->step_changes[i].create_first;
    return r;
}

/* ---- The whole ---- */

/* Where time ran out, some changes were not looked at. */
static int check_whole(struct operation *operation, struct error *error)
{
    struct walk_counts counts;

    pthread_mutex_lock(&operation->lock);
    walk_counts(operation->walk, &counts);
    pthread_mutex_unlock(&operation->lock);
    if (!counts.cancelled && !counts.timed_out)
        return 0;
    return err_set(error, ERR_TIMEOUT, "Timeout", "planning did not come to its end: out of time");
}

int operation_conclude_plan(struct operation *operation, struct error *error)
{
    const struct approved_plan *approved = operation->config.approved;
    int r = check_whole(operation, error);

    if (r < 0)
        return r;
    keep_renamed(operation);
    guard_content(operation);
    if (approved)
        take_approved(operation, approved);
    r = make_steps(operation, error);
    return r >= 0 && approved ? check_approved(operation, approved, error) : r;
}
