#include <string.h>

#include "engine/base/path.h"
#include "engine/base/str.h"
#include "engine/operation/private.h"
#include "engine/spec/place.h"
#include "engine/spec/ref.h"

struct resolution {
    struct operation *operation;
    const struct spec *spec;
    const struct plan *plan;
    bool planned;
};

/* Whether a path begins inside one of the pointers. Compared by their first step alone, so
 * that rather too much is taken for secret than too little. */
static bool is_under(const char *path, const struct value *pointers)
{
    size_t first = strcspn(path, ".[");

    for (size_t i = 0; i < value_count(pointers); i++) {
        const char *pointer = value_string(value_at(pointers, i)) + 1;

        if (!first || (strcspn(pointer, "/") == first && strncmp(pointer, path, first) == 0))
            return true;
    }
    return false;
}

/* By its kind, by what it gets from others now, or by what it got from them before. */
static bool is_sensitive(const struct resolution *resolution, const struct runtime_binding *binding,
                         const struct resource *target, const char *path)
{
    struct operation *operation = resolution->operation;
    const struct node *node = &operation->nodes[spec_index(resolution->spec, target)];
    _cleanup_value_ const struct value *own = binding->ops->sensitive(target->attributes);
    const struct record *record;
    bool sensitive = is_under(path, own);

    pthread_mutex_lock(&operation->lock);
    record = state_find(operation->state, target->id);
    sensitive = sensitive || is_under(path, node->sensitive) ||
                (record && is_under(path, record->sensitive));
    pthread_mutex_unlock(&operation->lock);
    return sensitive;
}

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
        *ret = value_ref(seen.object);
        pthread_mutex_lock(&operation->lock);
        if (!node->live)
            node->live = value_ref(seen.object);
        pthread_mutex_unlock(&operation->lock);
    }
    observation_done(&seen);
    return r;
}

static int is_unknown(void *arg, const struct value *string, const struct place *place,
                      struct error *error)
{
    (void)arg, (void)place, (void)error;
    return str_equal(value_string(string), REF_UNKNOWN);
}

/* What a path gives in what the plan makes of a resource. A reference; NULL:
 * not known, or not all of it. */
static const struct value *find_planned(const struct plan_change *change, const char *path)
{
    const struct value *found = change->to ? path_find(change->to, path, NULL) : NULL;

    if (place_each_string(found, NULL, is_unknown, NULL, NULL))
        return NULL;
    return value_ref(found);
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
                     const struct resource *target, const char *path, struct ref_value *ret,
                     struct error *error)
{
    struct node *node = &resolution->operation->nodes[spec_index(resolution->spec, target)];
    _cleanup_value_ const struct value *object = NULL;
    size_t reached = 0;
    int r = live_object(resolution->operation, binding, target, node, &object, error);

    if (r < 0)
        return r;
    ret->value = value_ref(path_find(object, path, &reached));
    if (!ret->value && has_let_go(resolution->operation, node))
        return err_set(error, ERR_UNAVAILABLE, "DependencyNotReady", "%s has no field \"%s\" yet",
                       target->id, path);
    if (!ret->value)
        return err_set(error, ERR_INVALID, "InvalidReference",
                       "%s has no field \"%s\" (found up to \"%.*s\")", target->id, path,
                       (int)reached, path);
    return 0;
}

static int lookup(void *arg, const char *text, struct ref_value *ret, struct error *error)
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
    ret->sensitive = is_sensitive(resolution, &binding, target, ref.path);
    if (!resolution->planned)
        return find_live(resolution, &binding, target, ref.path, ret, error);

    change = &resolution->plan->changes[spec_index(resolution->spec, target)];
    ret->value = find_planned(change, ref.path);
    if (ret->value || change->action != PLAN_UNCHANGED)
        return 0;
    return find_live(resolution, &binding, target, ref.path, ret, error);
}

/* Both lists of pointers; NULL: neither. A reference. */
static const struct value *join(const struct value *a, const struct value *b)
{
    _cleanup_(value_builder_free_p) struct value_builder *builder = value_builder_new();
    const struct value *both = NULL;

    if (!a || !b)
        return value_ref(a ? a : b);
    value_begin_array(builder);
    for (size_t i = 0; i < value_count(a); i++)
        value_add(builder, value_at(a, i));
    for (size_t i = 0; i < value_count(b); i++)
        value_add(builder, value_at(b, i));
    value_end_array(builder);
    value_builder_finish(builder, &both, NULL);
    return both;
}

int operation_resolve(struct operation *operation, const struct spec *spec, const struct plan *plan,
                      size_t index, bool planned, const struct value **ret, bool *ret_unknown,
                      const struct value **ret_sensitive, struct error *error)
{
    struct resolution resolution = {operation, spec, plan, planned};
    _cleanup_value_ const struct value *own = NULL, *referred = NULL;
    struct runtime_binding binding;
    int r = operation_bind(operation, spec->resources[index].type, &binding, error);

    if (r < 0)
        return r;
    r = ref_resolve(spec->resources[index].attributes, lookup, &resolution, ret, ret_unknown,
                    &referred, error);
    if (r < 0)
        return err_wrap(error, "resolving references");
    own = binding.ops->sensitive(*ret);
    *ret_sensitive = join(own, referred);
    pthread_mutex_lock(&operation->lock);
    value_assign(&operation->nodes[index].sensitive, *ret_sensitive);
    pthread_mutex_unlock(&operation->lock);
    return 0;
}
