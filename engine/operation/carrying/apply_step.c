/* A visit of an apply step: makes the object as the Spec has it, then waits until it is ready. */
#include "engine/operation/carrying/carrying.h"
#include "engine/operation/planning/planning.h"
#include "engine/operation/planning/target.h"
#include "engine/operation/records.h"
#include "engine/operation/results.h"

/* How often one visit plans an object again that has changed since it was planned. */
#define MAX_TAKES 5

/* ---- Looking ---- */

static int read_applied(struct node *node, struct runtime_outcome *outcome, struct error *error)
{
    _cleanup_(record_unref_p) const struct record *prior = operation_known(node);
    _cleanup_target_ struct runtime_target target = operation_target(node, prior);
    int r = operation_read(node, &target, node->large, outcome, error);

    if (r < 0)
        return r;
    if (outcome->now.presence != PRESENCE_PRESENT)
        return err_set(error, ERR_NOT_FOUND, "HealthCheckFailed", "it was deleted meanwhile");
    operation_set_live(node, outcome->now.result);
    return 0;
}

/* ---- Making ---- */

static int confirm_unchanged(struct node *node, const struct runtime_step *step,
                             struct runtime_outcome *outcome, struct error *error)
{
    int r = read_applied(node, outcome, error);

    if (r < 0 || operation_is_recorded(node, step))
        return r;
    if (step->memory)
        value_assign(&outcome->memory, step->memory);
    operation_confirm(node, step, outcome);
    return 0;
}

static int carry_out_step(struct node *node, struct runtime_step *step,
                          struct runtime_outcome *outcome, struct error *error)
{
    operation_set_action(node, step->action);
    switch (step->action) {
    case PLAN_UNCHANGED:
        if (step->is_only_read) {
            operation_note_reading(node, step);
            return 0;
        }
        if (!step->is_done)
            return confirm_unchanged(node, step, outcome, error);
        node_move(node, STEP_APPLY, NODE_FINISHED);
        return 0;
    case PLAN_CREATE:
    case PLAN_ADOPT:
    case PLAN_UPDATE:
        return operation_make(node, step, outcome, error);
    case PLAN_DEFERRED: /* one that was planned is planned again at the next visit */
        node_move(node, STEP_APPLY,
                  operation_change(node)->action == PLAN_DEFERRED ? NODE_DEFERRED : NODE_OUTDATED);
        return operation_set_deferred(node, step->reason, error);
    default:
        return err_set(error, ERR_INTERNAL, "UnexpectedAction", "planned as \"%s\"",
                       plan_action_name(step->action));
    }
}

/* The object may have changed, or changed hands, since it was planned, perhaps minutes ago. Then
 * the runtime answers with a conflict, and the object is planned again. One that changes all the
 * time is tried again later. */
static int make_as_wanted(struct node *node, struct runtime_outcome *outcome, struct error *error)
{
    for (unsigned takes = 1;; takes++) {
        struct runtime_step *step = NULL;
        struct error problem = {0};
        int r = operation_due_step(node, &step, error);

        if (r < 0)
            return r;
        r = carry_out_step(node, step, outcome, &problem);
        if (r != ERR_CONFLICT || step->action == PLAN_UNCHANGED)
            return r < 0 ? err_copy(error, &problem) : 0;
        if (takes == MAX_TAKES) {
            err_wrap(&problem, "it changes all the time");
            problem.code = ERR_UNAVAILABLE;
            return err_copy(error, &problem);
        }
        outcome_done(outcome);
        *outcome = (struct runtime_outcome){0};
    }
}

/* ---- Waiting ---- */

/* Records that the object has done its work and removes itself: it may be absent from now on. */
static void record_finished(struct node *node)
{
    _cleanup_(record_unref_p) const struct record *known = operation_known(node);
    struct record finished;

    if (!known || known->status != RECORD_APPLIED || known->is_done)
        return;
    finished = *known;
    finished.is_done = true;
    operation_land(node, &finished);
}

/* DONE, PARKED, or FAILED with the error. */
static enum walk_verdict judge_health(struct node *node, struct walk_visit *visit,
                                      const struct observation *now, struct error *error)
{
    struct operation *operation = node->operation;
    _cleanup_target_ struct runtime_target target =
        operation_target(node, operation_change(node)->record);
    struct runtime_call call = operation_call(operation, node->large);
    struct health health = {0};
    struct runtime_session *session;
    int r;

    if (!operation_ops(node)->health)
        return WALK_DONE;
    r = operation_session(node, &session, error);
    if (r >= 0)
        r = operation_ops(node)->health(session, &target, now, &call, &health, error);
    if (r < 0)
        return operation_retry(node, visit, error);
    if (health.status == HEALTH_CURRENT ||
        (!operation->spec->policy.wait && !health.dependents_must_wait)) {
        if (health.removes_itself)
            record_finished(node);
        return WALK_DONE;
    }
    err_set(error, health.status == HEALTH_FAILED ? ERR_INVALID : ERR_TIMEOUT, "HealthCheckFailed",
            "%s", health.message);
    if (*health.hint)
        err_hint(error, "%s", health.hint);
    if (health.status == HEALTH_FAILED)
        return WALK_FAILED;
    visit->releases_dependents = health.may_wait_for_consumer;
    operation_park(node, visit);
    if (health.look_again && health.look_again < visit->retry_after)
        visit->retry_after = health.look_again;
    return WALK_PARKED;
}

/* A change was DEFERRED because its runtime could not be asked before others were made. They are
 * made now, so it can be planned, unless that needs an approval, or its record still has another
 * id. */
static bool can_be_planned_now(const struct operation *operation, const struct plan_change *change)
{
    return change->step && change->has_unknown && !change->moved_from &&
           !operation->config.approved && !operation->config.for_approval;
}

enum walk_verdict operation_apply_step(struct node *node, struct walk_visit *visit,
                                       struct error *error)
{
    struct operation *operation = node->operation;
    const struct plan_change *change = operation_change(node);
    const enum node_phase *phase = &node->phases[STEP_APPLY];
    _cleanup_(outcome_done) struct runtime_outcome outcome = {0};
    int r;

    if (operation_refuse_step(node, can_be_planned_now(operation, change), error))
        return WALK_FAILED;
    if (change->is_settled && (!operation->how.verify || change->is_only_read))
        return WALK_DONE;
    r = ledger_check(operation->ledger, error);
    if (r >= 0)
        r = *phase == NODE_APPLIED || change->is_settled ? read_applied(node, &outcome, error)
                                                         : make_as_wanted(node, &outcome, error);
    if (r < 0)
        return *phase == NODE_DEFERRED ? WALK_FAILED : operation_retry(node, visit, error);
    node->failures = 0;
    if (*phase == NODE_FINISHED)
        return WALK_DONE;
    node_move(node, STEP_APPLY, NODE_APPLIED);
    return change->is_only_read ? WALK_DONE : judge_health(node, visit, &outcome.now, error);
}
