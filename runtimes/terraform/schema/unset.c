/* Takes out what only the provider computes. */
#include "engine/base/str.h"
#include "runtimes/terraform/schema/schema.h"

static void unset_block(struct value_builder *b, const struct tf_block *block,
                        const struct value *value);

static void unset_nested(struct value_builder *b, const struct tf_nested *nested,
                         const struct value *value)
{
    bool is_object = value_is(value, VALUE_OBJECT);
    bool is_single = nested->nesting == TF_SINGLE || nested->nesting == TF_GROUP;

    if (is_single || (!is_object && !value_is(value, VALUE_ARRAY))) {
        unset_block(b, nested->block, value);
        return;
    }
    value_begin_like(b, value);
    for (size_t i = 0; i < value_count(value); i++) {
        size_t length;

        if (is_object) {
            const char *key = value_member_key(value, i, &length);

            value_key_n(b, key, length);
        }
        unset_block(b, nested->block, value_child(value, i));
    }
    value_end(b);
}

static void unset_member(struct value_builder *b, const struct tf_block *block, const char *name,
                         const struct value *value)
{
    for (size_t i = 0; i < block->n_attributes; i++) {
        const struct tf_attribute *attribute = &block->attributes[i];

        if (!str_equal(attribute->name, name))
            continue;
        if (attribute->computed && !attribute->optional)
            value_add_null(b);
        else if (attribute->nested)
            unset_nested(b, attribute->nested, value);
        else
            value_add(b, value);
        return;
    }
    for (size_t i = 0; i < block->n_blocks; i++)
        if (str_equal(block->blocks[i].name, name)) {
            unset_nested(b, &block->blocks[i], value);
            return;
        }
    value_add(b, value);
}

static void unset_block(struct value_builder *b, const struct tf_block *block,
                        const struct value *value)
{
    if (!value_is(value, VALUE_OBJECT)) {
        value_add(b, value);
        return;
    }
    value_begin_like(b, value);
    for (size_t i = 0; i < value_count(value); i++) {
        size_t length;
        const char *name = value_member_key(value, i, &length);

        value_key_n(b, name, length);
        unset_member(b, block, name, value_member(value, i));
    }
    value_end(b);
}

const struct value *tf_without_computed(const struct tf_block *block, const struct value *value)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *left = NULL;
    const struct value *normal = NULL;

    unset_block(b, block, value);
    if (value_builder_finish(b, &left, NULL) < 0)
        return NULL;
    return tf_normalise(left, block->type, &normal, NULL) < 0 ? NULL : normal;
}
