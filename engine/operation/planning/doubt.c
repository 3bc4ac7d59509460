/* Objects of which State does not tell whether they are there: creations whose outcome was never
 * recorded, and what was lost with State. */
#include "engine/operation/planning/doubt.h"
#include "engine/operation/planning/target.h"
#include "engine/operation/private.h"
#include "engine/operation/records.h"
#include "engine/operation/secrets.h"
#include "engine/operation/session.h"
#include "engine/spec/ref.h"
#include "engine/value/value_mark.h"

bool operation_is_doubtful(const struct record *record)
{
    return record && record->status == RECORD_CREATING;
}

static bool is_lost(const struct record *record)
{
    return record && record->lost_revision;
}

/* ---- Words of a person ---- */

/* The extensions in which a person settles what becomes of the change's object. A Spec that is
 * being deleted has them, too, though nothing of it is wanted any more. Borrowed. */
static const struct value *settling_words(const struct node *node)
{
    const struct plan_change *change = operation_change(node);

    return change->resource ? change->resource->extensions
                            : value_get(node->operation->config.extensions, change->id);
}

/* `not-created` names the doubt by its revision. */
static bool is_said_absent(const struct record *record, const struct value *words)
{
    return value_int(value_get(words, NOT_CREATED), 0) ==
           (record->lost_revision ? record->lost_revision : record->revision);
}

static bool is_settled_by_person(const struct node *node, const struct record *record)
{
    const struct value *words = settling_words(node);

    return is_said_absent(record, words) || value_get(words, IMPORT_ID);
}

/* ---- Holding ---- */

static int hold_lost(const struct record *record, struct error *error)
{
    long long revision = (long long)record->lost_revision;

    return err_set(
        error, ERR_CONFLICT, "StateLost",
        "State was lost, or is older than revision %lld, by which this object was there: "
        "it is held, so that nothing is made twice, and nothing is left behind. Restore "
        "State. Or look for the object where it is made: if it is there, take it over "
        "by extensions[" IMPORT_ID "], or by the Spec's terraformState.from; if it is "
        "not, set its extensions[" NOT_CREATED "] to %lld",
        revision, revision);
}

int operation_hold_doubtful(const struct record *record, struct error *error)
{
    long long revision = (long long)record->revision;

    if (is_lost(record))
        return hold_lost(record, error);
    return err_set(
        error, ERR_CONFLICT, "OutcomeUnknown",
        "its creation was begun (revision %lld), and whether it happened is not known: "
        "it is held, so that nothing is made twice. Look for it where it is made. If it is there, "
        "take it over by extensions[" IMPORT_ID "], where its type has an import id; if it is not, "
        "set its extensions[" NOT_CREATED "] to %lld, and it is created. A Spec "
        "that is deleted with deletionPolicy Orphan leaves everything where it is",
        revision, revision);
}

int operation_check_doubtful(const struct record *record, const struct value *extensions,
                             const struct runtime_step *step, struct error *error)
{
    return step->action == PLAN_CREATE && !is_said_absent(record, extensions)
               ? operation_hold_doubtful(record, error)
               : 0;
}

int operation_check_lost(const struct node *node, const struct record *record,
                         const struct runtime_step *step, struct error *error)
{
    bool is_missing = step->action == PLAN_FORGET && !step->uid;

    return is_lost(record) && is_missing && !is_said_absent(record, settling_words(node))
               ? hold_lost(record, error)
               : 0;
}

/* ---- Settling ---- */

/* The object that was found is ours, and is recorded as it is. Values that were secret in the
 * attributes are marked as secret in the result. */
static int land_found(struct node *node, const struct record *record,
                      const struct value *extensions, const struct runtime_outcome *outcome,
                      const struct record **ret, struct error *error)
{
    _cleanup_value_ const struct value *kept = value_without(extensions, IMPORT_ID);
    _cleanup_value_ const struct value *known = operation_storable(outcome->now.result);
    _cleanup_value_ const struct value *marked = value_mark_like(known, record->attributes);
    _cleanup_value_ const struct value *result = operation_seal_result(node, marked);
    _cleanup_value_ const struct value *memory = operation_storable(outcome->memory);
    struct record found = *record;
    struct ledger_change change;

    found.status = RECORD_APPLIED;
    found.uid = outcome->now.uid;
    found.fields_digest = outcome->now.fields_digest;
    found.result = result;
    found.memory = memory;
    found.call = (struct record_call){0};
    found.lost_revision = 0;
    if (extensions)
        found.extensions = kept;
    *ret = record_new(&found);
    change = (struct ledger_change){.put = *ret};
    return ledger_land(node->operation->ledger, &change, 1, LEDGER_NOW, error);
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

bool operation_is_in_flight(const struct node *node, const struct record *record)
{
    return operation_is_doubtful(record) && operation_late_create(node->operation, record) &&
           !is_settled_by_person(node, record);
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
                   "alone until %s, so that nothing is made twice%s%s%s. " OPERATION_SETTLE_AT_ONCE,
                   until, node->lost ? " (" : "", node->lost ? node->lost : "",
                   node->lost ? ")" : "", (long long)record->revision);
}

/* The extensions with the import id by which an object that leaves is looked up; NULL: there is
 * none. */
static const struct value *import_words(const struct node *node)
{
    const struct value *words = operation_change(node)->resource ? NULL : settling_words(node);

    return value_get(words, IMPORT_ID) ? words : NULL;
}

/* Whether a read can tell if the object is there. An object that was lost with State is found by an
 * import id alone. A resource of the Spec that a person has settled is planned as that person says.
 */
static bool is_to_be_found(const struct node *node, const struct record *record)
{
    if (import_words(node))
        return true;
    return !is_lost(record) &&
           !(operation_change(node)->resource && is_settled_by_person(node, record));
}

static int refuse_reference(void *arg, const char *text, struct error *error)
{
    (void)arg;
    return err_set(error, ERR_INVALID, "ImportFailed",
                   "its extensions have the reference %s: a Spec that is being deleted resolves "
                   "none, so write out what it stands for",
                   text);
}

static int look_for_object(struct node *node, const struct record *doubtful,
                           const struct record **ret, struct error *error)
{
    const struct value *words = import_words(node);
    struct record unknown = *doubtful; /* whatever an older State has of it */
    struct runtime_target target;
    _cleanup_(outcome_done) struct runtime_outcome outcome = {0};
    struct error problem = {0};
    int r = ref_each(words, refuse_reference, NULL, error);

    if (r < 0)
        return r;
    unknown.status = RECORD_CREATING;
    unknown.memory = unknown.result = NULL;
    unknown.uid = NULL;
    target = operation_removal_target(&unknown);
    target.attributes = unknown.attributes;
    if (words)
        target.extensions = words;
    r = operation_read(node, &target, node->large, &outcome, &problem);
    if (r == ERR_UNSUPPORTED) {
        *ret = record_ref(doubtful);
        return 0;
    }
    if (r < 0)
        return err_copy(error, &problem);
    if (outcome.now.presence == PRESENCE_PRESENT)
        return land_found(node, doubtful, words, &outcome, ret, error);
    if (words)
        return err_set(error, ERR_INVALID, "ImportFailed",
                       "extensions[" IMPORT_ID "]: no object is found by it");
    return land_absent(node->operation, doubtful, error);
}

int operation_settle_doubt(struct node *node, const struct record **record, struct error *error)
{
    const struct record *doubtful = *record, *settled = NULL;
    bool is_named = is_lost(doubtful) && import_words(node);
    int r;

    if (!operation_is_doubtful(doubtful) && !is_named)
        return 0;
    if (operation_is_in_flight(node, doubtful))
        return wait_for_effect(node, doubtful, error);
    if (!operation_change(node)->resource && is_said_absent(doubtful, settling_words(node)))
        r = land_absent(node->operation, doubtful, error);
    else if (is_to_be_found(node, doubtful))
        r = look_for_object(node, doubtful, &settled, error);
    else
        return 0;
    if (r < 0) {
        record_unref(settled);
        return r;
    }
    record_unref(doubtful);
    *record = settled;
    return 0;
}
