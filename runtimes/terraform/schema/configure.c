#include "engine/base/similar.h"
#include "engine/base/str.h"
#include "runtimes/terraform/schema/schema.h"

struct configuring {
    struct value_builder *b;
    struct path *path;
    struct error *error;
};

static int configure_block(struct configuring *configuring, const struct tf_block *block,
                           const struct value *value);

static int bad(const struct configuring *configuring, const char *what)
{
    return err_set(configuring->error, ERR_INVALID, "InvalidAttribute", "%s: %s",
                   path_text(configuring->path), what);
}

static bool is_absent(const struct value *value)
{
    return !value || value_is(value, VALUE_NULL);
}

/* ---- Nested blocks ---- */

static int configure_items(struct configuring *configuring, const struct tf_nested *nested,
                           const struct value *value)
{
    int r = 0;

    if (!value_is(value, VALUE_ARRAY))
        return bad(configuring, "must be a list of objects");
    value_begin_like(configuring->b, value);
    for (size_t i = 0; i < value_count(value) && r >= 0; i++) {
        path_push_index(configuring->path, i);
        r = configure_block(configuring, nested->block, value_at(value, i));
        path_pop(configuring->path);
    }
    if (r >= 0)
        value_end(configuring->b);
    return r;
}

static int configure_entries(struct configuring *configuring, const struct tf_nested *nested,
                             const struct value *value)
{
    int r = 0;

    if (!value_is(value, VALUE_OBJECT))
        return bad(configuring, "must be an object of objects");
    value_begin_like(configuring->b, value);
    for (size_t i = 0; i < value_count(value) && r >= 0; i++) {
        size_t length;
        const char *key = value_member_key(value, i, &length);

        path_push_key(configuring->path, key);
        value_key_n(configuring->b, key, length);
        r = configure_block(configuring, nested->block, value_member(value, i));
        path_pop(configuring->path);
    }
    if (r >= 0)
        value_end(configuring->b);
    return r;
}

static int configure_nested(struct configuring *configuring, const struct tf_nested *nested,
                            const struct value *value)
{
    switch (nested->nesting) {
    case TF_NESTED_LIST:
    case TF_NESTED_SET:
        return configure_items(configuring, nested, value);
    case TF_NESTED_MAP:
        return configure_entries(configuring, nested, value);
    default:
        return configure_block(configuring, nested->block, value);
    }
}

static int check_count(const struct configuring *configuring, const struct tf_nested *nested,
                       const struct value *value)
{
    bool is_single = nested->nesting == TF_SINGLE || nested->nesting == TF_GROUP;
    int64_t count = is_single ? !is_absent(value) : (int64_t)value_count(value);

    if (!is_absent(value) && !value_is(value, VALUE_ARRAY) && !value_is(value, VALUE_OBJECT))
        return 0; /* not known, or of a wrong type */
    if (count < nested->min)
        return err_set(configuring->error, ERR_INVALID, "InvalidAttribute",
                       nested->min == 1 ? "%s: a block of this name is required"
                                        : "%s: at least %lld blocks of this name are required",
                       path_text(configuring->path), (long long)nested->min);
    if (nested->max && count > nested->max)
        return err_set(configuring->error, ERR_INVALID, "InvalidAttribute",
                       "%s: there are %lld blocks of this name, and %lld are allowed",
                       path_text(configuring->path), (long long)count, (long long)nested->max);
    return 0;
}

/* A block that is absent is empty. One block may stand for a list of one, as in Terraform's JSON.
 */
static int configure_nested_block(struct configuring *configuring, const struct tf_nested *nested,
                                  const struct value *given)
{
    bool is_list = nested->nesting == TF_NESTED_LIST || nested->nesting == TF_NESTED_SET;
    _cleanup_value_ const struct value *value =
        !is_absent(given)
            ? value_pack(is_list && value_is(given, VALUE_OBJECT) ? "[v]" : "v", given)
        : is_list                      ? value_pack("[]")
        : nested->nesting == TF_SINGLE ? NULL
                                       : value_pack("{}");
    int r = check_count(configuring, nested, nested->nesting == TF_GROUP ? given : value);

    if (r < 0)
        return r;
    if (!is_absent(value) && !value_is(value, VALUE_UNKNOWN))
        return configure_nested(configuring, nested, value);
    value_add(configuring->b, value);
    return 0;
}

/* ---- Attributes ---- */

static int configure_attribute(struct configuring *configuring,
                               const struct tf_attribute *attribute, const struct value *value)
{
    _cleanup_value_ const struct value *converted = NULL;
    int r;

    if (is_absent(value) && attribute->required)
        return bad(configuring, "is required");
    if (!is_absent(value) && !attribute->required && !attribute->optional)
        return bad(configuring, "cannot be set: the provider computes it");
    if (is_absent(value) || value_is(value, VALUE_UNKNOWN)) {
        value_add(configuring->b, value);
        return 0;
    }
    if (attribute->nested)
        return configure_nested(configuring, attribute->nested, value);
    r = tf_convert(value, attribute->type, configuring->path, &converted, configuring->error);
    if (r >= 0)
        value_add(configuring->b, converted);
    return r;
}

/* ---- A block ---- */

static int refuse_unknown_name(struct configuring *configuring, const struct tf_block *block,
                               const char *name)
{
    struct similar similar;

    path_push_key(configuring->path, name);
    similar_begin(&similar, name);
    for (size_t i = 0; i < block->type->n_members; i++)
        similar_offer(&similar, block->type->members[i].name);
    if (!similar.found)
        return bad(configuring, "there is no such argument");
    return err_set(configuring->error, ERR_INVALID, "InvalidAttribute",
                   "%s: there is no such argument; is \"%s\" meant?", path_text(configuring->path),
                   similar.found);
}

static int check_members(struct configuring *configuring, const struct tf_block *block,
                         const struct value *value)
{
    for (size_t i = 0; i < value_count(value); i++) {
        size_t length;
        const char *name = value_member_key(value, i, &length);

        if (!tf_type_member(block->type, name, length))
            return refuse_unknown_name(configuring, block, name);
    }
    return 0;
}

static int configure_members(struct configuring *configuring, const struct tf_block *block,
                             const struct value *value)
{
    int r = 0;

    for (size_t i = 0; i < block->n_attributes && r >= 0; i++) {
        const struct tf_attribute *attribute = &block->attributes[i];

        path_push_key(configuring->path, attribute->name);
        value_key(configuring->b, attribute->name);
        r = configure_attribute(configuring, attribute, value_get(value, attribute->name));
        path_pop(configuring->path);
    }
    for (size_t i = 0; i < block->n_blocks && r >= 0; i++) {
        const struct tf_nested *nested = &block->blocks[i];

        path_push_key(configuring->path, nested->name);
        value_key(configuring->b, nested->name);
        r = configure_nested_block(configuring, nested, value_get(value, nested->name));
        path_pop(configuring->path);
    }
    return r;
}

/* After a failure containers stay open: the builder is only freed. */
static int configure_block(struct configuring *configuring, const struct tf_block *block,
                           const struct value *value)
{
    int r;

    if (value_is(value, VALUE_UNKNOWN)) {
        value_add(configuring->b, value);
        return 0;
    }
    if (!value_is(value, VALUE_OBJECT))
        return bad(configuring, "must be an object");
    r = check_members(configuring, block, value);
    if (r < 0)
        return r;
    value_begin_like(configuring->b, value);
    r = configure_members(configuring, block, value);
    if (r >= 0)
        value_end(configuring->b);
    return r;
}

int tf_configure(const struct tf_block *block, const struct value *attributes, struct path *path,
                 const struct value **ret, struct error *error)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *configured = NULL;
    struct configuring configuring = {.b = b, .path = path, .error = error};
    int r = configure_block(&configuring, block, attributes);

    if (r >= 0)
        r = value_builder_finish(b, &configured, error);
    return r < 0 ? r : tf_normalise(configured, block->type, ret, error);
}
