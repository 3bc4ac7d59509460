/* Creations whose outcome was never told. */
#include "engine/base/str.h"
#include "engine/operation/private.h"

static int hold(const struct record *record, struct error *error)
{
    return err_set(error, ERR_CONFLICT, "OutcomeUnknown",
                   "its creation was begun (revision %lld), and whether it happened is not known: "
                   "look for it where it is made; delete it there, or import it under its id, and "
                   "take the record out of State",
                   (long long)record->revision);
}

static int find(struct operation *operation, struct node *node, const struct record *record,
                struct runtime_outcome *outcome, struct error *error)
{
    struct runtime_target target = {.id = record->id,
                                    .attributes = record->attributes,
                                    .extensions = record->extensions,
                                    .prior = record};
    struct runtime_call call = operation_call(operation);
    struct runtime_session *session;
    int r = operation_session(operation, node, &session, error);

    return r < 0 ? r : operation_ops(node)->read(session, &target, &call, outcome, error);
}

/* What was found is recorded as it is; it was not seen to come to its end. */
static int land_found(struct operation *operation, const struct record *record,
                      const struct runtime_outcome *outcome, const struct record **ret,
                      struct error *error)
{
    struct record found = *record;
    struct ledger_change change;

    found.status = RECORD_TAINTED;
    found.uid = outcome->now.uid;
    found.footprint = outcome->now.footprint;
    found.result = outcome->now.result;
    found.memory = outcome->memory;
    found.call = (struct record_call){0};
    *ret = record_new(&found);
    change = (struct ledger_change){.put = *ret};
    return ledger_land(operation->ledger, &change, 1, LEDGER_NOW, error);
}

int operation_settle_doubt(struct operation *operation, struct node *node, struct error *error)
{
    struct plan_change *change = &operation->plan->changes[node->index];
    const struct record *record = change->record, *found = NULL;
    struct ledger_change gone = {.id = change->id, .deposed = change->deposed};
    struct runtime_outcome outcome = {0};
    struct error problem = {0};
    int r;

    if (!record || record->status != RECORD_CREATING)
        return 0;
    r = find(operation, node, record, &outcome, &problem);
    if (r == ERR_UNSUPPORTED)
        r = hold(record, error);
    else if (r < 0)
        err_copy(error, &problem);
    else if (outcome.now.presence == PRESENCE_PRESENT)
        r = land_found(operation, record, &outcome, &found, error);
    else
        r = ledger_land(operation->ledger, &gone, 1, LEDGER_NOW, error);
    outcome_done(&outcome);
    if (r < 0) {
        record_unref(found);
        return r;
    }
    record_unref(change->record);
    change->record = found;
    return 0;
}
