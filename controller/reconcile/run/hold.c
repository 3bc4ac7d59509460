#include "controller/reconcile/run/hold.h"

#include <stdlib.h>

#include "engine/base/str.h"

void hold_done(struct hold *hold)
{
    free(hold->spec_uid);
    free(hold->sources);
    free(hold->spec_digest);
    free(hold->request);
    free(hold->requested_at);
    free(hold->request_version);
    free(hold->request_name);
    value_unref(hold->before);
    free(hold->cause);
    *hold = (struct hold){0};
}

const char *hold_reason(const struct hold *hold)
{
    return hold->operation == RELEASE_DESTROY ? "Destroyed" : "RolledBack";
}

static bool is_of(const struct hold *hold, const char *spec_uid, int64_t generation)
{
    return hold->operation != RELEASE_APPLY && hold->generation == generation &&
           str_equal(hold->spec_uid, spec_uid);
}

bool hold_has_ended(const struct hold *hold, const char *spec_uid, int64_t generation)
{
    return is_of(hold, spec_uid, generation) && hold->has_ended;
}

bool hold_is_in_force(const struct hold *hold, const char *spec_uid, int64_t generation,
                      const char *sources)
{
    bool is_known = hold->sources && *sources;

    return is_of(hold, spec_uid, generation) && !hold->has_ended &&
           (!is_known || str_equal(hold->sources, sources));
}

/* ---- In State ---- */

static const struct value *hold_to_value(const struct hold *hold)
{
    _cleanup_value_ const struct value *shown = hold->shown ? value_pack("I", hold->shown) : NULL;
    _cleanup_value_ const struct value *ended = hold->has_ended ? value_pack("b", 1) : NULL;

    return value_pack(
        "{s:s, s:s, s:I, s:I, s:I, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:v?, s:v?, s:s?, s:v?}",
        "operation", release_operation_name(hold->operation), "specUid", hold->spec_uid,
        "generation", hold->generation, "revision", hold->revision, "toRevision", hold->to_revision,
        "specDigest", hold->spec_digest, "request", hold->request, "requestedAt",
        hold->requested_at, "requestVersion", hold->request_version, "cause", hold->cause,
        "requestName", hold->request_name, "shown", shown, "before", hold->before, "sources",
        hold->sources, "ended", ended);
}

static int from_value(const struct value *value, struct hold *ret, struct error *error)
{
    enum release_operation operation;

    if (!release_operation_parse(value_get_string(value, "operation"), &operation) ||
        (operation != RELEASE_ROLLBACK && operation != RELEASE_DESTROY))
        return err_set(error, ERR_CORRUPT, "StateCorrupt",
                       "State holds the Spec in a way that this version does not know");
    *ret = (struct hold){.operation = operation,
                         .spec_uid = str_new(value_get_string(value, "specUid")),
                         .generation = value_int(value_get(value, "generation"), 0),
                         .revision = value_int(value_get(value, "revision"), 0),
                         .to_revision = value_int(value_get(value, "toRevision"), 0),
                         .spec_digest = str_new(value_get_string(value, "specDigest")),
                         .request = str_new(value_get_string(value, "request")),
                         .requested_at = str_new(value_get_string(value, "requestedAt")),
                         .request_version = str_new(value_get_string(value, "requestVersion")),
                         .cause = str_new(value_get_string(value, "cause")),
                         .request_name = str_new(value_get_string(value, "requestName")),
                         .shown = value_int(value_get(value, "shown"), 0),
                         .before = value_ref(value_get(value, "before")),
                         .sources = str_new(value_get_string(value, "sources")),
                         .has_ended = value_bool(value_get(value, "ended"), false)};
    return 0;
}

int hold_read(struct ledger *ledger, struct hold *ret, struct error *error)
{
    _cleanup_(arena_done) struct arena arena = ARENA_INIT;
    struct state_head head;
    int r = 0;

    ledger_head(ledger, &arena, &head);
    if (head.hold)
        r = from_value(head.hold, ret, error);
    else
        *ret = (struct hold){0};
    return r;
}

static int write_value(struct ledger *ledger, const struct value *value, struct error *error)
{
    struct arena arena = ARENA_INIT;
    struct state_head head;

    ledger_head(ledger, &arena, &head);
    head.hold = value;
    ledger_set_head(ledger, &head);
    arena_done(&arena);
    return ledger_begin(ledger, NULL, 0, error);
}

int hold_write(struct ledger *ledger, const struct hold *hold, struct error *error)
{
    _cleanup_value_ const struct value *value = hold_to_value(hold);

    return write_value(ledger, value, error);
}

int hold_end_if_changed(struct ledger *ledger, struct hold *hold, const char *spec_uid,
                        int64_t generation, const char *sources, struct error *error)
{
    if (!is_of(hold, spec_uid, generation) || hold->has_ended ||
        hold_is_in_force(hold, spec_uid, generation, sources))
        return 0;
    hold->has_ended = true;
    return hold_write(ledger, hold, error);
}

const struct value *hold_before(const struct hold *hold, int64_t applied)
{
    _cleanup_value_ const struct value *value = NULL;

    if (hold->operation == RELEASE_APPLY)
        return NULL;
    if (applied < hold->revision) /* it was not carried out itself */
        return value_ref(hold->before);
    value = hold_to_value(hold);
    return value_without(value, "before");
}

int hold_withdraw(struct ledger *ledger, const struct hold *hold, struct error *error)
{
    return write_value(ledger, hold->before, error);
}
