#include "controller/reconcile/run/recall.h"

#include "controller/reconcile/run/witness.h"
#include "engine/base/str.h"
#include "engine/store/gate.h"

/* ---- What the status says ---- */

static const struct value *status_of(const struct run *run)
{
    return value_get(run->object, "status");
}

static int64_t number_at(const struct run *run, const char *part, const char *key)
{
    return value_int(value_path(status_of(run), part, key, NULL), 0);
}

/* An inventory that is there decides, as it is written when the objects have gone, too. */
static bool names_objects(const struct run *run)
{
    if (value_path(status_of(run), "inventory", "total", NULL))
        return number_at(run, "inventory", "total") > 0;
    return (run_last_applied(run) > 0 && number_at(run, "resources", "total") > 0) ||
           number_at(run, "resources", "ready") > 0;
}

static const struct value *inventory_of(const struct run *run)
{
    return value_path(status_of(run), "inventory", "entries", NULL);
}

bool recall_is_recorded(const struct reconcile_context *context, const char *type)
{
    const struct runtime *runtime = context_runtime(context, type);

    return runtime && runtime->ops->flags & RUNTIME_IS_RECORDED;
}

bool recall_names_recorded(const struct run *run)
{
    const struct value *entries = inventory_of(run);

    if (number_at(run, "inventory", "omitted"))
        return true;
    for (size_t i = 0; i < value_count(entries); i++)
        if (recall_is_recorded(run->context, value_get_string(value_at(entries, i), "type")))
            return true;
    return false;
}

bool recall_holds_resources(const struct run *run)
{
    const struct value *failed = value_path(status_of(run), "resources", "failed", NULL);

    if (number_at(run, "resources", "omitted"))
        return true;
    for (size_t i = 0; i < value_count(failed); i++)
        if (str_equal(value_get_string(value_at(failed, i), "reason"), "StateLost"))
            return true;
    return false;
}

/* ---- Whether State is behind ---- */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

bool recall_is_whole(const struct run *run, struct ledger *ledger)
{
    const struct state_head head = run_state_numbers(ledger);

    return ledger_is_stored(ledger) &&
           later(head.applied_revision, head.recalled_revision) >= run_last_applied(run);
}

/* The inventory names an object that State alone knows, and it has no record of it. */
static bool misses_recorded(const struct run *run, struct ledger *ledger)
{
    const struct value *entries = inventory_of(run);
    bool misses = false;

    for (size_t i = 0; i < value_count(entries) && !misses; i++) {
        const char *id = value_get_string(value_at(entries, i), "id");
        const struct record *record = id ? ledger_get(ledger, id, NULL) : NULL;

        misses = id && !record &&
                 recall_is_recorded(run->context, value_get_string(value_at(entries, i), "type"));
        record_unref(record);
    }
    return misses;
}

static void add_entries(struct value_builder *b, const struct value *resources)
{
    for (size_t i = 0; i < value_count(resources); i++) {
        _cleanup_value_ const struct value *entry =
            value_pack("{s:v?, s:v?}", "id", value_get(value_at(resources, i), "id"), "type",
                       value_get(value_at(resources, i), "type"));

        value_add(b, entry);
    }
}

/* The status says nothing of what was there: nothing was, or it was not restored with the Spec. An
 * attempt that failed before State was known says nothing of it, either. */
static bool is_silent(const struct run *run)
{
    return !value_get(status_of(run), "inventory") && !value_get(status_of(run), "resources") &&
           !run_last_applied(run) && !run_unfinished(run);
}

/* Specs that have nothing but what its mark finds are many, and new ones cost no request. */
static bool wants_recorded(const struct run *run)
{
    const struct value *resources = value_path(run_source(run), "spec", "resources", NULL);

    for (size_t i = 0; i < value_count(resources); i++)
        if (recall_is_recorded(run->context, value_get_string(value_at(resources, i), "type")))
            return true;
    return false;
}

/* What may have been there: the inventory; what Releases tell of; and the Spec's resources, where
 * neither names all. */
static const struct value *list_candidates(const struct run *run, const struct witness *witness,
                                           bool with_spec)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    value_begin_array(b);
    add_entries(b, inventory_of(run));
    add_entries(b, witness->entries);
    if (with_spec)
        add_entries(b, value_path(run_source(run), "spec", "resources", NULL));
    value_end_array(b);
    return value_finish(b);
}

void recall_done(struct recall *recall)
{
    value_unref(recall->candidates);
}

/* Neither State nor status is there. */
static int read_silent(const struct run *run, struct recall *ret, struct error *error)
{
    _cleanup_(witness_done) struct witness witness = {0};
    int r = witness_read(run, &witness, error);

    if (r >= 0 && witness.revision) {
        ret->is_needed = true;
        ret->candidates = list_candidates(run, &witness, !witness.is_whole);
        ret->known =
            (struct operation_recall){.revision = witness.revision, .inventory = ret->candidates};
    }
    return r;
}

static int read_lost(const struct run *run, int64_t revision, bool is_whole, struct recall *ret,
                     struct error *error)
{
    _cleanup_(witness_done) struct witness witness = {0};
    int r = is_whole || run->is_namespace_terminating ? 0 : witness_read(run, &witness, error);

    if (r >= 0) {
        ret->candidates = list_candidates(run, &witness, !is_whole);
        ret->known = (struct operation_recall){
            .revision = later(revision, 1), .inventory = ret->candidates, .is_whole = is_whole};
    }
    return r;
}

int recall_read(const struct run *run, struct ledger *ledger, bool is_first, struct recall *ret,
                struct error *error)
{
    const struct state_head head = run_state_numbers(ledger);
    int64_t begun = later(head.revision, head.recalled_revision);
    bool is_stored = ledger_is_stored(ledger);
    bool is_unfinished = run_unfinished(run) > begun;
    bool has_failed_since = run_last_attempted(run) > begun && misses_recorded(run, ledger);
    bool is_behind =
        is_stored ? !recall_is_whole(run, ledger) || has_failed_since : names_objects(run);
    bool is_whole = value_get(status_of(run), "inventory") &&
                    !number_at(run, "inventory", "omitted") && !is_unfinished;
    int64_t revision = later(run_last_applied(run), is_unfinished ? run_unfinished(run) : 0);
    int r;

    *ret = (struct recall){.is_needed = is_behind || is_unfinished, .is_gone = !is_stored};
    if (!is_stored && is_silent(run) && !run->is_namespace_terminating &&
        (!is_first || wants_recorded(run)))
        return read_silent(run, ret, error);
    if (!ret->is_needed)
        return 0;
    /* Another store, or an emptied one, looks like that, too. */
    r = store_gate_confirm(run->context->gate, error);
    if (r < 0)
        return r;
    if (has_failed_since)
        revision = later(revision, run_last_attempted(run));
    return read_lost(run, revision, is_whole, ret, error);
}

/* ---- Bringing it up to date ---- */

/* keeps: the Spec's resources are wanted. */
static void tell(const struct run *run, const struct recall *recall, bool keeps)
{
    _cleanup_free_ char *message = str_printf(
        "State %s revision %lld. The Spec's objects in Kubernetes are found by their names and "
        "its label, and %s; those that State alone knew are held until you say what is true of "
        "them",
        recall->is_gone ? "is gone; the Spec was at" : "is older than",
        (long long)recall->known.revision,
        keeps ? "are taken over again, or deleted if they have left the Spec" : "are deleted");

    run_event(run, EVENT_WARNING, "StateLost", message);
}

int recall_state(const struct run *run, struct operation *operation, const struct spec *spec,
                 const struct recall *recall, struct error *error)
{
    int r;

    if (!recall->is_needed)
        return 0;
    r = operation_recall(operation, spec, &recall->known, error);
    if (r >= 0)
        tell(run, recall, spec);
    return r;
}
