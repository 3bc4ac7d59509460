#include "runtimes/terraform/ignore.h"

#include <string.h>

#include "engine/base/similar.h"
#include "engine/value/path.h"

/* Where a path leads. */
struct place {
    struct buf pointer, above; /* of the value, and of what it is in */
    struct buf key;            /* the last step */
    bool is_in_map;
};
#define PLACE_INIT                                              \
    {                                                           \
        .pointer = BUF_INIT, .above = BUF_INIT, .key = BUF_INIT \
    }

static void place_done(struct place *place)
{
    buf_done(&place->pointer);
    buf_done(&place->above);
    buf_done(&place->key);
}

/* ---- Through the type ---- */

static bool is_index(const char *step)
{
    return strspn(step, "0123456789") == strlen(step) && (step[0] != '0' || !step[1]);
}

/* NULL: there is none. */
static const struct tf_type *enter(const struct tf_type *type, const struct buf *step)
{
    switch (type->kind) {
    case TF_OBJECT:
        return tf_type_member(type, step->data, step->length);
    case TF_MAP:
        return type->element;
    case TF_LIST:
        return is_index(step->data) ? type->element : NULL;
    case TF_TUPLE:
        return is_index(step->data) ? &tf_dynamic : NULL;
    case TF_DYNAMIC:
        return type;
    default:
        return NULL;
    }
}

/* path, up to: the step that leads nowhere; before: the one before it. */
static int refuse(const struct tf_type *type, const char *path, const char *before,
                  const char *up_to, const char *step, struct error *error)
{
    int outer = (int)(before - path), whole = (int)(up_to - path);
    struct similar similar;

    if (type->kind == TF_LIST || type->kind == TF_TUPLE)
        return err_set(error, ERR_INVALID, "InvalidAttribute",
                       "%.*s: %.*s is a list: name an element of it, as in %.*s[0]", whole, path,
                       outer, path, outer, path);
    if (type->kind == TF_SET)
        return err_set(error, ERR_INVALID, "InvalidAttribute",
                       "%.*s: %.*s is a set, and elements of a set cannot be named: ignore all of "
                       "it, %.*s",
                       whole, path, outer, path, outer, path);
    if (type->kind != TF_OBJECT)
        return err_set(error, ERR_INVALID, "InvalidAttribute",
                       "%.*s: there is nothing inside of %.*s", whole, path, outer, path);
    similar_begin(&similar, step);
    for (size_t i = 0; i < type->n_members; i++)
        similar_offer(&similar, type->members[i].name);
    return err_set(error, ERR_INVALID, "InvalidAttribute",
                   similar.found ? "%.*s: there is no such argument; is \"%s\" meant?"
                                 : "%.*s: there is no such argument",
                   whole, path, similar.found);
}

static int find(const char *path, const struct tf_type *type, struct place *place,
                struct error *error)
{
    const char *at = path;

    if (!path_check(path, error))
        return ERR_INVALID;
    while (*at) {
        const char *end = path_step(path, at, &place->key);
        const struct tf_type *inner = enter(type, &place->key);

        if (!inner)
            return refuse(type, path, at, end, place->key.data, error);
        place->is_in_map = type->kind == TF_MAP;
        buf_reset(&place->above);
        buf_add(&place->above, place->pointer.data, place->pointer.length);
        pointer_add(&place->pointer, place->key.data, place->key.length);
        type = inner;
        at = end;
    }
    return 0;
}

int ignore_check(const char *path, const struct tf_type *type, struct error *error)
{
    _cleanup_(place_done) struct place place = PLACE_INIT;

    return find(path, type, &place, error);
}

/* ---- Use ---- */

static const struct value *put_key(const struct place *place, const struct value *config,
                                   const struct value *kept)
{
    const struct value *map = pointer_find(config, place->above.data);
    _cleanup_value_ const struct value *changed = NULL;

    if (!map || value_is(map, VALUE_UNKNOWN))
        return value_ref(config);
    changed = value_with(map, place->key.data, kept);
    return changed ? pointer_replace(config, place->above.data, changed) : NULL;
}

const struct value *ignore_apply(const char *path, const struct tf_type *type,
                                 const struct value *config, const struct value *before)
{
    _cleanup_(place_done) struct place place = PLACE_INIT;
    const struct value *kept, *there;

    if (find(path, type, &place, NULL) < 0)
        return value_ref(config);
    kept = pointer_find(before, place.pointer.data);
    there = pointer_find(config, place.pointer.data);
    if (kept && there)
        return pointer_replace(config, place.pointer.data, kept);
    if (kept && place.is_in_map)
        return put_key(&place, config, kept);
    if (there && place.is_in_map)
        return pointer_replace(config, place.pointer.data, NULL);
    return value_ref(config);
}
