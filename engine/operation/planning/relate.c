/* Makes the list of changes from a Spec and State, and the edges among them. */

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "engine/operation/planning/planning.h"
#include "engine/operation/planning/target.h"

/* ---- The list ---- */

static bool has_type(const struct record *record, const struct resource *resource)
{
    return str_equal(record->type, resource->type);
}

const struct resource *operation_resource_of(const struct operation *operation,
                                             const struct record *record)
{
    const struct resource *resource =
        operation->spec ? strmap_get(&operation->spec->by_id, record->id) : NULL;
    const struct resource *moved =
        record->deposed ? NULL : strmap_get(&operation->moved, record->id);

    if (moved)
        return moved;
    return resource && !record->deposed && has_type(record, resource) ? resource : NULL;
}

static void add_change(struct operation *operation, uint32_t index, const struct resource *resource,
                       const struct record *record)
{
    struct plan_change *change = &operation->plan->changes[index];
    struct node *node = &operation->nodes[index];

    change->id = arena_str(&operation->plan->arena, resource ? resource->id : record->id);
    if (record && record->deposed)
        change->deposed = arena_str(&operation->plan->arena, record->deposed);
    change->resource = resource;
    change->record = record_ref(record);
    if (resource)
        change->moved_from =
            arena_str(&operation->plan->arena, operation_moved_from(operation, resource));
    node->operation = operation;
    node->index = index;
    node->binding = operation_binding(operation, resource ? resource->type : record->type);
    change->type = node->binding ? node->binding->runtime->ops->type
                                 : arena_str(&operation->plan->arena,
                                             resource ? resource->type : record->type);
}

void operation_list_changes(struct operation *operation)
{
    const struct spec *spec = operation->spec;
    size_t n_resources = spec ? spec->n_resources : 0, n_leaving = 0;
    uint32_t index = 0;

    operation_list_moved(operation);
    for (size_t i = 0; i < operation->records.count; i++)
        n_leaving += !operation_resource_of(operation, operation->records.items[i]);
    operation->plan = plan_new(n_resources, n_leaving);
    operation->nodes = NEW_ARRAY(struct node, n_resources + n_leaving + 1);
    for (; index < n_resources; index++) {
        const struct resource *resource = &spec->resources[index];
        const char *old = operation_moved_from(operation, resource);
        const struct record *record = ledger_get(operation->ledger, old ? old : resource->id, NULL);

        add_change(operation, index, resource,
                   record && (old || has_type(record, resource)) ? record : NULL);
        record_unref(record);
    }
    for (size_t i = 0; i < operation->records.count; i++)
        if (!operation_resource_of(operation, operation->records.items[i]))
            add_change(operation, index++, NULL, operation->records.items[i]);
}

/* ---- Edges ---- */

static void add_edge(struct edges *edges, uint32_t node, uint32_t dependency)
{
    edges->items = mem_grow(edges->items, edges->count, &edges->capacity, sizeof(*edges->items));
    edges->items[edges->count++] = (struct graph_edge){node, dependency};
}

static void add_dependencies(struct operation *operation)
{
    for (uint32_t i = 0; i < operation->plan->n_resources; i++) {
        const struct spec_dependencies *dependencies = &operation->spec->dependencies[i];

        for (size_t d = 0; d < dependencies->count; d++)
            add_edge(&operation->planned, i, dependencies->indices[d]);
    }
}

/* Records name their dependencies by id. An id stands for the object in force, not a deposed one.
 */
static void add_recorded(struct operation *operation)
{
    const struct plan *plan = operation->plan;
    _cleanup_(strmap_done) struct strmap by_id = STRMAP_INIT;

    for (size_t i = 0; i < plan->n_changes; i++)
        if (plan->changes[i].record && !plan->changes[i].deposed)
            strmap_put(&by_id, plan->changes[i].record->id, &plan->changes[i]);
    for (uint32_t i = 0; i < plan->n_changes; i++) {
        const struct record *record = plan->changes[i].record;
        const struct value *ids = record ? record->dependencies : NULL;

        for (size_t d = 0; d < value_count(ids); d++) {
            const struct plan_change *dependency =
                strmap_get(&by_id, value_string(value_at(ids, d)));

            if (dependency && dependency != &plan->changes[i])
                add_edge(&operation->recorded, i, (uint32_t)(dependency - plan->changes));
        }
    }
}

/* ---- Relations, which runtimes know ---- */

static void take_relation(struct operation *operation, uint32_t node, uint32_t other,
                          enum relation_kind kind)
{
    const struct plan_change *changes = operation->plan->changes;

    if (changes[node].resource && changes[other].resource)
        add_edge(&operation->planned, node, other);
    if (changes[node].record && changes[other].record)
        add_edge(&operation->recorded, node, other);
    if (kind != RELATION_IN)
        return;
    /* There may be thousands of others, and each deletion goes through these. */
    if (operation->step_changes[node].last && !changes[node].resource)
        add_edge(&operation->inside, node, other);
    if (changes[node].resource)
        operation->nodes[other].content = &changes[node];
}

static void take_relations(struct operation *operation, const struct relations *relations,
                           const uint32_t *members, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        operation->step_changes[members[i]].rank = relations->ranks[i];
        operation->step_changes[members[i]].last = relations->last[i];
    }
    for (size_t i = 0; i < relations->n_items; i++)
        take_relation(operation, members[relations->items[i].node],
                      members[relations->items[i].other], relations->items[i].kind);
}

static int relate_binding(struct operation *operation, struct binding *binding, struct error *error)
{
    const struct plan *plan = operation->plan;
    _cleanup_free_ struct runtime_target *targets =
        NEW_ARRAY(struct runtime_target, plan->n_changes + 1);
    _cleanup_free_ uint32_t *members = NEW_ARRAY(uint32_t, plan->n_changes + 1);
    struct relations relations;
    size_t n = 0;
    int r = 0;

    for (uint32_t i = 0; i < plan->n_changes; i++)
        if (operation->nodes[i].binding == binding) {
            members[n] = i;
            targets[n++] = operation_target(&operation->nodes[i], plan->changes[i].record);
        }
    relations_init(&relations, n);
    if (n && binding->runtime->ops->relate)
        r = binding->runtime->ops->relate(binding->runtime, &operation->config.scope, targets, n,
                                          &relations, error);
    if (r >= 0)
        take_relations(operation, &relations, members, n);
    relations_done(&relations);
    for (size_t i = 0; i < n; i++)
        operation_target_done(&targets[i]);
    return r;
}

/* Only the resources that go last are left to be deleted. */
static bool identity_leaves(const struct operation *operation)
{
    const struct plan *plan = operation->plan;

    for (size_t i = 0; i < plan->n_changes; i++)
        if (plan->changes[i].resource || !operation->step_changes[i].last)
            return false;
    return plan->n_changes > 0;
}

int operation_relate(struct operation *operation, struct error *error)
{
    int r = 0;

    operation->step_changes = NEW_ARRAY(struct step_change, operation->plan->n_changes + 1);
    if (operation->spec)
        add_dependencies(operation);
    add_recorded(operation);
    for (size_t i = 0; r >= 0 && i < operation->config.n_runtimes; i++)
        r = relate_binding(operation, &operation->bindings[i], error);
    operation->config.scope.identity_leaves = identity_leaves(operation);
    return r;
}
