/* The walk that makes a plan. */

#include "engine/operation/planning/planning.h"
#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/operation/planning/doubt.h"
#include "engine/operation/planning/target.h"
#include "engine/operation/records.h"
#include "engine/operation/results.h"
#include "engine/operation/secrets.h"
#include "engine/threads/locked.h"
#include "engine/value/redaction.h"
#include "engine/value/value_mark.h"

#define LOOK_AT_CALL   50   /* ms, between two looks whether a short call has landed */
#define LOOK_AT_CREATE 5000 /* ms, between two looks whether a late create made its object */

/* ---- Hints ---- */

/* An error is ignored: each hint that is missing only costs a request later. */
void operation_prefetch(struct operation *operation, struct binding *binding)
{
    const struct plan *plan = operation->plan;
    _cleanup_free_ struct runtime_target *targets =
        NEW_ARRAY(struct runtime_target, plan->n_changes + 1);
    _cleanup_free_ struct node **members = NEW_ARRAY(struct node *, plan->n_changes + 1);
    _cleanup_free_ struct observation *hints = NEW_ARRAY(struct observation, plan->n_changes + 1);
    struct runtime_call call = operation_call(operation, NULL);
    int64_t asked_at = operation_wall_clock(operation);
    struct runtime_session *session;
    size_t n = 0;

    for (size_t i = 0; i < plan->n_changes; i++)
        if (operation->nodes[i].binding == binding) {
            operation->nodes[i].hinted_at = asked_at;
            members[n] = &operation->nodes[i];
            targets[n++] = operation_target(&operation->nodes[i], plan->changes[i].record);
        }
    if (n && binding->runtime->ops->prefetch && operation_session(members[0], &session, NULL) >= 0)
        binding->runtime->ops->prefetch(session, targets, n, &call, hints, NULL);
    for (size_t i = 0; i < n; i++) {
        members[i]->hint = hints[i];
        operation_target_done(&targets[i]);
    }
}

/* ---- The walk: a visit of one change ---- */

static size_t room_left(size_t used, size_t most)
{
    return used < most ? most - used : 0;
}

/* Leaves nothing out as long as there is room, since a person reads a thorough plan. One visit at a
 * time takes room, as much as it needs. */
static void compare_thoroughly(struct operation *operation, const struct value *before,
                               const struct value *after, struct diff *ret)
{
    struct diff_bounds room = {.value = SIZE_MAX};

    LOCKED(&operation->shown_lock);
    room.fields = room_left(operation->shown_fields, LIMIT_DIFF_PLAN_FIELDS);
    room.bytes = room_left(operation->shown_bytes, LIMIT_DIFF_PLAN);
    diff_values(before, after, &room, ret);
    operation->shown_fields += ret->n_fields;
    operation->shown_bytes += ret->arena.used;
}

/* The diff of a change. Values that are secret in the attributes are hidden in it, by their place.
 * step: the one that describes the change as a whole. */
static void show_difference(struct operation *operation, struct plan_change *change,
                            const struct runtime_step *step)
{
    const struct record *record = change->record;
    _cleanup_value_ const struct value *before = value_mark_like(
        step->shown_before ? step->shown_before : step->before, record ? record->attributes : NULL);
    _cleanup_value_ const struct value *after =
        value_mark_like(step->shown_after ? step->shown_after : step->after, step->attributes);
    bool is_shown = change->action != PLAN_UNCHANGED && change->action != PLAN_DELETE &&
                    (step->before || operation->config.scope.thorough);

    if (!is_shown)
        return;
    change->diff = NEW(struct diff);
    if (operation->config.scope.thorough)
        compare_thoroughly(operation, before, after, change->diff);
    else
        diff_values(before, after, &diff_brief, change->diff);
    for (size_t i = 0; step->hides_before && i < change->diff->n_fields; i++)
        if (change->diff->fields[i].from)
            change->diff->fields[i].from = REDACTED;
}

/* Makes the diff and the digest, and frees the objects themselves. */
static void summarise_objects(struct node *node, const struct runtime_step *shown)
{
    struct operation *operation = node->operation;
    struct plan_change *change = operation_change(node);

    if (shown)
        show_difference(operation, change, shown);
    if (change->diff || change->reason)
        operation_redact_change(node, shown);
    if (!operation_frees_objects(operation))
        return;
    if (change->action != PLAN_UNCHANGED && change->action != PLAN_NONE)
        change->digest = change_digest_new(change, operation->config.digest_key);
    plan_step_compared(change->step);
    plan_step_compared(change->removal);
}

/* A step that would change nothing is freed, unless it is compared with an approved one. */
static void settle_unchanged(struct node *node)
{
    struct plan_change *change = operation_change(node);

    change->is_settled = change->action == PLAN_UNCHANGED && !change->has_unknown && change->step &&
                         !change->step->is_done && operation_is_recorded(node, change->step);
    if (change->is_settled && !node->operation->config.approved)
        plan_step_free(TAKE(change->step));
}

/* Says why an object stays that State forgets. */
static void explain_forgotten(struct plan_change *change)
{
    if (change->is_only_read || (change->step && !change->step->uid))
        return;
    change->stays = true;
    if (change->step && change->step->reason)
        return;
    change->reason = change->step ? "it stays: it does not belong to this Spec any more"
                                  : "it stays: `prune` is false";
}

static void take_planned(struct node *node, struct planned *planned)
{
    struct operation *operation = node->operation;
    struct plan_change *change = operation_change(node);
    const struct runtime_step *shown = planned->answer ? planned->answer : planned->step;

    value_unref(change->secrets);
    change->secrets = TAKE(planned->secrets);
    change->action = planned->action;
    change->create_first = planned->create_first;
    change->cannot_create_first = planned->cannot_create_first;
    change->has_unknown = planned->has_unknown;
    change->is_only_read = planned->is_only_read;
    if (shown && shown->reason)
        change->reason = operation_text(operation, "%s", shown->reason);
    else if (change->action == PLAN_UPDATE || change->action == PLAN_REPLACE)
        change->reason = operation_rotation(operation, change->record, shown);
    if (change->moved_from)
        change->reason =
            operation_text(operation, "moved from %s%s%s", change->moved_from,
                           change->reason ? ": " : "", change->reason ? change->reason : "");
    value_unref(change->warnings);
    change->warnings = shown ? operation_redact_warnings(node, shown->warnings) : NULL;
    operation_note_unread_secrets(operation, change);
    change->step = TAKE(planned->step);
    change->removal = TAKE(planned->removal);
    if (change->action == PLAN_FORGET)
        explain_forgotten(change);
    summarise_objects(node, shown);
    settle_unchanged(node);
    planned_done(planned);
}

/* A call of an earlier operation may still be in flight, and change the record. 1: wait for it,
 * since it is short, or the plan is to be approved. 0: there is none, or it takes long: then the
 * change is deferred. */
static int wait_for_call(struct operation *operation, struct plan_change *change,
                         struct walk_visit *visit)
{
    struct calls *calls = ledger_calls(operation->ledger);
    int64_t since = calls_since(calls, change->moved_from ? change->moved_from : change->id);
    int64_t took = since ? operation_now(operation) - since : 0;

    if (!since)
        return 0;
    if (took < EXECUTOR_LONG_RUN || operation->config.for_approval) {
        visit->retry_after = took < EXECUTOR_LONG_RUN ? LOOK_AT_CALL : LOOK_AT_CREATE;
        return 1;
    }
    change->action = PLAN_DEFERRED;
    change->reason = operation_text(operation,
                                    "a change of it is under way, for %lld s now: the rest is done "
                                    "without it",
                                    (long long)(took / 1000));
    return 0;
}

/* A create was begun, and its outcome is not recorded. While that create may still take effect, the
 * change is deferred. */
static bool may_still_be_made(struct node *node)
{
    struct plan_change *change = operation_change(node);
    char until[TIMESTAMP_SIZE];

    if (!operation_is_in_flight(node, change->record))
        return false;
    operation_in_flight_until(change->record, until);
    change->action = PLAN_DEFERRED;
    change->reason =
        operation_text(node->operation,
                       "its creation was begun, and may still take effect: it is left "
                       "alone until %s, so that nothing is made twice. " OPERATION_SETTLE_AT_ONCE,
                       until, (long long)change->record->revision);
    return true;
}

/* The record may have changed since the changes were listed: a call of an earlier operation has
 * ended. A record of another type belongs to another change. */
static void refresh_record(struct operation *operation, struct plan_change *change)
{
    const char *id = change->moved_from ? change->moved_from : change->id;
    const struct record *now = ledger_get(operation->ledger, id, change->deposed);

    if (!now)
        change->moved_from = NULL;
    if (now && !change->moved_from && !str_equal(now->type, change->type)) {
        record_unref(now);
        return;
    }
    record_unref(change->record);
    change->record = now;
}

/* Whether a plan that is to be approved has to wait, because it would be stale: the resource was
 * planned as one without an object, which a create of ours may still make. asked_at: before anybody
 * looked. */
static bool is_create_awaited(const struct operation *operation, const struct plan_change *change,
                              const struct planned *planned, const struct error *problem,
                              int64_t asked_at)
{
    bool is_absent =
        problem->code ? operation_may_heal(problem) && str_equal(problem->reason, "OutcomeUnknown")
                      : planned->action == PLAN_CREATE;

    return operation->config.for_approval && is_absent && change->record &&
           change->record->call.until > asked_at;
}

/* The next look is when the create cannot come any more, or now and then before. */
static enum walk_verdict wait_for_create(const struct operation *operation,
                                         const struct plan_change *change, struct walk_visit *visit)
{
    int64_t left = change->record->call.until - operation_wall_clock(operation);

    visit->retry_after = left < 0 ? 0 : left < LOOK_AT_CREATE ? left : LOOK_AT_CREATE;
    return WALK_PARKED;
}

/* A problem of one resource does not keep the others from being planned. */
static void conclude_change(struct node *node, struct planned *planned, struct error *error)
{
    struct operation *operation = node->operation;
    struct plan_change *change = operation_change(node);

    if (error->code) {
        operation_redact(node, error);
        change->error = err_new(error);
    }
    if (change->error && change->action == PLAN_NONE)
        change->action = PLAN_UNKNOWN;
    else
        take_planned(node, planned);
    LOCKED(&operation->lock);
    operation_hold_change(node);
}

enum walk_verdict operation_plan_visit(struct operation *operation, struct walk_visit *visit)
{
    struct plan_change *change = &operation->plan->changes[visit->node];
    struct node *node = &operation->nodes[visit->node];
    struct slot large = operation_slot(operation);
    int64_t asked_at = operation_asked_at(node, false);
    int64_t deadline = operation_call(operation, NULL).deadline;
    enum walk_verdict verdict = WALK_DONE;
    struct planned planned = {0};
    struct error error = {0};
    bool is_late;

    if (wait_for_call(operation, change, visit))
        return WALK_PARKED;
    refresh_record(operation, change);
    if (operation->config.for_approval && operation_is_in_flight(node, change->record))
        return wait_for_create(operation, change, visit);
    if (change->action == PLAN_DEFERRED || may_still_be_made(node)) {
        operation_note_planned(node);
        return WALK_DONE;
    }
    node->large = &large;
    if (operation_check_moved(change, &error) >= 0 &&
        operation_settle_doubt(node, &change->record, &error) >= 0) {
        operation_take_moved(operation, change);
        operation_plan_one(node, change->record, false, &planned, &error);
    }
    is_late = error.code == ERR_TIMEOUT && operation_now(operation) >= deadline;
    if (is_create_awaited(operation, change, &planned, &error, asked_at))
        verdict = wait_for_create(operation, change, visit);
    else
        conclude_change(node, &planned, &error);
    if (is_late && verdict == WALK_DONE)
        node_move(node, node_only_step(node), NODE_TIMED_OUT);
    operation_note_planned(node);
    planned_done(&planned);
    slot_give_back(&large);
    node->large = NULL;
    observation_done(&node->hint); /* it is out of date by the time of the next plan */
    return verdict;
}
