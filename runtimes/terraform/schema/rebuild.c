#include "runtimes/terraform/schema/rebuild.h"
#include "engine/value/children.h"

#include <string.h>

static void add_block(struct value_builder *b, const struct tf_block *block,
                      const struct value *value, const struct tf_rebuilding *how);

/* One block, or a list, set or map of them. */
static void add_nested(struct value_builder *b, const struct tf_nested *nested,
                       const struct value *value, const struct tf_rebuilding *how)
{
    bool is_single = nested->nesting == TF_SINGLE || nested->nesting == TF_GROUP;
    bool has_children = value_is(value, VALUE_OBJECT) || value_is(value, VALUE_ARRAY);

    if (is_single || !has_children || (how->is_kept && how->is_kept(nested->block))) {
        add_block(b, nested->block, value, how);
        return;
    }
    value_begin_like(b, value);
    for (size_t i = 0; i < value_count(value); i++) {
        value_key_like(b, value, i);
        add_block(b, nested->block, value_child(value, i), how);
    }
    value_end(b);
}

static void add_member(struct value_builder *b, const struct tf_block *block, const char *name,
                       const struct value *value, const struct tf_rebuilding *how)
{
    for (size_t i = 0; i < block->n_attributes; i++) {
        const struct tf_attribute *attribute = &block->attributes[i];

        if (strcmp(attribute->name, name) != 0)
            continue;
        if (how->replace(b, attribute, value))
            return;
        if (attribute->nested)
            add_nested(b, attribute->nested, value, how);
        else
            value_add(b, value);
        return;
    }
    for (size_t i = 0; i < block->n_blocks; i++)
        if (strcmp(block->blocks[i].name, name) == 0) {
            add_nested(b, &block->blocks[i], value, how);
            return;
        }
    value_add(b, value);
}

static void add_block(struct value_builder *b, const struct tf_block *block,
                      const struct value *value, const struct tf_rebuilding *how)
{
    if (!value_is(value, VALUE_OBJECT) || (how->is_kept && how->is_kept(block))) {
        value_add(b, value);
        return;
    }
    value_begin_like(b, value);
    for (size_t i = 0; i < value_count(value); i++) {
        size_t length;
        const char *name = value_member_key(value, i, &length);

        value_key_n(b, name, length);
        add_member(b, block, name, value_member(value, i), how);
    }
    value_end(b);
}

const struct value *tf_rebuild(const struct tf_block *block, const struct value *value,
                               const struct tf_rebuilding *how)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct value *rebuilt = NULL;

    add_block(b, block, value, how);
    return value_builder_finish(b, &rebuilt, NULL) < 0 ? NULL : rebuilt;
}
