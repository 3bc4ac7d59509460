/* Resources that got another id: State's record of the old one becomes theirs. */
#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/operation/planning/planning.h"
#include "engine/operation/planning/target.h"
#include "engine/spec/moved.h"

/* ---- List ---- */

static bool is_recorded(const struct operation *operation, const char *id)
{
    _cleanup_(record_unref_p) const struct record *record = ledger_get(operation->ledger, id, NULL);

    return operation_prior(record) != NULL;
}

void operation_list_moved(struct operation *operation)
{
    const struct spec *spec = operation->spec;

    for (size_t i = 0; spec && i < spec->n_resources; i++) {
        struct resource *resource = &spec->resources[i];
        const char *old = moved_from(resource);

        if (old && !strmap_get(&spec->by_id, old) && is_recorded(operation, old) &&
            !is_recorded(operation, resource->id))
            strmap_put(&operation->moved, old, resource);
    }
}

const char *operation_moved_from(const struct operation *operation, const struct resource *resource)
{
    const char *old = moved_from(resource);

    return old && strmap_get(&operation->moved, old) == resource ? old : NULL;
}

/* ---- Records with new ids ---- */

/* The ids of dependencies, with the new ones. A reference; NULL: they stay. */
static const struct value *rename_dependencies(const struct operation *operation,
                                               const struct value *ids)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = NULL;
    _cleanup_value_ const struct value *renamed = NULL;
    bool any = false;

    if (!operation->moved.count || !value_count(ids))
        return NULL;
    b = value_builder_new();
    value_begin_array(b);
    for (size_t i = 0; i < value_count(ids); i++) {
        const char *id = value_string(value_at(ids, i));
        const struct resource *to = id ? strmap_get(&operation->moved, id) : NULL;

        any = any || to;
        value_add_string(b, to ? to->id : id);
    }
    value_end_array(b);
    value_builder_finish(b, &renamed, NULL);
    return any ? TAKE(renamed) : NULL;
}

/* id NULL: it stays. */
static const struct record *rename_record(const struct operation *operation,
                                          const struct record *record, const char *id)
{
    _cleanup_value_ const struct value *dependencies =
        rename_dependencies(operation, record->dependencies);
    struct record renamed = *record;

    if (!id && !dependencies)
        return NULL;
    if (id)
        renamed.id = id;
    if (dependencies)
        renamed.dependencies = dependencies;
    return record_new(&renamed);
}

void operation_take_moved(struct operation *operation, struct plan_change *change)
{
    const struct record *old = change->record;

    if (!change->moved_from || !old || str_equal(old->id, change->id))
        return;
    change->record = rename_record(operation, old, change->id);
    record_unref(old);
}

int operation_check_moved(const struct plan_change *change, struct error *error)
{
    const struct record *record = change->record;

    if (!change->moved_from || !record || str_equal(record->type, change->type))
        return 0;
    return err_set(error, ERR_INVALID, "MoveFailed",
                   "extensions[" MOVED_FROM "]: \"%s\" is of type %s in State, and cannot become "
                   "one of type %s",
                   change->moved_from, record->type, change->type);
}

/* ---- In State ---- */

static bool is_moved(const struct plan_change *change)
{
    return change->moved_from && !change->error && change->action != PLAN_DEFERRED &&
           change->action != PLAN_UNKNOWN;
}

/* A resource that could not be planned keeps its old id in State, and so do references to it. */
static void leave_unplanned(struct operation *operation)
{
    for (size_t i = 0; i < operation->plan->n_resources; i++) {
        const struct plan_change *change = &operation->plan->changes[i];

        if (change->moved_from && !is_moved(change))
            strmap_remove(&operation->moved, change->moved_from);
    }
}

/* Adds the records that keep their id, but depend on one that moves. */
static size_t add_dependents(const struct operation *operation,
                             const struct ledger_records *records, struct ledger_change *changes)
{
    size_t n = 0;

    for (size_t i = 0; i < records->count; i++) {
        const struct record *renamed = rename_record(operation, records->items[i], NULL);

        if (renamed)
            changes[n++] = (struct ledger_change){.put = renamed};
    }
    return n;
}

int operation_move_records(struct operation *operation, struct error *error)
{
    struct plan *plan = operation->plan;
    struct ledger_records records;
    struct ledger_change *changes;
    size_t n = 0;
    int r = 0;

    leave_unplanned(operation);
    if (!operation->moved.count)
        return 0;
    records = ledger_records(operation->ledger);
    changes = NEW_ARRAY(struct ledger_change, records.count + 2 * plan->n_resources + 1);
    n = add_dependents(operation, &records, changes);
    for (size_t i = 0; i < plan->n_resources && r >= 0; i++) {
        const struct plan_change *change = &plan->changes[i];
        _cleanup_(record_unref_p) const struct record *old = NULL;

        if (is_moved(change))
            old = ledger_get(operation->ledger, change->moved_from, NULL);
        if (!old)
            continue;
        if (calls_since(ledger_calls(operation->ledger), change->moved_from))
            r = err_set(error, ERR_UNAVAILABLE, "UnderWay", "%s: another change of it is under way",
                        change->moved_from); /* it would land under the old id */
        changes[n++] = (struct ledger_change){.put = rename_record(operation, old, change->id)};
        changes[n++] = (struct ledger_change){.id = change->moved_from};
    }
    if (n && r >= 0)
        r = ledger_begin(operation->ledger, changes, n, error);
    for (size_t i = 0; i < n; i++)
        record_unref(changes[i].put);
    free(changes);
    ledger_records_done(&records);
    return r;
}
