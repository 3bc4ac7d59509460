/* The call that makes an object, recorded in State before and after. */
#include <stdio.h>

#include "engine/base/str.h"
#include "engine/operation/carrying/carrying.h"
#include "engine/operation/planning/doubt.h"
#include "engine/operation/planning/planning.h"
#include "engine/operation/records.h"
#include "engine/operation/results.h"
#include "engine/operation/secrets.h"
#include "engine/value/value_mark.h"

#define CALL_ID_SIZE 64

static bool creates_blindly(const struct node *node)
{
    return operation_ops(node)->flags & RUNTIME_CREATES_BLINDLY;
}

/* ---- Records ---- */

/* A creation that is half of a replacement is recorded as the replacement: by this operation, or by
 * an earlier one of the revision, which did not come to its end. */
static enum plan_action recorded_action(const struct node *node, const struct runtime_step *step)
{
    _cleanup_(record_unref_p) const struct record *known = NULL;

    if (step->action != PLAN_CREATE)
        return step->action;
    if (operation_change(node)->action == PLAN_REPLACE)
        return PLAN_REPLACE;
    known = operation_known(node);
    return known && known->status != RECORD_APPLIED && known->action == PLAN_REPLACE &&
                   known->revision == node->operation->how.revision
               ? PLAN_REPLACE
               : PLAN_CREATE;
}

/* The fields of a record that do not depend on the outcome of the call. dependencies: the caller's
 * reference. The attributes are the node's, until its next record. */
static struct record describe_record(struct node *node, const struct runtime_step *step,
                                     const struct value *dependencies)
{
    const struct plan_change *change = operation_change(node);
    _cleanup_value_ const struct value *sealed =
        operation_seal_secrets(node->operation, step->attributes);

    value_assign(&node->recorded, sealed);

    return (struct record){.id = change->id,
                           .type = change->type,
                           .attributes = node->recorded,
                           .extensions = step->extensions,
                           .dependencies = dependencies,
                           .revision = node->operation->how.revision,
                           .action = recorded_action(node, step)};
}

/* ---- Before ---- */

static bool makes_room(const struct node *node, const struct runtime_step *step)
{
    const struct plan_change *change = operation_change(node);

    return step->action == PLAN_CREATE && change->action == PLAN_REPLACE && change->create_first &&
           !node->deposed;
}

/* The call may take as long as its own limit says, or what is left of the operation's time. */
static void mark_call(const struct node *node, const struct runtime_step *step,
                      char id[CALL_ID_SIZE], struct record *record)
{
    struct operation *operation = node->operation;
    int64_t now = operation_wall_clock(operation);
    int64_t left = operation_call(operation, NULL).deadline - operation_now(operation);

    if (step->limit)
        left = step->limit;
    snprintf(id, CALL_ID_SIZE, "%lld-%lld-%u", (long long)operation->config.epoch, (long long)now,
             node->index);
    record->status = RECORD_CREATING;
    record->call.id = id;
    record->call.term = ledger_term(operation->ledger);
    record->call.until = now + (left > 0 ? left : 0) + EFFECT_TIME;
}

/* Records that a create or an adoption begins, durably, before it is sent. Where objects can be
 * found again, the intent is there already, unless it was not known then that there is no object.
 */
static int begin_in_state(struct node *node, const struct runtime_step *step, struct error *error)
{
    struct operation *operation = node->operation;
    _cleanup_value_ const struct value *dependencies = operation_dependencies(node);
    _cleanup_(record_unref_p) const struct record *known = operation_known(node);
    struct record record = describe_record(node, step, dependencies);
    struct ledger_change changes[2];
    /* The recorded object was deleted by somebody else. */
    bool is_made_again = known && known->status != RECORD_INTENT && step->action == PLAN_CREATE;
    char call_id[CALL_ID_SIZE];
    size_t n = 0;
    int r;

    if (makes_room(node, step))
        changes[n++] = (struct ledger_change){.put = operation_depose(node)};
    if (creates_blindly(node) && step->action == PLAN_CREATE) {
        mark_call(node, step, call_id, &record);
    } else if (creates_blindly(node) && step->action == PLAN_ADOPT) {
        /* State alone says that the object is ours, from now on and whatever becomes of the change.
         * It has no result yet. */
        record.status = RECORD_APPLIED;
        record.uid = step->uid;
        record.memory = step->memory;
    } else if (known && !n && !is_made_again) {
        return ledger_check(operation->ledger, error); /* again: the call counts as begun now */
    } else {
        record.call = (struct record_call){.term = ledger_term(operation->ledger),
                                           .until = operation_late_create(operation, known)};
    }
    changes[n++] = (struct ledger_change){.put = record_new(&record)};
    r = ledger_begin(operation->ledger, changes, n, error);
    for (size_t i = 0; i < n; i++)
        record_unref(changes[i].put);
    return r;
}

/* ---- After ---- */

/* The `until` of the record of an object that exists now. A late create fails as long as the object
 * exists; State keeps its time for a deletion in the meantime. Finding the object does not rule out
 * another one: two processes may have been killed one after another. A begin mark ends with the
 * outcome of its call. */
static int64_t late_create_after_call(const struct operation *operation,
                                      const struct runtime_step *step,
                                      const struct runtime_outcome *outcome,
                                      const struct record *known)
{
    bool is_marked = known && known->status == RECORD_CREATING;
    int64_t until = is_marked ? 0 : operation_late_create(operation, known);

    return step->action == PLAN_CREATE && outcome->until > until ? outcome->until : until;
}

/* Values that are secret in the attributes are marked as secret in the result. */
static void land_observed(struct node *node, struct record *record,
                          const struct runtime_outcome *outcome)
{
    bool is_authority = operation_ops(node)->flags & RUNTIME_IS_RECORDED;
    _cleanup_value_ const struct value *known =
        operation_storable(is_authority ? outcome->now.result : NULL);
    _cleanup_value_ const struct value *marked = value_mark_like(known, record->attributes);
    _cleanup_value_ const struct value *result = operation_seal_result(node, marked);
    _cleanup_value_ const struct value *memory = operation_storable(record->memory);

    record->uid = outcome->now.uid;
    record->result = result;
    record->memory = memory;
    operation_land(node, record);
}

/* A create changed nothing: restores the record that was there before it. An intent stays while an
 * earlier call, whose answer was lost, may take effect. */
static void land_nothing(struct node *node)
{
    struct operation *operation = node->operation;
    const char *id = operation_change(node)->id;
    _cleanup_(record_unref_p) const struct record *known = operation_known(node);
    _cleanup_(record_unref_p) const struct record *before =
        node->deposed ? ledger_get(operation->ledger, id, node->deposed) : NULL;
    _cleanup_(record_unref_p) const struct record *restored = NULL;
    struct ledger_change changes[2] = {{.id = id}};
    size_t n = 1;

    if (known && known->status == RECORD_INTENT && operation_late_create(operation, known))
        return;
    if (before) {
        struct record in_force = *before;

        in_force.deposed = NULL;
        restored = record_new(&in_force);
        changes[0] = (struct ledger_change){.put = restored};
        changes[n++] = (struct ledger_change){.id = id, .deposed = node->deposed};
        node->deposed = NULL;
    }
    ledger_land(operation->ledger, changes, n, operation_ledger_when(node), NULL);
}

/* A create may have taken effect, or may do so yet: keeps the record from before it, with the time
 * until which that is possible. */
static void land_doubt(struct node *node, const struct runtime_outcome *outcome)
{
    _cleanup_(record_unref_p) const struct record *known = operation_known(node);
    int64_t until = operation_wall_clock(node->operation) + EFFECT_TIME;
    struct record record;

    if (!known)
        return;
    record = *known;
    if (outcome->until)
        record.call.until = outcome->until;
    else if (record.call.until < until)
        record.call.until = until;
    operation_land(node, &record);
}

/* The call failed and left an object. */
static void land_partial(struct node *node, const struct runtime_step *step,
                         const struct runtime_outcome *outcome)
{
    _cleanup_value_ const struct value *dependencies = operation_dependencies(node);
    _cleanup_(record_unref_p) const struct record *known = operation_known(node);
    struct record record = describe_record(node, step, dependencies);

    if (step->action != PLAN_CREATE && known)
        record = *known;
    else
        record.status = RECORD_TAINTED;
    record.call = (struct record_call){
        .until = late_create_after_call(node->operation, step, outcome, known)};
    record.fields_digest = outcome->now.fields_digest;
    record.memory = outcome->memory;
    land_observed(node, &record, outcome);
}

static bool is_in_doubt(const struct runtime_outcome *outcome)
{
    return outcome->certainty == OUTCOME_IN_DOUBT ||
           (outcome->certainty == OUTCOME_NOT_SENT && outcome->until);
}

void operation_confirm(struct node *node, const struct runtime_step *step,
                       const struct runtime_outcome *outcome)
{
    _cleanup_value_ const struct value *dependencies = operation_dependencies(node);
    _cleanup_(record_unref_p) const struct record *known = operation_known(node);
    struct record record = describe_record(node, step, dependencies);

    record.status = outcome->tainted ? RECORD_TAINTED : RECORD_APPLIED;
    record.call.until = late_create_after_call(node->operation, step, outcome, known);
    record.fields_digest = outcome->now.fields_digest;
    record.memory = outcome->memory;
    if (step->action == PLAN_UNCHANGED && known) {
        record.revision = known->revision;
        record.action = known->action;
        record.is_done = known->is_done;
        /* The object was read after it was planned: what others did to it since is drift. */
        if (!step->is_unrecorded)
            record.fields_digest = known->fields_digest;
        if (!record.memory)
            record.memory = known->memory;
    }
    land_observed(node, &record, outcome);
}

void operation_note_reading(struct node *node, const struct runtime_step *step)
{
    const struct plan_change *change = operation_change(node);
    _cleanup_value_ const struct value *dependencies = operation_dependencies(node);
    _cleanup_(record_unref_p) const struct record *known = operation_known(node);
    _cleanup_(record_unref_p) const struct record *record = NULL;
    struct record like = describe_record(node, step, dependencies);

    like.status = RECORD_APPLIED;
    like.is_only_read = true;
    like.action = change->action == PLAN_READ ? PLAN_READ : PLAN_UNCHANGED;
    if (known && like.action == PLAN_UNCHANGED) {
        like.revision = known->revision;
        like.action = known->action;
    }
    record = record_new(&like);
    if (!record_equal(record, known))
        ledger_land(node->operation->ledger, &(struct ledger_change){.put = record}, 1, LEDGER_SOON,
                    NULL);
}

/* ---- The call ---- */

void operation_note_warnings(struct node *node, const struct runtime_step *step,
                             const struct runtime_outcome *outcome)
{
    _cleanup_value_ const struct value *planned = operation_redact_warnings(node, step->warnings);
    _cleanup_value_ const struct value *said = operation_redact_warnings(node, outcome->warnings);

    operation_add_warnings(node->operation, node->index, planned);
    operation_add_warnings(node->operation, node->index, said);
}

/* Records the outcome of the call. An error of the ledger does not make the call fail: the ledger
 * keeps what it could not store, and nothing new begins. */
static void land_outcome(struct node *node, const struct runtime_step *step,
                         const struct runtime_outcome *outcome, const struct error *failure)
{
    const struct observation *now = &outcome->now;

    if (!failure->code) {
        operation_set_live(node, now->result);
        operation_confirm(node, step, outcome);
    } else if (is_in_doubt(outcome)) {
        free(node->lost);
        node->lost =
            str_new_n(failure->message, (size_t)(err_hints(failure->message) - failure->message));
        if (step->action == PLAN_CREATE)
            land_doubt(node, outcome);
    } else if (outcome->certainty == OUTCOME_KNOWN && now->presence == PRESENCE_PRESENT) {
        land_partial(node, step, outcome);
    } else if (step->action == PLAN_CREATE) {
        land_nothing(node);
    }
}

int operation_make(struct node *node, struct runtime_step *step, struct runtime_outcome *outcome,
                   struct error *error)
{
    struct operation *operation = node->operation;
    const char *id = operation_change(node)->id;
    struct calls *calls = ledger_calls(operation->ledger);
    struct error problem = {0};
    struct runtime_call call;

    if (!calls_begin(calls, id, operation_now(operation)))
        return err_set(error, ERR_UNAVAILABLE, "UnderWay", "another change of it is under way");
    node_move(node, STEP_APPLY, NODE_SENT);
    if (begin_in_state(node, step, &problem) >= 0) {
        call = operation_call(operation, node->large);
        operation_ops(node)->apply(step, &call, outcome, &problem);
        if (problem.code != ERR_CONFLICT) /* after which it is planned and made again */
            operation_yield(node, STEP_APPLY);
        land_outcome(node, step, outcome, &problem);
        operation_note_warnings(node, step, outcome);
    }
    calls_end(calls, id);
    if (problem.code)
        node_move(node, STEP_APPLY, NODE_OUTDATED);
    return problem.code ? err_copy(error, &problem) : 0;
}
