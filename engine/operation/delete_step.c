/* One visit of an object that is to go: it is deleted, then waited for until it is gone. */
#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/operation/private.h"

/* Under which name State has it now. */
static const char *deposed_of(const struct node *node)
{
    return node->deposed ? node->deposed : operation_change(node)->deposed;
}

/* ---- When it is gone ---- */

/* What goes last and was in it: it went with it, and nobody may have the right to look any more. */
static size_t drop_content(const struct operation *operation, const struct node *node,
                           struct ledger_change *changes)
{
    size_t n = 0;

    for (size_t e = 0; e < operation->inside.count; e++) {
        uint32_t inner = operation->inside.items[e].node;
        const struct plan_change *change = &operation->plan->changes[inner];

        if (operation->inside.items[e].dependency == node->index && !change->resource &&
            operation->step_changes[inner].last)
            changes[n++] = (struct ledger_change){.id = change->id, .deposed = change->deposed};
    }
    return n;
}

/* Its replacement comes next: where the world is asked what is ours, State goes on naming it. */
static bool is_to_be_made_anew(const struct node *node)
{
    const struct plan_change *change = operation_change(node);

    return change->resource && !change->create_first && change->step &&
           !(operation_ops(node)->flags & RUNTIME_CREATES_BLINDLY);
}

/* is_gone: from the world, with what was in it; else it is only forgotten. */
static void drop(struct operation *operation, struct node *node, bool is_gone)
{
    _cleanup_free_ struct ledger_change *changes =
        NEW_ARRAY(struct ledger_change, operation->inside.count + 1);
    _cleanup_(record_unref_p) const struct record *intent = NULL;
    size_t n = 0;

    if (is_gone)
        n = drop_content(operation, node, changes);
    if (is_gone && is_to_be_made_anew(node)) {
        intent = operation_intent(node, PLAN_REPLACE);
        changes[n++] = (struct ledger_change){.put = intent};
    } else {
        changes[n++] =
            (struct ledger_change){.id = operation_change(node)->id, .deposed = deposed_of(node)};
    }
    /* What cannot be stored yet is kept by the ledger, and nothing new begins. */
    ledger_land(operation->ledger, changes, n, operation_ledger_when(node), NULL);
}

/* ---- The step ---- */

/* NULL: nothing is to be done in the world. */
static struct runtime_step *step_of(const struct node *node)
{
    struct plan_change *change = operation_change(node);

    if (node->step && !change->resource)
        return node->step;
    if (change->action == PLAN_REPLACE)
        return node->removal ? node->removal : change->removal;
    /* What goes on under another id is only forgotten, whatever its step says. */
    return change->step && change->step->action == change->action ? change->step : NULL;
}

static bool is_left(const struct runtime_step *step)
{
    return !step || step->action == PLAN_FORGET || step->action == PLAN_NONE;
}

/* ---- Visits ---- */

/* Absent, or another object has its name now. */
static bool is_gone(const struct runtime_outcome *outcome, const struct runtime_step *step)
{
    const struct observation *now = &outcome->now;

    return now->presence == PRESENCE_ABSENT || (now->presence == PRESENCE_PRESENT && step->uid &&
                                                now->uid && !str_equal(now->uid, step->uid));
}

static int send(struct operation *operation, struct node *node, struct runtime_step *step,
                struct runtime_outcome *outcome, struct error *error)
{
    struct runtime_call call = operation_call(operation);
    struct calls *calls = ledger_calls(operation->ledger);
    const char *id = operation_change(node)->id;
    int r;

    if (!calls_begin(calls, id, operation_now(operation)))
        return err_set(error, ERR_UNAVAILABLE, "UnderWay", "another change of it is under way");
    r = operation_ops(node)->apply(step, &call, outcome, error);
    /* Before anybody else finds no call under way. */
    if (r >= 0 && is_gone(outcome, step))
        drop(operation, node, true);
    calls_end(calls, id);
    if (r < 0)
        node->needs_removal_plan = true;
    else
        node->is_delete_sent = true;
    return r;
}

/* After a conflict: what is there may be another object by now, or nobody's to delete. 1: nothing
 * is to be done any more. */
static int look_whether_it_is_ours(struct operation *operation, struct node *node,
                                   const struct record *record, struct error *error)
{
    struct error problem = {0};

    if (operation_plan_removal_anew(operation, node, record, &problem) < 0)
        return problem.code == ERR_CONFLICT && !str_equal(problem.reason, PLAN_STALE)
                   ? error->code
                   : err_copy(error, &problem);
    return is_left(step_of(node)) ? 1 : error->code;
}

static int look(struct operation *operation, struct node *node, const struct record *record,
                struct runtime_outcome *outcome, struct error *error)
{
    struct runtime_target target = operation_removal_target(record);
    struct runtime_call call = operation_call(operation);
    struct runtime_session *session;
    int r = operation_session(operation, node, &session, error);

    return r < 0 ? r : operation_ops(node)->read(session, &target, &call, outcome, error);
}

/* step: NULL where it is left alone. One without a uid found nothing there. */
static enum walk_verdict forget(struct operation *operation, struct node *node,
                                const struct runtime_step *step)
{
    operation_set_action(node, node->is_delete_sent ? PLAN_DELETE : PLAN_FORGET);
    drop(operation, node, step && !step->uid);
    return WALK_DONE;
}

static enum walk_verdict wait_for_end(struct node *node, struct walk_visit *visit,
                                      struct error *error)
{
    err_set(error, ERR_TIMEOUT, "PruneFailed",
            "still being deleted: a finalizer of it, or an object that depends on it, is in the "
            "way");
    return operation_park(node, visit);
}

/* Its object goes on under another id of the Spec. That may have become known only when that one
 * was applied: its planning failed at first, say. */
static bool is_renamed(const struct operation *operation, const struct node *node,
                       const struct runtime_step *step)
{
    return !operation_change(node)->resource && step->uid &&
           strmap_get(&operation->applied_uids, step->uid);
}

/* Planned anew, it has to wait: it is planned once more, later. */
static enum walk_verdict defer(struct node *node, const struct runtime_step *step,
                               struct walk_visit *visit, struct error *error)
{
    operation_set_deferred(node, step->reason, error);
    node->needs_removal_plan = true;
    return operation_retry(node, visit, error);
}

/* The half of a replacement that takes the old object away, where the other half found that it does
 * not have to be replaced. */
static bool is_needless(const struct node *node)
{
    const struct plan_change *change = operation_change(node);

    return node->stays || (change->resource && change->create_first && !node->deposed);
}

static enum walk_verdict visit_step(struct operation *operation, struct node *node,
                                    const struct record *record, struct walk_visit *visit,
                                    struct error *error)
{
    struct runtime_step *step = step_of(node);
    struct runtime_outcome outcome = {0};
    enum walk_verdict verdict;
    bool was_sent = node->is_delete_sent;
    int r;

    if (is_left(step))
        return forget(operation, node, step);
    if (step->action == PLAN_DEFERRED)
        return defer(node, step, visit, error);
    if (!was_sent && is_renamed(operation, node, step))
        return forget(operation, node, step);
    if (!was_sent && operation_guard_content(node, error) < 0)
        return WALK_FAILED;
    operation_set_action(node, PLAN_DELETE);
    r = was_sent ? look(operation, node, record, &outcome, error)
                 : send(operation, node, step, &outcome, error);
    if (r == ERR_CONFLICT && node->needs_removal_plan)
        r = look_whether_it_is_ours(operation, node, record, error);
    if (r < 0) {
        verdict = operation_retry(node, visit, error);
    } else if (r > 0) {
        verdict = forget(operation, node, step_of(node));
    } else if (is_gone(&outcome, step)) {
        if (was_sent)
            drop(operation, node, true);
        verdict = WALK_DONE;
    } else {
        verdict = wait_for_end(node, visit, error);
    }
    outcome_done(&outcome);
    return verdict;
}

enum walk_verdict operation_delete_step(struct operation *operation, struct node *node,
                                        struct walk_visit *visit, struct error *error)
{
    struct plan_change *change = operation_change(node);
    _cleanup_(record_unref_p) const struct record *record =
        ledger_get(operation->ledger, change->id, deposed_of(node));
    int r;

    if (!record)
        return WALK_DONE; /* it went with what it was in */
    if (change->error && !operation_may_heal(change->error)) {
        err_copy(error, change->error);
        return WALK_FAILED;
    }
    if (change->action == PLAN_DEFERRED) {
        operation_set_deferred(node, change->reason, error);
        return WALK_FAILED;
    }
    r = ledger_check(operation->ledger, error);
    if (r >= 0)
        r = operation_due_removal(operation, node, record, error);
    if (r < 0)
        return operation_retry(node, visit, error);
    if (is_needless(node))
        return WALK_DONE;
    return visit_step(operation, node, record, visit, error);
}
