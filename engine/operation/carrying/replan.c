/*
 * The step that is due: as it was planned, or planned anew. A step is applied once, so what was
 * tried and failed is planned again before it is tried again. So is what was planned with values
 * that are known only now, what was deferred until they are, and an approved creation that shows
 * what would become of it. Whatever is planned anew must be what was approved.
 */
#include "engine/operation/carrying/carrying.h"
#include "engine/operation/planning/doubt.h"
#include "engine/operation/planning/planning.h"
#include "engine/operation/records.h"
#include "engine/operation/results.h"

/* ---- Checks of the approved plan ---- */

/* Handles the verdict of a check of the approved plan, with its problem: if the plan is stale, the
 * operation ends. */
static int heed_verdict(const struct node *node, int verdict, struct error *problem,
                        struct error *error)
{
    if (verdict == CONFORMS)
        return 0;
    if (verdict == NOT_COVERED)
        err_set(problem, ERR_CONFLICT, PLAN_STALE,
                "it would be changed now, and could not be planned when the plan was approved");
    operation_end_stale(node->operation, node->index, problem);
    return err_copy(error, problem);
}

/* The order in which a resource is replaced: the plan's, since other replacements follow it. Where
 * the plan has no replacement, because the resource could not be looked at: the approved plan's. */
static bool creates_first(const struct operation *operation, const struct plan_change *change)
{
    return change->action == PLAN_REPLACE
               ? change->create_first
               : approved_plan_creates_first(operation->config.approved, change);
}

static int check_planned(const struct node *node, const struct record *prior,
                         const struct planned *planned, struct error *error)
{
    struct operation *operation = node->operation;
    const struct approved_plan *approved = operation->config.approved;
    struct plan_change now = *operation_change(node);
    struct error problem = {0};

    if (!approved)
        return 0;
    now.create_first = creates_first(operation, &now);
    now.action = planned->action;
    now.secrets = planned->secrets;
    now.record = prior;
    now.step = planned->step;
    now.removal = planned->removal;
    now.error = NULL;
    return heed_verdict(node, approved_plan_check(approved, &now, &problem), &problem, error);
}

static int check_removal(const struct node *node, const struct planned *planned,
                         struct error *error)
{
    const struct approved_plan *approved = node->operation->config.approved;
    struct error problem = {0};

    if (!approved)
        return 0;
    return heed_verdict(
        node,
        approved_plan_check_removal(approved, operation_change(node), planned->removal, &problem),
        &problem, error);
}

/* Puts a step that was planned anew in the place of an earlier one. */
static void replace_step(const struct operation *operation, struct runtime_step **to,
                         struct runtime_step **planned)
{
    plan_step_free(*to);
    *to = TAKE(*planned);
    if (operation_frees_objects(operation))
        plan_step_compared(*to);
}

/* ---- Applies ---- */

static int plan_and_check(struct node *node, const struct record *prior, struct planned *ret,
                          struct error *error)
{
    int r = operation_plan_one(node, prior, true, ret, error);

    return r < 0 ? r : check_planned(node, prior, ret, error);
}

static int plan_apply_anew(struct node *node, struct error *error)
{
    const struct record *prior = operation_known(node);
    struct planned planned = {0};
    bool is_replaced = false;
    int r = operation_settle_doubt(node, &prior, error);

    if (r >= 0)
        r = plan_and_check(node, prior, &planned, error);
    if (r >= 0) {
        replace_step(node->operation, &node->step, &planned.step);
        if (node->phases[STEP_APPLY] == NODE_OUTDATED)
            node_move(node, STEP_APPLY, NODE_PLANNED);
        is_replaced = planned.action == PLAN_REPLACE;
    }
    planned_done(&planned);
    record_unref(prior);
    if (is_replaced && operation_change(node)->action != PLAN_REPLACE)
        return err_set(error, ERR_CONFLICT, OPERATION_NEEDS_PLAN,
                       "it has to be replaced, which was not known when it was planned: the next "
                       "plan does so");
    return r;
}

/* The creation shows what the API server and webhooks make of it, and so it was approved. They may
 * do otherwise by now: it is tried once more, right before it is sent. */
static bool is_dry_run_again(const struct node *node)
{
    const struct operation *operation = node->operation;
    const struct plan_change *change = operation_change(node);

    return change->action == PLAN_CREATE && !node->step && operation->config.approved &&
           approved_plan_has_shown(operation->config.approved, change);
}

int operation_due_step(struct node *node, struct runtime_step **ret, struct error *error)
{
    const struct plan_change *change = operation_change(node);
    bool was_planned = change->step && !change->has_unknown && change->action != PLAN_DEFERRED;
    int r = 0;

    if (node->phases[STEP_APPLY] == NODE_OUTDATED || (!node->step && !was_planned) ||
        is_dry_run_again(node))
        r = plan_apply_anew(node, error);
    if (r < 0)
        return r;
    *ret = node->step ? node->step : change->step;
    return 0;
}

/* ---- Deletions ---- */

int operation_plan_removal_anew(struct node *node, const struct record *record, struct error *error)
{
    struct operation *operation = node->operation;
    bool is_old = operation_change(node)->resource != NULL;
    _cleanup_(planned_done) struct planned planned = {0};
    int r = is_old ? operation_plan_removal(node, record, &planned, error)
                   : operation_plan_one(node, NULL, true, &planned, error);

    if (r >= 0)
        r = is_old ? check_removal(node, &planned, error)
                   : check_planned(node, record, &planned, error);
    if (r >= 0) {
        if (is_old)
            replace_step(operation, &node->removal, &planned.removal);
        else
            replace_step(operation, &node->step, &planned.step);
        node_move(node, STEP_DELETE, NODE_PLANNED);
    }
    return r;
}

/* Whether it has to be replaced at all is known only when what it depends on is applied. */
static bool is_replacement_due(const struct node *node)
{
    const struct plan_change *change = operation_change(node);

    return change->action == PLAN_REPLACE && !change->create_first &&
           node->operation->step_changes[node->index].has_unknown && !node->step;
}

/* 1: it is not replaced any more. */
static int plan_replacement_anew(struct node *node, const struct record *record,
                                 struct error *error)
{
    struct operation *operation = node->operation;
    _cleanup_(planned_done) struct planned planned = {0};
    int r = plan_and_check(node, record, &planned, error);

    if (r >= 0) {
        r = planned.action != PLAN_REPLACE;
        replace_step(operation, &node->step, &planned.step);
        replace_step(operation, &node->removal, &planned.removal);
    }
    return r;
}

int operation_due_removal(struct node *node, const struct record *record, struct error *error)
{
    const struct plan_change *change = operation_change(node);
    bool is_unplanned = !change->resource && change->error && !node->step;
    int r = 0;

    if (is_replacement_due(node))
        r = plan_replacement_anew(node, record, error);
    if (r == 0 && (node->phases[STEP_DELETE] == NODE_OUTDATED || is_unplanned))
        r = operation_plan_removal_anew(node, record, error);
    return r;
}
