/* The paths of what is sensitive, as Terraform's state has them. */
#include "runtimes/terraform/schema/rebuild.h"

/* A chain of steps on the stack, from the last one up. */
struct step {
    const struct step *above; /* NULL: the first one */
    const char *attribute;    /* NULL: an index */
    const char *key;          /* of a map; NULL: a position */
    size_t position;
};

static void add_steps(struct value_builder *b, const struct step *step)
{
    if (!step)
        return;
    add_steps(b, step->above);
    value_begin_object(b);
    value_key(b, "type");
    value_add_string(b, step->attribute ? "get_attr" : "index");
    value_key(b, "value");
    if (step->attribute) {
        value_add_string(b, step->attribute);
    } else {
        value_begin_object(b);
        value_key(b, "value");
        if (step->key)
            value_add_string(b, step->key);
        else
            value_add_int(b, (int64_t)step->position);
        value_key(b, "type");
        value_add_string(b, step->key ? "string" : "number");
        value_end_object(b);
    }
    value_end_object(b);
}

static void add_path(struct value_builder *b, const struct step *step)
{
    value_begin_array(b);
    add_steps(b, step);
    value_end_array(b);
}

/* ---- Values of a type ---- */

/* Elements of a set have no path: the set is named. */
static void add_typed(struct value_builder *b, const struct tf_type *type,
                      const struct value *value, const struct step *at)
{
    bool is_map = type->kind == TF_MAP, is_object = value_is(value, VALUE_OBJECT);

    if (value_is_sensitive(value) || (type->kind == TF_SET && value_has_sensitive(value))) {
        add_path(b, at);
        return;
    }
    for (size_t i = 0; value_has_sensitive(value) && i < value_count(value); i++) {
        size_t length;
        const char *key = is_object ? value_member_key(value, i, &length) : NULL;
        const struct step step = {at, is_map ? NULL : key, key, i};
        const struct tf_type *inner = type->element ? type->element : &tf_dynamic;

        if (type->kind == TF_OBJECT && key)
            inner = tf_type_member(type, key, length);
        if (inner)
            add_typed(b, inner, value_child(value, i), &step);
    }
}

/* ---- Blocks ---- */

static void add_block(struct value_builder *b, const struct tf_block *block,
                      const struct value *value, const struct step *at);

static void add_nested(struct value_builder *b, const struct tf_nested *nested,
                       const struct value *value, const struct step *at)
{
    bool is_object = value_is(value, VALUE_OBJECT);

    if (value_is_sensitive(value) ||
        (nested->nesting == TF_NESTED_SET && value_has_sensitive(value))) {
        add_path(b, at);
    } else if (nested->nesting == TF_SINGLE || nested->nesting == TF_GROUP) {
        add_block(b, nested->block, value, at);
    } else {
        for (size_t i = 0; value_has_sensitive(value) && i < value_count(value); i++) {
            const char *key = is_object ? value_member_key(value, i, NULL) : NULL;
            const struct step step = {at, NULL, key, i};

            if (value_is_sensitive(value_child(value, i)))
                add_path(b, &step);
            else
                add_block(b, nested->block, value_child(value, i), &step);
        }
    }
}

static void add_attribute(struct value_builder *b, const struct tf_attribute *attribute,
                          const struct value *value, const struct step *at)
{
    if (attribute->nested)
        add_nested(b, attribute->nested, value, at);
    else
        add_typed(b, attribute->type, value, at);
}

static void add_block(struct value_builder *b, const struct tf_block *block,
                      const struct value *value, const struct step *at)
{
    if (!value_is(value, VALUE_OBJECT) || !value_has_sensitive(value))
        return;
    for (size_t i = 0; i < block->n_attributes; i++) {
        const struct step step = {at, block->attributes[i].name, NULL, 0};

        add_attribute(b, &block->attributes[i], value_get(value, block->attributes[i].name), &step);
    }
    for (size_t i = 0; i < block->n_blocks; i++) {
        const struct step step = {at, block->blocks[i].name, NULL, 0};

        add_nested(b, &block->blocks[i], value_get(value, block->blocks[i].name), &step);
    }
}

const struct value *tf_sensitive_paths(const struct tf_block *block, const struct value *attributes)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *paths = NULL;

    value_begin_array(b);
    add_block(b, block, attributes, NULL);
    value_end_array(b);
    if (value_builder_finish(b, &paths, NULL) < 0 || !value_count(paths))
        return NULL;
    return TAKE(paths);
}

static bool mark(struct value_builder *b, const struct tf_attribute *attribute,
                 const struct value *value)
{
    if (attribute->sensitive)
        value_add_sensitive(b, value);
    return attribute->sensitive;
}

const struct value *tf_schema_paths(const struct tf_block *block, const struct value *state)
{
    _cleanup_value_ const struct value *marked = NULL;

    if (!block->has_sensitive)
        return NULL;
    marked = tf_rebuild(block, state, &(struct tf_rebuilding){.replace = mark});
    return tf_sensitive_paths(block, marked);
}
