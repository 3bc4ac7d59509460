#include "engine/value/children.h"
#include "runtimes/terraform/values/set.h"
#include "runtimes/terraform/values/values.h"

static void normalise(struct value_builder *b, const struct value *value,
                      const struct tf_type *type);

static bool has_set(const struct tf_type *type)
{
    for (size_t i = 0; i < type->n_members; i++)
        if (has_set(type->members[i].type))
            return true;
    return type->kind == TF_SET || (type->element && has_set(type->element));
}

/* A reference. As it is, if a bound of limits.h was passed: then the whole does, too. */
static const struct value *normal_element(const struct value *value, const struct tf_type *type)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct value *made;

    normalise(b, value, type);
    made = value_finish(b);
    return made ? made : value_ref(value);
}

static void normalise_set(struct value_builder *b, const struct value *value,
                          const struct tf_type *type)
{
    _cleanup_(tf_set_done) struct tf_set set;

    tf_set_init(&set, type->element);
    for (size_t i = 0; i < value_count(value); i++)
        tf_set_add(&set, normal_element(value_at(value, i), type->element));
    tf_set_put(&set, b);
}

static void normalise(struct value_builder *b, const struct value *value,
                      const struct tf_type *type)
{
    bool has_children = value_is(value, VALUE_ARRAY) || value_is(value, VALUE_OBJECT);

    if (!has_children || !has_set(type)) {
        value_add(b, value);
        return;
    }
    value_begin_like(b, value);
    if (type->kind == TF_SET)
        normalise_set(b, value, type);
    for (size_t i = 0; type->kind != TF_SET && i < value_count(value); i++) {
        value_key_like(b, value, i);
        normalise(b, value_child(value, i), tf_type_child(type, value, i));
    }
    value_end(b);
}

int tf_normalise(const struct value *value, const struct tf_type *type, const struct value **ret,
                 struct error *error)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    normalise(b, value, type);
    return value_builder_finish(b, ret, error);
}
