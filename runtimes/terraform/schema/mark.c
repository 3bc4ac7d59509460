/* Marks what the schema calls sensitive. */
#include "runtimes/terraform/schema/schema.h"

static void mark_block(struct value_builder *b, const struct tf_block *block,
                       const struct value *value);

static void mark_nested(struct value_builder *b, const struct tf_nested *nested,
                        const struct value *value)
{
    bool is_object = value_is(value, VALUE_OBJECT);
    bool is_single = nested->nesting == TF_SINGLE || nested->nesting == TF_GROUP;

    if (is_single || !nested->block->has_sensitive ||
        (!is_object && !value_is(value, VALUE_ARRAY))) {
        mark_block(b, nested->block, value);
        return;
    }
    value_begin_like(b, value);
    for (size_t i = 0; i < value_count(value); i++) {
        size_t length;

        if (is_object) {
            const char *key = value_member_key(value, i, &length);

            value_key_n(b, key, length);
        }
        mark_block(b, nested->block, value_child(value, i));
    }
    value_end(b);
}

static void mark_member(struct value_builder *b, const struct tf_block *block, const char *name,
                        const struct value *value)
{
    for (size_t i = 0; i < block->n_attributes; i++) {
        const struct tf_attribute *attribute = &block->attributes[i];

        if (strcmp(attribute->name, name) != 0)
            continue;
        if (attribute->sensitive || attribute->write_only)
            value_add_sensitive(b, value);
        else if (attribute->nested)
            mark_nested(b, attribute->nested, value);
        else
            value_add(b, value);
        return;
    }
    for (size_t i = 0; i < block->n_blocks; i++)
        if (strcmp(block->blocks[i].name, name) == 0) {
            mark_nested(b, &block->blocks[i], value);
            return;
        }
    value_add(b, value);
}

static void mark_block(struct value_builder *b, const struct tf_block *block,
                       const struct value *value)
{
    if (!value_is(value, VALUE_OBJECT) || !block->has_sensitive) {
        value_add(b, value);
        return;
    }
    value_begin_like(b, value);
    for (size_t i = 0; i < value_count(value); i++) {
        size_t length;
        const char *name = value_member_key(value, i, &length);

        value_key_n(b, name, length);
        mark_member(b, block, name, value_member(value, i));
    }
    value_end(b);
}

const struct value *tf_mark(const struct tf_block *block, const struct value *value)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct value *marked = NULL;

    if (!value || !block->has_sensitive)
        return value_ref(value);
    mark_block(b, block, value);
    return value_builder_finish(b, &marked, NULL) < 0 ? NULL : marked;
}
