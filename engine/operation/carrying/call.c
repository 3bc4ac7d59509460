/* Making a resource, and recording it in State before and after. */
#include <stdio.h>

#include "engine/base/str.h"
#include "engine/base/value_mark.h"
#include "engine/operation/carrying/carrying.h"
#include "engine/operation/carrying/doubt.h"
#include "engine/operation/planning/planning.h"
#include "engine/operation/records.h"
#include "engine/operation/results.h"

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
    const struct operation *operation = node->operation;
    _cleanup_(record_unref_p) const struct record *known = NULL;

    if (step->action != PLAN_CREATE)
        return step->action;
    if (operation_change(node)->action == PLAN_REPLACE)
        return PLAN_REPLACE;
    known = ledger_get(operation->ledger, operation_change(node)->id, NULL);
    return known && known->status != RECORD_APPLIED && known->action == PLAN_REPLACE &&
                   known->revision == operation->how.revision
               ? PLAN_REPLACE
               : PLAN_CREATE;
}

/* What State has of a resource whatever becomes of the call. dependencies: the caller's reference.
 */
static struct record describe_record(const struct node *node, const struct runtime_step *step,
                                     const struct value *dependencies)
{
    const struct plan_change *change = operation_change(node);

    return (struct record){.id = change->id,
                           .type = change->type,
                           .attributes = step->attributes,
                           .extensions = step->extensions,
                           .dependencies = dependencies,
                           .revision = node->operation->how.revision,
                           .action = recorded_action(node, step)};
}

static int land_record(struct node *node, const struct record *like, struct error *error)
{
    _cleanup_(record_unref_p) const struct record *record = record_new(like);
    struct ledger_change change = {.put = record};

    return ledger_land(node->operation->ledger, &change, 1, operation_ledger_when(node), error);
}

/* ---- Before ---- */

static bool makes_room(const struct node *node, const struct runtime_step *step)
{
    const struct plan_change *change = operation_change(node);

    return step->action == PLAN_CREATE && change->action == PLAN_REPLACE && change->create_first &&
           !node->deposed;
}

/* The call may take as long as its own limit says, or what is left of the operation's time. */
static void mark_call(struct operation *operation, const struct node *node,
                      const struct runtime_step *step, char id[CALL_ID_SIZE], struct record *record)
{
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
static int begin_in_state(struct operation *operation, struct node *node,
                          const struct runtime_step *step, struct error *error)
{
    _cleanup_value_ const struct value *dependencies =
        operation_dependencies(operation, node->index);
    _cleanup_(record_unref_p) const struct record *known =
        ledger_get(operation->ledger, operation_change(node)->id, NULL);
    struct record record = describe_record(node, step, dependencies);
    struct ledger_change changes[2];
    /* The recorded object was deleted by somebody else. */
    bool is_made_again = known && known->status != RECORD_INTENT && step->action == PLAN_CREATE;
    char call_id[CALL_ID_SIZE];
    size_t n = 0;
    int r;

    if (makes_room(node, step))
        changes[n++] = (struct ledger_change){.put = operation_depose(operation, node)};
    if (creates_blindly(node) && step->action == PLAN_CREATE) {
        mark_call(operation, node, step, call_id, &record);
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

/* The object exists now. If an attempt to create it may still come, that attempt fails as long as
 * the object exists: State keeps its time for a deletion in the meantime. That the object was found
 * does not settle it, because there may be several: two processes were killed one after another,
 * say. A begin mark ends with the outcome of its call. */
static int64_t late_create_after_call(const struct operation *operation,
                                      const struct runtime_step *step,
                                      const struct runtime_outcome *outcome,
                                      const struct record *known)
{
    bool is_marked = known && known->status == RECORD_CREATING;
    int64_t until = is_marked ? 0 : operation_late_create(operation, known);

    return step->action == PLAN_CREATE && outcome->until > until ? outcome->until : until;
}

static void take_observation(struct record *record, const struct runtime_outcome *outcome,
                             bool is_authority)
{
    record->uid = outcome->now.uid;
    record->fields_digest = outcome->now.fields_digest;
    record->result = is_authority ? outcome->now.result : NULL;
    record->memory = outcome->memory;
}

/* Values that are secret in the attributes are marked as secret in the result. */
static int land_marked(struct node *node, struct record *record, struct error *error)
{
    _cleanup_value_ const struct value *known = operation_storable(record->result);
    _cleanup_value_ const struct value *result = value_mark_like(known, record->attributes);
    _cleanup_value_ const struct value *memory = operation_storable(record->memory);

    record->result = result;
    record->memory = memory;
    return land_record(node, record, error);
}

/* The intent has the time until which an earlier call, whose answer was lost, may take effect. */
static bool may_still_land(const struct operation *operation, const struct node *node)
{
    _cleanup_(record_unref_p) const struct record *known =
        ledger_get(operation->ledger, operation_change(node)->id, NULL);

    return known && known->status == RECORD_INTENT && operation_late_create(operation, known);
}

/* A create changed nothing: State gets back what it had before. */
static int land_nothing(struct operation *operation, struct node *node, struct error *error)
{
    const struct plan_change *change = operation_change(node);
    _cleanup_(record_unref_p) const struct record *before =
        node->deposed ? ledger_get(operation->ledger, change->id, node->deposed) : NULL;
    struct ledger_change changes[2] = {{.id = change->id}};
    _cleanup_(record_unref_p) const struct record *restored = NULL;
    size_t n = 1;

    if (may_still_land(operation, node))
        return 0;
    if (before) {
        struct record in_force = *before;

        in_force.deposed = NULL;
        restored = record_new(&in_force);
        changes[0] = (struct ledger_change){.put = restored};
        changes[n++] = (struct ledger_change){.id = change->id, .deposed = node->deposed};
        node->deposed = NULL;
    }
    return ledger_land(operation->ledger, changes, n, operation_ledger_when(node), error);
}

/* The call may have taken effect, or may do so yet: the record from before it stays. */
static int land_doubt(struct operation *operation, struct node *node,
                      const struct runtime_outcome *outcome, struct error *error)
{
    _cleanup_(record_unref_p) const struct record *known =
        ledger_get(operation->ledger, operation_change(node)->id, NULL);
    struct record record;

    if (!known)
        return 0;
    record = *known;
    if (outcome->until)
        record.call.until = outcome->until;
    else if (record.call.until < operation_wall_clock(operation) + EFFECT_TIME)
        record.call.until = operation_wall_clock(operation) + EFFECT_TIME;
    return land_record(node, &record, error);
}

/* The call failed, and an object is there. */
static int land_partial(struct operation *operation, struct node *node,
                        const struct runtime_step *step, const struct runtime_outcome *outcome,
                        struct error *error)
{
    _cleanup_value_ const struct value *dependencies =
        operation_dependencies(operation, node->index);
    _cleanup_(record_unref_p) const struct record *known =
        ledger_get(operation->ledger, operation_change(node)->id, NULL);
    struct record record = describe_record(node, step, dependencies);

    if (step->action != PLAN_CREATE && known)
        record = *known;
    else
        record.status = RECORD_TAINTED;
    record.call =
        (struct record_call){.until = late_create_after_call(operation, step, outcome, known)};
    take_observation(&record, outcome, operation_ops(node)->flags & RUNTIME_IS_RECORDED);
    return land_marked(node, &record, error);
}

static bool is_in_doubt(const struct runtime_outcome *outcome)
{
    return outcome->certainty == OUTCOME_IN_DOUBT ||
           (outcome->certainty == OUTCOME_NOT_SENT && outcome->until);
}

static int land_failure(struct operation *operation, struct node *node,
                        const struct runtime_step *step, const struct runtime_outcome *outcome,
                        struct error *error)
{
    if (is_in_doubt(outcome))
        return step->action == PLAN_CREATE ? land_doubt(operation, node, outcome, error) : 0;
    if (outcome->certainty == OUTCOME_KNOWN && outcome->now.presence == PRESENCE_PRESENT)
        return land_partial(operation, node, step, outcome, error);
    return step->action == PLAN_CREATE ? land_nothing(operation, node, error) : 0;
}

int operation_confirm(struct operation *operation, struct node *node,
                      const struct runtime_step *step, struct runtime_outcome *outcome,
                      struct error *error)
{
    _cleanup_value_ const struct value *dependencies =
        operation_dependencies(operation, node->index);
    _cleanup_(record_unref_p) const struct record *known =
        ledger_get(operation->ledger, operation_change(node)->id, NULL);
    struct record record = describe_record(node, step, dependencies);

    record.status = outcome->tainted ? RECORD_TAINTED : RECORD_APPLIED;
    record.call.until = late_create_after_call(operation, step, outcome, known);
    take_observation(&record, outcome, operation_ops(node)->flags & RUNTIME_IS_RECORDED);
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
    return land_marked(node, &record, error);
}

void operation_note_reading(struct operation *operation, struct node *node,
                            const struct runtime_step *step)
{
    const struct plan_change *change = operation_change(node);
    _cleanup_value_ const struct value *dependencies =
        operation_dependencies(operation, node->index);
    _cleanup_(record_unref_p) const struct record *known =
        ledger_get(operation->ledger, change->id, NULL);
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
        ledger_land(operation->ledger, &(struct ledger_change){.put = record}, 1, LEDGER_SOON,
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

/* An error of the ledger is not the call's: the ledger keeps what it could not store, and nothing
 * new begins. */
static int send_step(struct operation *operation, struct node *node, struct runtime_step *step,
                     struct runtime_outcome *outcome, struct error *error)
{
    struct runtime_call call = operation_call(operation, node->large);
    int r = operation_ops(node)->apply(step, &call, outcome, error);

    if (r != ERR_CONFLICT) /* after which it is planned and made again */
        operation_yield(node, STEP_APPLY);
    if (r < 0) {
        if (is_in_doubt(outcome)) {
            free(node->lost);
            node->lost =
                str_new_n(error->message, (size_t)(err_hints(error->message) - error->message));
        }
        land_failure(operation, node, step, outcome, NULL);
    } else {
        operation_set_live(node, outcome->now.result);
        operation_confirm(operation, node, step, outcome, NULL);
    }
    operation_note_warnings(node, step, outcome);
    return r < 0 ? r : 0;
}

int operation_make(struct operation *operation, struct node *node, struct runtime_step *step,
                   struct observation *ret_now, struct error *error)
{
    const char *id = operation_change(node)->id;
    struct calls *calls = ledger_calls(operation->ledger);
    struct runtime_outcome outcome = {0};
    int r;

    if (!calls_begin(calls, id, operation_now(operation)))
        return err_set(error, ERR_UNAVAILABLE, "UnderWay", "another change of it is under way");
    node_move(node, STEP_APPLY, NODE_SENT);
    r = begin_in_state(operation, node, step, error);
    if (r >= 0)
        r = send_step(operation, node, step, &outcome, error);
    calls_end(calls, id);
    if (r >= 0) {
        *ret_now = outcome.now;
        outcome.now = (struct observation){0};
    } else {
        node_move(node, STEP_APPLY, NODE_OUTDATED);
    }
    outcome_done(&outcome);
    return r;
}
