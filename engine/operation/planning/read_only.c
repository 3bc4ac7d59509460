/* Objects that are only read: they are not ours, and their records say nothing but that. */
#include "engine/operation/planning/doubt.h"
#include "engine/operation/planning/planning.h"
#include "engine/operation/planning/target.h"

int operation_check_reading(const struct record *record, struct error *error)
{
    bool is_unknown = record && record->lost_revision && operation_is_doubtful(record);

    if (!operation_prior(record) || is_unknown)
        return 0;
    return err_set(error, ERR_INVALID, "InvalidSpec",
                   "a data source cannot have the id of an object that this Spec created: give it "
                   "another id");
}

/* Nothing is done to what is unchanged, and a reading changes nothing. */
static bool is_changed_by_plan(const struct plan_change *change)
{
    return change->error || (change->action != PLAN_UNCHANGED && change->action != PLAN_READ);
}

void operation_note_planned(struct node *node)
{
    const struct operation *operation = node->operation;
    const struct graph *graph = operation->graph;

    node->is_behind_change = is_changed_by_plan(operation_change(node));
    for (uint32_t e = graph->dependency_start[node->index];
         !node->is_behind_change && e < graph->dependency_start[node->index + 1]; e++)
        node->is_behind_change = operation->nodes[graph->dependencies[e]].is_behind_change;
}

bool operation_is_too_early(const struct node *node)
{
    const struct operation *operation = node->operation;
    const struct spec *spec = operation->spec;
    const struct resource *resource = operation_change(node)->resource;
    const struct spec_dependencies *direct = &spec->dependencies[spec_index(spec, resource)];

    for (size_t i = 0; i < direct->count; i++)
        if (is_changed_by_plan(&operation->plan->changes[direct->indices[i]]))
            return true;
    for (size_t i = 0; i < resource->n_depends_on; i++) {
        const struct resource *other = strmap_get(&spec->by_id, resource->depends_on[i]);

        if (other && operation->nodes[spec_index(spec, other)].is_behind_change)
            return true;
    }
    return false;
}
