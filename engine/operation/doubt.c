/* Creations whose outcome was never recorded. */
#include "engine/base/value_mark.h"
#include "engine/operation/private.h"
#include "engine/spec/not_created.h"

bool operation_is_doubtful(const struct record *record)
{
    return record && record->status == RECORD_CREATING;
}

int operation_hold_doubtful(const struct record *record, struct error *error)
{
    long long revision = (long long)record->revision;

    return err_set(
        error, ERR_CONFLICT, "OutcomeUnknown",
        "its creation was begun (revision %lld), and whether it happened is not known: "
        "it is held, so that nothing is made twice. Look for it where it is made. If it is there, "
        "take it over by its import id, where its type has one; if it is not, set its "
        "extensions[" NOT_CREATED "] to %lld, and it is created. A Spec "
        "that is deleted with deletionPolicy Orphan leaves everything where it is",
        revision, revision);
}

static bool is_denied(const struct record *record, const struct value *extensions)
{
    return value_int(value_get(extensions, NOT_CREATED), 0) == record->revision;
}

int operation_check_doubtful(const struct record *record, const struct value *extensions,
                             const struct runtime_step *step, struct error *error)
{
    bool creates = step->action != PLAN_ADOPT && step->action != PLAN_DEFERRED;

    return creates && !is_denied(record, extensions) ? operation_hold_doubtful(record, error) : 0;
}

static int find(struct node *node, const struct record *record, struct runtime_outcome *outcome,
                struct error *error)
{
    struct runtime_target target = operation_removal_target(record);

    target.attributes = record->attributes;
    return operation_read(node, &target, node->large, outcome, error);
}

/* The object that was found is ours, and is recorded as it is. Values that were secret in the
 * attributes are marked as secret in the result. */
static int land_found(struct operation *operation, const struct record *record,
                      const struct runtime_outcome *outcome, const struct record **ret,
                      struct error *error)
{
    _cleanup_value_ const struct value *known = operation_storable(outcome->now.result);
    _cleanup_value_ const struct value *result = value_mark_like(known, record->attributes);
    _cleanup_value_ const struct value *memory = operation_storable(outcome->memory);
    struct record found = *record;
    struct ledger_change change;

    found.status = RECORD_APPLIED;
    found.uid = outcome->now.uid;
    found.fields_digest = outcome->now.fields_digest;
    found.result = result;
    found.memory = memory;
    found.call = (struct record_call){0};
    *ret = record_new(&found);
    change = (struct ledger_change){.put = *ret};
    return ledger_land(operation->ledger, &change, 1, LEDGER_NOW, error);
}

static int land_absent(struct operation *operation, const struct record *record,
                       struct error *error)
{
    struct ledger_change gone = {.id = record->id, .deposed = record->deposed};

    return ledger_land(operation->ledger, &gone, 1, LEDGER_NOW, error);
}

int64_t operation_late_create(const struct operation *operation, const struct record *record)
{
    return record && record->call.until > operation_wall_clock(operation) ? record->call.until : 0;
}

bool operation_is_in_flight(const struct operation *operation, const struct record *record)
{
    return record && record->status == RECORD_CREATING && operation_late_create(operation, record);
}

void operation_in_flight_until(const struct record *record, char ret_text[TIMESTAMP_SIZE])
{
    timestamp_format(record->call.until, ret_text);
}

static int wait_for_effect(const struct node *node, const struct record *record,
                           struct error *error)
{
    char until[TIMESTAMP_SIZE];

    operation_in_flight_until(record, until);
    return err_set(error, ERR_CONFLICT, "OutcomeUnknown",
                   "the answer to its creation was lost, and it may still take effect: it is left "
                   "alone until %s, so that nothing is made twice%s%s%s",
                   until, node->lost ? " (" : "", node->lost ? node->lost : "",
                   node->lost ? ")" : "");
}

int operation_settle_doubt(struct operation *operation, struct node *node,
                           const struct record **record, struct error *error)
{
    const struct record *doubtful = *record, *found = NULL;
    struct runtime_outcome outcome = {0};
    struct error problem = {0};
    int r;

    if (!operation_is_doubtful(doubtful))
        return 0;
    if (operation_is_in_flight(operation, doubtful))
        return wait_for_effect(node, doubtful, error);
    r = find(node, doubtful, &outcome, &problem);
    if (r == ERR_UNSUPPORTED) {
        outcome_done(&outcome);
        return 0;
    }
    if (r < 0)
        err_copy(error, &problem);
    else if (outcome.now.presence == PRESENCE_PRESENT)
        r = land_found(operation, doubtful, &outcome, &found, error);
    else
        r = land_absent(operation, doubtful, error);
    outcome_done(&outcome);
    if (r < 0) {
        record_unref(found);
        return r;
    }
    record_unref(doubtful);
    *record = found;
    return 0;
}
