/* Everything that State names, dependents first. Needs nothing but State. */
#include "engine/base/mem.h"
#include "engine/operation/private.h"

static int observe(struct operation *operation, struct removal *removals, size_t n,
                   struct error *error)
{
    _cleanup_free_ struct runtime_target *targets = NEW_ARRAY(struct runtime_target, n + 1);
    _cleanup_free_ const char **types = NEW_ARRAY(const char *, n + 1);
    _cleanup_free_ struct observation *seen = NEW_ARRAY(struct observation, n + 1);
    int r;

    for (size_t i = 0; i < n; i++) {
        const struct record *record = removals[i].record;

        targets[i] = (struct runtime_target){
            .id = record->id, .attributes = record->attributes, .uid = record->uid};
        types[i] = record->type;
    }
    r = operation_observe(operation, targets, types, n, seen, error);
    for (size_t i = 0; i < n; i++)
        removals[i].seen = seen[i];
    return r;
}

static int destroy_all(struct operation *operation, struct operation_results *results,
                       struct error *error)
{
    size_t n = operation->state->n_records;
    struct removal *removals = NEW_ARRAY(struct removal, n + 1);
    struct error problem = {0};
    int r;

    for (size_t i = 0; i < n; i++) {
        removals[i].record = operation->state->records[i];
        removals[i].result = &results->items[i];
        results->items[i].id = arena_str(&results->arena, removals[i].record->id);
        results->items[i].action = PLAN_DELETE;
    }
    r = observe(operation, removals, n, &problem);
    if (r >= 0 && n)
        r = operation_remove(operation, removals, n, &problem);
    if (r < 0)
        operation_results_abandon(results, &problem);
    else
        r = operation_results_error(results, "destroy", &problem);
    for (size_t i = 0; i < n; i++)
        observation_done(&removals[i].seen);
    free(removals);
    return r < 0 ? err_copy(error, &problem) : 0;
}

/* Nothing is left but what gives the identity its rights. The identity goes first of it: it may be
 * gone already, if we were killed after that. */
static bool identity_leaves(struct operation *operation)
{
    size_t n = operation->state->n_records, i = 0;
    _cleanup_(relations_done) struct relations relations = RELATIONS_INIT;

    if (operation_relate_records(operation, (const struct record *const *)operation->state->records,
                                 n, &relations, NULL) < 0)
        return false;
    while (i < n && relations.last[i])
        i++;
    return n && i == n;
}

int operation_destroy(struct operation *operation, int64_t revision, struct operation_results *ret,
                      struct error *error)
{
    int r;

    operation_results_init(ret, operation->state->n_records);
    operation->state->revision = revision;
    operation->config.scope.identity_leaves = identity_leaves(operation);
    r = destroy_all(operation, ret, error);
    if (r >= 0)
        return operation_orphan(operation, error);
    if (operation->version)
        operation_save(operation, NULL);
    return r;
}
