#include "engine/base/path.h"
#include "engine/base/value_mark.h"
#include "engine/operation/private.h"
#include "engine/spec/ref.h"

struct resolution {
    struct operation *operation;
    const struct spec *spec;
    const struct plan *plan;
    bool planned;
};

/* ---- What is secret ---- */

const struct value *operation_mark(struct operation *operation, const struct runtime_ops *ops,
                                   const struct resource *resource, const struct node *node,
                                   const struct value *object)
{
    _cleanup_value_ const struct value *resolved = NULL, *recorded = NULL;
    _cleanup_value_ const struct value *by_kind = ops->mark(object), *as_resolved = NULL;
    const struct record *record;

    pthread_mutex_lock(&operation->lock);
    record = state_find(operation->state, resource->id);
    recorded = value_ref(record ? record->attributes : NULL);
    resolved = value_ref(node->attributes);
    pthread_mutex_unlock(&operation->lock);
    as_resolved = value_mark_like(by_kind, resolved);
    return value_mark_like(as_resolved, recorded);
}

void operation_set_live(struct operation *operation, const struct runtime_ops *ops,
                        const struct resource *resource, struct node *node,
                        const struct value *object)
{
    _cleanup_value_ const struct value *marked =
        operation_mark(operation, ops, resource, node, object);

    pthread_mutex_lock(&operation->lock);
    value_assign(&node->live, marked);
    pthread_mutex_unlock(&operation->lock);
}

/* ---- References ---- */

/* The live object of a resource, read if it was not yet. A reference. */
static int live_object(struct operation *operation, const struct runtime_binding *binding,
                       const struct resource *target, struct node *node, const struct value **ret,
                       struct error *error)
{
    struct runtime_target asked = {.id = target->id, .attributes = target->attributes};
    struct observation seen = {0};
    int r;

    pthread_mutex_lock(&operation->lock);
    *ret = value_ref(node->live);
    pthread_mutex_unlock(&operation->lock);
    if (*ret)
        return 0;
    r = binding->ops->read(binding->session, &asked, &seen, error);
    if (r >= 0 && seen.presence != PRESENCE_PRESENT)
        r = err_set(error, ERR_NOT_FOUND, "DependencyNotReady", "%s is not there", target->id);
    if (r >= 0) {
        *ret = operation_mark(operation, binding->ops, target, node, seen.object);
        pthread_mutex_lock(&operation->lock);
        if (!node->live)
            node->live = value_ref(*ret);
        pthread_mutex_unlock(&operation->lock);
    }
    observation_done(&seen);
    return r;
}

static bool has_let_go(struct operation *operation, const struct node *node)
{
    bool let_go;

    pthread_mutex_lock(&operation->lock);
    let_go = node->has_let_go;
    pthread_mutex_unlock(&operation->lock);
    return let_go;
}

static int find_live(const struct resolution *resolution, const struct runtime_binding *binding,
                     const struct resource *target, const char *path, const struct value **ret,
                     struct error *error)
{
    struct node *node = &resolution->operation->nodes[spec_index(resolution->spec, target)];
    _cleanup_value_ const struct value *object = NULL;
    size_t reached = 0;
    int r = live_object(resolution->operation, binding, target, node, &object, error);

    if (r < 0)
        return r;
    *ret = value_ref(path_find(object, path, &reached));
    if (!*ret && has_let_go(resolution->operation, node))
        return err_set(error, ERR_UNAVAILABLE, "DependencyNotReady", "%s has no field \"%s\" yet",
                       target->id, path);
    if (!*ret)
        return err_set(error, ERR_INVALID, "InvalidReference",
                       "%s has no field \"%s\" (found up to \"%.*s\")", target->id, path,
                       (int)reached, path);
    return 0;
}

static int lookup(void *arg, const char *text, const struct value **ret, struct error *error)
{
    const struct resolution *resolution = arg;
    const struct plan_change *change;
    const struct resource *target;
    struct runtime_binding binding;
    struct ref ref;
    int r;

    r = ref_parse(text, &resolution->spec->by_id, &ref, error);
    if (r < 0)
        return r;
    target = ref.target;
    r = operation_bind(resolution->operation, target->type, &binding, error);
    if (r < 0)
        return r;
    if (!resolution->planned)
        return find_live(resolution, &binding, target, ref.path, ret, error);

    change = &resolution->plan->changes[spec_index(resolution->spec, target)];
    *ret = value_ref(change->to ? path_find(change->to, ref.path, NULL) : NULL);
    if (*ret || change->action != PLAN_UNCHANGED)
        return 0;
    return find_live(resolution, &binding, target, ref.path, ret, error);
}

int operation_resolve(struct operation *operation, const struct spec *spec, const struct plan *plan,
                      size_t index, bool planned, const struct value **ret, struct error *error)
{
    struct resolution resolution = {operation, spec, plan, planned};
    _cleanup_value_ const struct value *resolved = NULL;
    struct runtime_binding binding;
    int r = operation_bind(operation, spec->resources[index].type, &binding, error);

    if (r < 0)
        return r;
    r = ref_resolve(spec->resources[index].attributes, lookup, &resolution, &resolved, error);
    if (r < 0)
        return err_wrap(error, "resolving references");
    *ret = binding.ops->mark(resolved);
    pthread_mutex_lock(&operation->lock);
    value_assign(&operation->nodes[index].attributes, *ret);
    pthread_mutex_unlock(&operation->lock);
    return 0;
}
