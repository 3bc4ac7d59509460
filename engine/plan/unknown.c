#include "engine/plan/unknown.h"

#include "engine/value/pointer_walk.h"

static bool is_unknown(const struct value *value)
{
    return value_is(value, VALUE_UNKNOWN);
}

const struct value *unknown_paths(const struct value *value)
{
    return pointer_list(value, is_unknown, value_has_unknown);
}

static void put_unknown(void *arg, struct value_builder *b, const struct pointer_target *target,
                        const struct value *now)
{
    (void)arg, (void)target, (void)now;
    value_add_unknown(b);
}

const struct value *unknown_mask(const struct value *value, const struct value *pointers)
{
    size_t n = 0;
    _cleanup_free_ struct pointer_target *targets = pointer_targets(pointers, &n);
    struct pointer_edit edit = {
        .targets = targets, .n_targets = n, .put = put_unknown, .adds_members = true};

    return value && n ? pointer_edit(&edit, value) : value_ref(value);
}
