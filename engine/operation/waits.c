/* What each change waits for that is not begun. */
#include "engine/base/str.h"
#include "engine/operation/private.h"
#include "engine/operation/results.h"

static enum operation_wait kind_of(const struct operation *operation, uint32_t change,
                                   uint32_t other)
{
    const struct spec_dependencies *own = &operation->spec->dependencies[change];
    const struct resource *resource = &operation->spec->resources[change];

    for (size_t i = 0; i < resource->n_depends_on; i++)
        if (str_equal(resource->depends_on[i], operation->spec->resources[other].id))
            return WAIT_DEPENDS_ON;
    for (size_t i = 0; i < own->count; i++)
        if (own->indices[i] == other)
            return WAIT_REFERENCE;
    return WAIT_KIND;
}

/* Whether the step waits for another change; the first that is found. */
static bool find_wait(const struct operation *operation, uint32_t step,
                      struct operation_result *result)
{
    const struct steps *steps = operation->steps;
    const struct graph *graph = steps->graph;
    const struct step_node *node = &steps->nodes[step];

    for (uint32_t i = graph->dependency_start[step]; i < graph->dependency_start[step + 1]; i++) {
        const struct step_node *other = &steps->nodes[graph->dependencies[i]];

        if (other->kind == STEP_BARRIER || other->change == node->change ||
            walk_outcome(operation->walk, graph->dependencies[i]) != WALK_OUTCOME_NONE)
            continue;
        result->waits_for = operation->plan->changes[other->change].id;
        result->waits_by = node->kind == STEP_APPLY && other->kind == STEP_APPLY
                               ? kind_of(operation, node->change, other->change)
                               : WAIT_DELETION;
        return true;
    }
    return false;
}

void operation_find_waits(const struct operation *operation, struct operation_result *results)
{
    const struct steps *steps = operation->steps;

    for (size_t i = 0; operation->stage == STAGE_CARRYING_OUT && i < operation->results.count; i++)
        if (results[i].status == RESULT_PENDING && !results[i].started)
            if (steps->apply[i] == STEP_NONE || !find_wait(operation, steps->apply[i], &results[i]))
                if (steps->delete[i] != STEP_NONE)
                    find_wait(operation, steps->delete[i], &results[i]);
}
