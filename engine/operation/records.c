/* The records that operations write. */
#include <stdio.h>

#include "engine/operation/private.h"
#include "engine/operation/records.h"
#include "engine/operation/secrets.h"
#include "engine/operation/session.h"
#include "engine/threads/locked.h"
#include "engine/value/children.h"
#include "engine/value/value_mark.h"

enum ledger_when operation_ledger_when(const struct node *node)
{
    return node->binding && operation_ops(node)->flags & RUNTIME_IS_RECORDED ? LEDGER_NOW
                                                                             : LEDGER_SOON;
}

/* ---- Parts of a record ---- */

const struct record *operation_known(const struct node *node)
{
    return ledger_get(node->operation->ledger, operation_change(node)->id, NULL);
}

void operation_land(struct node *node, const struct record *like)
{
    _cleanup_(record_unref_p) const struct record *record = record_new(like);
    struct ledger_change change = {.put = record};

    ledger_land(node->operation->ledger, &change, 1, operation_ledger_when(node), NULL);
}

const struct value *operation_dependencies(const struct node *node)
{
    const struct operation *operation = node->operation;
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct graph *graph = operation->graph;

    value_begin_array(b);
    for (uint32_t e = graph->dependency_start[node->index];
         e < graph->dependency_start[node->index + 1]; e++)
        value_add_string(b, operation->plan->changes[graph->dependencies[e]].id);
    value_end_array(b);
    return value_finish(b);
}

static bool are_same_values(const struct value *a, const struct value *b)
{
    return a && b ? value_equal(a, b) : !value_count(a) && !value_count(b);
}

/* The same paths of both are secret. */
static bool is_as_secret(const struct value *a, const struct value *b)
{
    _cleanup_value_ const struct value *of_a = value_sensitive_paths(a);
    _cleanup_value_ const struct value *of_b = value_sensitive_paths(b);

    return are_same_values(of_a, of_b);
}

/* State also has what the runtime does not compare: dependencies, extensions and what is secret. A
 * deletion goes by these, so they have to be up to date. */
bool operation_is_recorded(const struct node *node, const struct runtime_step *step)
{
    _cleanup_value_ const struct value *dependencies = operation_dependencies(node);
    _cleanup_value_ const struct value *sealed =
        operation_seal_secrets(node->operation, step->attributes);
    const struct record *record = operation_change(node)->record;

    if (!record || record->lost_revision || record->is_only_read != step->is_only_read ||
        (step->is_only_read && !value_equal(record->attributes, step->attributes)))
        return false;
    if (sealed != step->attributes && !value_equal(sealed, record->attributes))
        return false; /* the same value has another version, or another reference */
    return !step->is_unrecorded && are_same_values(record->dependencies, dependencies) &&
           are_same_values(record->extensions, step->extensions) &&
           is_as_secret(record->attributes, step->attributes) &&
           is_as_secret(record->extensions, step->extensions);
}

static void add_storable(struct value_builder *b, const struct value *value)
{
    if (!value_has_unknown(value)) {
        value_add(b, value);
        return;
    }
    if (value_is(value, VALUE_UNKNOWN)) {
        value_add_null(b);
        return;
    }
    value_begin_like(b, value);
    for (size_t i = 0; i < value_count(value); i++) {
        value_key_like(b, value, i);
        add_storable(b, value_child(value, i));
    }
    value_end(b);
}

const struct value *operation_storable(const struct value *value)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = NULL;

    if (!value_has_unknown(value))
        return value_ref(value);
    b = value_builder_new();
    add_storable(b, value);
    return value_finish(b);
}

/* ---- Intents ---- */

/* The attributes as planned. Where values are unknown, the attributes as written, with the
 * references, and with what is secret marked. */
static const struct value *intended_value(const struct value *planned, const struct value *written)
{
    return value_has_unknown(planned) ? value_mark_like(written, planned) : value_ref(planned);
}

const struct record *operation_intent(const struct node *node, enum plan_action action,
                                      int64_t late_create)
{
    const struct plan_change *change = operation_change(node);
    _cleanup_value_ const struct value *dependencies = operation_dependencies(node);
    _cleanup_value_ const struct value *intended =
        intended_value(change->step->attributes, change->resource->attributes);
    _cleanup_value_ const struct value *attributes =
        operation_seal_secrets(node->operation, intended);
    _cleanup_value_ const struct value *extensions =
        intended_value(change->step->extensions, change->resource->extensions);

    return record_new(&(struct record){
        .status = RECORD_INTENT,
        .id = change->id,
        .type = change->type,
        .attributes = attributes,
        .extensions = extensions,
        .dependencies = dependencies,
        .revision = node->operation->how.revision,
        .action = action,
        .call = {.term = ledger_term(node->operation->ledger), .until = late_create}});
}

/* ---- Deposed objects ---- */

static bool is_name_taken(const struct operation *operation, const char *id, const char *deposed)
{
    const struct record *record = ledger_get(operation->ledger, id, deposed);

    record_unref(record);
    return record != NULL;
}

static const char *name_deposed(const struct node *node)
{
    struct operation *operation = node->operation;
    const char *id = operation_change(node)->id;
    char name[24];
    unsigned n = 1;

    do
        snprintf(name, sizeof(name), "d%u", n++);
    while (is_name_taken(operation, id, name));
    LOCKED(&operation->lock);
    id = arena_str(&operation->arena, name);
    return id;
}

const struct record *operation_depose(struct node *node)
{
    struct record moved = *operation_change(node)->record;

    node->deposed = name_deposed(node);
    moved.deposed = node->deposed;
    return record_new(&moved);
}
