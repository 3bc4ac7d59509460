#include "engine/value/value_mark.h"

#include "engine/base/mem.h"
#include "engine/value/children.h"
#include "engine/value/pointer_walk.h"

/* ---- From bits to pointers ---- */

const struct value *value_sensitive_paths(const struct value *value)
{
    return pointer_list(value, value_is_sensitive, value_has_sensitive);
}

/* arg: the builder of what is taken. */
static void take(void *arg, struct value_builder *b, const struct pointer_target *target,
                 const struct value *now)
{
    value_key_n(arg, target->pointer, target->length);
    value_add(arg, now);
    value_add_null(b);
}

const struct value *value_take_sensitive(const struct value *value, const struct value **ret_taken)
{
    _cleanup_value_ const struct value *pointers = value_sensitive_paths(value), *left = NULL,
                                       *taken = NULL;
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    size_t n = 0;
    _cleanup_free_ struct pointer_target *targets = pointer_targets(pointers, &n);
    struct pointer_edit edit = {.targets = targets, .n_targets = n, .put = take, .arg = b};

    if (!pointers && value_has_sensitive(value))
        return NULL;
    value_begin_object(b);
    left = pointer_edit(&edit, value);
    value_end_object(b);
    value_builder_finish(b, &taken, NULL);
    if (!left || !taken)
        return NULL;
    *ret_taken = TAKE(taken);
    return TAKE(left);
}

/* ---- From pointers to bits ---- */

static void put_sensitive(void *arg, struct value_builder *b, const struct pointer_target *target,
                          const struct value *now)
{
    (void)arg;
    value_add_sensitive(b, target->value ? target->value : now);
}

const struct value *value_mark_paths(const struct value *value, const struct value *pointers)
{
    size_t n = 0;
    _cleanup_free_ struct pointer_target *targets = pointer_targets(pointers, &n);
    struct pointer_edit edit = {.targets = targets, .n_targets = n, .put = put_sensitive};

    return value && n ? pointer_edit(&edit, value) : value_ref(value);
}

const struct value *value_put_sensitive(const struct value *value, const struct value *taken)
{
    _cleanup_free_ struct pointer_target *targets =
        NEW_ARRAY(struct pointer_target, value_count(taken) + 1);
    struct pointer_edit edit = {
        .targets = targets, .n_targets = value_count(taken), .put = put_sensitive};
    _cleanup_value_ const struct value *put = NULL;

    for (size_t i = 0; i < value_count(taken); i++) {
        targets[i].pointer = value_member_key(taken, i, &targets[i].length);
        targets[i].value = value_member(taken, i);
    }
    put = pointer_edit(&edit, value);
    return edit.n_found == value_count(taken) ? TAKE(put) : NULL;
}

/* ---- From another value's bits ---- */

static void add_like(struct value_builder *b, const struct value *value, const struct value *like)
{
    if (!value_has_sensitive(like)) {
        value_add(b, value);
        return;
    }
    if (value_is_sensitive(like) || !value_is(like, VALUE_OBJECT) ||
        !value_is(value, VALUE_OBJECT)) {
        value_add_sensitive(b, value);
        return;
    }
    value_begin_like(b, value);
    for (size_t i = 0; i < value_count(value); i++) {
        value_key_like(b, value, i);
        add_like(b, value_member(value, i), value_counterpart(like, value, i));
    }
    value_end(b);
}

const struct value *value_mark_like(const struct value *value, const struct value *like)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = NULL;

    if (!value || !value_has_sensitive(like) || value_is_sensitive(value))
        return value_ref(value);
    b = value_builder_new();
    add_like(b, value, like);
    return value_finish(b);
}
