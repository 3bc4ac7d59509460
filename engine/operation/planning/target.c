#include "engine/operation/planning/target.h"

#include "engine/operation/private.h"
#include "engine/threads/locked.h"

const struct record *operation_prior(const struct record *record)
{
    return record && record->is_only_read ? NULL : record;
}

struct runtime_target operation_target(struct node *node, const struct record *prior)
{
    struct operation *operation = node->operation;
    const struct plan_change *change = operation_change(node);
    struct runtime_target target = {.id = change->id, .prior = operation_prior(prior)};

    if (!change->resource) {
        target.extensions = value_ref(prior ? prior->extensions : NULL);
        return target;
    }
    LOCKED(&operation->lock);
    target.attributes =
        value_ref(node->attributes ? node->attributes : change->resource->attributes);
    target.extensions =
        value_ref(node->extensions ? node->extensions : change->resource->extensions);
    return target;
}

struct runtime_target operation_removal_target(const struct record *record)
{
    return (struct runtime_target){
        .id = record->id, .extensions = record->extensions, .prior = record};
}

void operation_target_done(struct runtime_target *target)
{
    value_unref(target->attributes);
    value_unref(target->extensions);
    *target = (struct runtime_target){0};
}
