/* A visit of a delete step: deletes the object, then waits until it is gone. */

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/operation/carrying/carrying.h"
#include "engine/operation/planning/planning.h"
#include "engine/operation/planning/target.h"
#include "engine/operation/records.h"
#include "engine/operation/results.h"

/* The name under which State has the old object now; NULL: it is the one in force. */
static const char *deposed_name(const struct node *node)
{
    return node->deposed ? node->deposed : operation_change(node)->deposed;
}

/* ---- Records ---- */

/* Deleting a container deletes its content. Drops the part of it that is deleted last from State,
 * because later nobody may have the right to read it. */
static size_t drop_last_content(const struct node *node, struct ledger_change *changes)
{
    const struct operation *operation = node->operation;
    size_t n = 0;

    for (size_t e = 0; e < operation->inside.count; e++) {
        uint32_t inner = operation->inside.items[e].node;
        const struct plan_change *change = &operation->plan->changes[inner];

        if (operation->inside.items[e].dependency == node->index)
            changes[n++] = (struct ledger_change){.id = change->id, .deposed = change->deposed};
    }
    return n;
}

/* Whether the new object of a replacement is made next. Unless its runtime creates blindly, State
 * keeps an intent of it, so that it is found after a crash. */
static bool is_to_be_made_anew(const struct node *node)
{
    const struct plan_change *change = operation_change(node);

    return change->resource && !change->create_first && change->step &&
           !(operation_ops(node)->flags & RUNTIME_CREATES_BLINDLY);
}

/* The record in place of an object that was deleted: NULL, or an intent if a create will make it
 * anew or a late one may. The action PLAN_DELETE says that the object of a late create is to be
 * deleted: an approval of the deletion covers it (approved.h). until: the time of that create; 0:
 * there is none. */
static const struct record *record_after_deletion(struct node *node, const struct record *record,
                                                  int64_t until)
{
    struct record awaited = *record;

    if (is_to_be_made_anew(node))
        return operation_intent(node, PLAN_REPLACE, until);
    if (!until)
        return NULL;
    awaited.status = RECORD_INTENT;
    awaited.action = PLAN_DELETE;
    awaited.uid = awaited.fields_digest = NULL;
    awaited.result = awaited.memory = NULL;
    awaited.call =
        (struct record_call){.term = ledger_term(node->operation->ledger), .until = until};
    return record_new(&awaited);
}

/* Replaces the object's record by `after`; NULL: by none. is_gone: there is no object any more, and
 * State drops its content, too. Errors are ignored: the ledger keeps what it could not store, and
 * nothing new begins. */
static void land_removal(struct node *node, const struct record *after, bool is_gone)
{
    struct operation *operation = node->operation;
    _cleanup_free_ struct ledger_change *changes =
        NEW_ARRAY(struct ledger_change, operation->inside.count + 1);
    size_t n = is_gone ? drop_last_content(node, changes) : 0;

    changes[n++] = (struct ledger_change){
        .put = after, .id = operation_change(node)->id, .deposed = deposed_name(node)};
    ledger_land(operation->ledger, changes, n, operation_ledger_when(node), NULL);
}

static void land_gone(struct node *node, const struct record *record, int64_t until)
{
    _cleanup_(record_unref_p) const struct record *after =
        record_after_deletion(node, record, until);

    land_removal(node, after, true);
}

/* ---- The step ---- */

/* The step that deletes. NULL: nothing is to be done in the world. */
static struct runtime_step *deletion_step(const struct node *node)
{
    struct plan_change *change = operation_change(node);

    if (node->step && !change->resource)
        return node->step;
    if (change->action == PLAN_REPLACE)
        return node->removal ? node->removal : change->removal;
    return change->step;
}

static bool is_left_alone(const struct runtime_step *step)
{
    return !step || step->action == PLAN_FORGET || step->action == PLAN_NONE;
}

/* ---- Visits ---- */

/* Absent, or another object has its name now. */
static bool is_deleted(const struct runtime_outcome *outcome, const struct runtime_step *step)
{
    const struct observation *now = &outcome->now;

    return now->presence == PRESENCE_ABSENT || (now->presence == PRESENCE_PRESENT && step->uid &&
                                                now->uid && !str_equal(now->uid, step->uid));
}

/* The time until which a create that was not answered may make the deleted object again; 0: there
 * is no such create. asked_at: before anybody looked, because a create may come between the look
 * and its answer. If another object has the name, that create may have made it already. */
static int64_t late_create_after(const struct node *node, const struct record *record,
                                 const struct runtime_outcome *outcome, int64_t asked_at)
{
    bool is_replaced = outcome->now.presence == PRESENCE_PRESENT && node->may_be_replaced;

    return is_replaced || record->call.until > asked_at ? record->call.until : 0;
}

static int send_deletion(struct node *node, struct runtime_step *step, const struct record *record,
                         int64_t asked_at, struct runtime_outcome *outcome, struct error *error)
{
    struct operation *operation = node->operation;
    struct runtime_call call = operation_call(operation, node->large);
    struct calls *calls = ledger_calls(operation->ledger);
    const char *id = operation_change(node)->id;
    int r;

    if (!calls_begin(calls, id, operation_now(operation)))
        return err_set(error, ERR_UNAVAILABLE, "UnderWay", "another change of it is under way");
    node_move(node, STEP_DELETE, NODE_SENT);
    r = operation_ops(node)->apply(step, &call, outcome, error);
    if (r >= 0)
        operation_yield(node, STEP_DELETE);
    node->may_be_replaced = record->call.until > asked_at || (r >= 0 && is_deleted(outcome, step));
    /* State knows before the call counts as ended: nobody finds the record without the object. */
    if (r >= 0 && is_deleted(outcome, step))
        land_gone(node, record, late_create_after(node, record, outcome, asked_at));
    operation_note_warnings(node, step, outcome);
    calls_end(calls, id);
    if (r < 0)
        node_move(node, STEP_DELETE, NODE_OUTDATED);
    else
        node_move(node, STEP_DELETE, NODE_APPLIED);
    return r;
}

/* After a conflict: plans anew, since another object may have the name by now, or the object is not
 * ours any more. 1: nothing is to be done any more. */
static int look_whether_it_is_ours(struct node *node, const struct record *record,
                                   struct error *error)
{
    struct error problem = {0};

    if (operation_plan_removal_anew(node, record, &problem) < 0)
        return problem.code == ERR_CONFLICT && !str_equal(problem.reason, PLAN_STALE)
                   ? error->code
                   : err_copy(error, &problem);
    return is_left_alone(deletion_step(node)) ? 1 : error->code;
}

/* Drops the record. step: NULL if the object is left alone; without a uid if there is no object. */
static enum walk_verdict forget_record(struct node *node, const struct runtime_step *step)
{
    operation_set_action(node, node->was_deleted ? PLAN_DELETE : PLAN_FORGET);
    land_removal(node, NULL, step && !step->uid);
    return WALK_DONE;
}

/* Ends the step of an object that is gone. While a late create may make it again, the step goes on:
 * it looks once more when the create cannot come any more, or at once if another object has the
 * name. until: as late_create_after() says. */
static enum walk_verdict end_deletion(struct node *node, const struct runtime_outcome *outcome,
                                      int64_t until, struct walk_visit *visit, struct error *error)
{
    int64_t left = until - operation_wall_clock(node->operation);

    if (!until || is_to_be_made_anew(node))
        return WALK_DONE;
    if (left < 0 || outcome->now.presence == PRESENCE_PRESENT)
        left = 0;
    err_set(error, ERR_UNAVAILABLE, "OutcomeUnknown",
            "deleted; an earlier request to create it was not answered, and may still be carried "
            "out: the next look is in %lld s",
            (long long)(left + 999) / 1000);
    node->was_deleted = true;
    node_move(node, STEP_DELETE, NODE_OUTDATED);
    visit->retry_after = left;
    return WALK_PARKED;
}

/* An object that goes last may give the right to look at it: when it is gone, nobody sees whether a
 * create made it again. Such a create fails as long as the object exists, so it is deleted
 * afterwards. True: it waits, with the error. */
static bool outlasts_creates(const struct node *node, const struct record *record, int64_t now,
                             struct walk_visit *visit, struct error *error)
{
    int64_t left = record->call.until - now;

    if (operation_change(node)->resource || node->phases[STEP_DELETE] == NODE_APPLIED ||
        !node->operation->step_changes[node->index].last || left <= 0)
        return false;
    err_set(error, ERR_UNAVAILABLE, "OutcomeUnknown",
            "an earlier request to create it was not answered, and may still be carried out: it is "
            "deleted in %lld s",
            (long long)(left + 999) / 1000);
    visit->retry_after = left;
    return true;
}

/* Whether the object goes on under another id of the Spec, and is only forgotten here. The plan
 * says so, or the other resource could not be planned at first and was applied since. */
static bool goes_on_renamed(const struct node *node, const struct runtime_step *step)
{
    const struct plan_change *change = operation_change(node);

    if (change->resource || node->phases[STEP_DELETE] == NODE_APPLIED || !step ||
        step->action != PLAN_DELETE)
        return false;
    return (step == change->step && change->action == PLAN_FORGET) ||
           (step->uid && strmap_get(&node->operation->applied_uids, step->uid));
}

/* Forgets the old id, after the time of a late create: the record of the new id does not have it,
 * and such a create fails as long as the object exists. */
static enum walk_verdict leave_to_new_id(struct node *node, const struct record *record,
                                         struct walk_visit *visit, struct error *error)
{
    int64_t left = record->call.until - operation_wall_clock(node->operation);

    if (left <= 0)
        return forget_record(node, NULL);
    err_set(error, ERR_UNAVAILABLE, "OutcomeUnknown",
            "it goes on under another id; an earlier request to create it was not answered, and "
            "may still be carried out: this id is forgotten in %lld s",
            (long long)(left + 999) / 1000);
    visit->retry_after = left;
    return WALK_PARKED;
}

static enum walk_verdict visit_deletion(struct node *node, const struct record *record,
                                        struct walk_visit *visit, struct error *error)
{
    struct runtime_step *step = deletion_step(node);
    struct runtime_target target = operation_removal_target(record);
    _cleanup_(outcome_done) struct runtime_outcome outcome = {0};
    int64_t asked_at = operation_wall_clock(node->operation), until;
    bool was_sent = node->phases[STEP_DELETE] == NODE_APPLIED;
    int r;

    if (goes_on_renamed(node, step))
        return leave_to_new_id(node, record, visit, error);
    if (is_left_alone(step))
        return forget_record(node, step);
    if (step->action == PLAN_DEFERRED) { /* by the runtime, when it was planned anew */
        operation_set_deferred(node, step->reason, error);
        node_move(node, STEP_DELETE, NODE_OUTDATED);
        return operation_retry(node, visit, error);
    }
    if (!was_sent && operation_guard_content(node, error) < 0)
        return WALK_FAILED;
    if (outlasts_creates(node, record, asked_at, visit, error))
        return WALK_PARKED;
    operation_set_action(node, PLAN_DELETE);
    r = was_sent ? operation_read(node, &target, node->large, &outcome, error)
                 : send_deletion(node, step, record, asked_at, &outcome, error);
    if (r == ERR_CONFLICT && node->phases[STEP_DELETE] == NODE_OUTDATED)
        r = look_whether_it_is_ours(node, record, error);
    if (r < 0)
        return operation_retry(node, visit, error);
    if (r > 0)
        return forget_record(node, deletion_step(node));
    if (!is_deleted(&outcome, step)) {
        err_set(error, ERR_TIMEOUT, "PruneFailed", "being deleted%s%s",
                outcome.now.held_by ? ": " : "", outcome.now.held_by ? outcome.now.held_by : "");
        return operation_park(node, visit);
    }
    until = late_create_after(node, record, &outcome, asked_at);
    if (was_sent)
        land_gone(node, record, until);
    return end_deletion(node, &outcome, until, visit, error);
}

enum walk_verdict operation_delete_step(struct node *node, struct walk_visit *visit,
                                        struct error *error)
{
    struct operation *operation = node->operation;
    struct plan_change *change = operation_change(node);
    _cleanup_(record_unref_p) const struct record *record =
        ledger_get(operation->ledger, change->id, deposed_name(node));
    int r;

    if (!record)
        return WALK_DONE; /* the object that it was in took it along */
    if (operation_refuse_step(node, false, error))
        return WALK_FAILED;
    r = ledger_check(operation->ledger, error);
    if (r >= 0)
        r = operation_due_removal(node, record, error);
    if (r < 0)
        return operation_retry(node, visit, error);
    if (r > 0 || (change->resource && change->create_first && !node->deposed))
        return WALK_DONE; /* the other half found that nothing has to be replaced */
    return visit_deletion(node, record, visit, error);
}
