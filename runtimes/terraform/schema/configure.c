#include "engine/base/similar.h"
#include "engine/base/str.h"
#include "engine/value/children.h"
#include "runtimes/terraform/schema/schema.h"

#define SHOWN_PROBLEMS 8 /* of one configuration; the rest is counted */

struct configuring {
    struct value_builder *b;
    struct path *path;
    struct buf problems; /* "attributes.a: is required; attributes.b: must be a number" */
    size_t n_problems;
    struct error problem; /* of a conversion: not on the stack of each level */
};

static void configure_block(struct configuring *configuring, const struct tf_block *block,
                            const struct value *value);

static void add_problem(struct configuring *configuring, const char *text)
{
    if (configuring->n_problems++ < SHOWN_PROBLEMS)
        buf_printf(&configuring->problems, "%s%s", configuring->problems.length ? "; " : "", text);
}

/* At the place where it is. */
static void PRINTF_LIKE(2, 3) add_bad(struct configuring *configuring, const char *format, ...)
{
    _cleanup_free_ char *what = NULL, *text = NULL;
    va_list args;

    va_start(args, format);
    what = str_vprintf(format, args);
    va_end(args);
    text = str_printf("%s: %s", path_text(configuring->path), what);
    add_problem(configuring, text);
}

/* With nothing in its place: what is wrong elsewhere is found, too. */
static void refuse(struct configuring *configuring, const char *what)
{
    add_bad(configuring, "%s", what);
    value_add_null(configuring->b);
}

static bool is_absent(const struct value *value)
{
    return !value || value_is(value, VALUE_NULL);
}

/* ---- Nested blocks ---- */

static void configure_nested(struct configuring *configuring, const struct tf_nested *nested,
                             const struct value *value)
{
    bool is_map = nested->nesting == TF_NESTED_MAP;

    if (nested->nesting == TF_SINGLE || nested->nesting == TF_GROUP) {
        configure_block(configuring, nested->block, value);
        return;
    }
    if (!value_is(value, is_map ? VALUE_OBJECT : VALUE_ARRAY)) {
        refuse(configuring, is_map ? "must be an object of objects" : "must be a list of objects");
        return;
    }
    value_begin_like(configuring->b, value);
    for (size_t i = 0; i < value_count(value); i++) {
        path_push_child(configuring->path, value, i);
        value_key_like(configuring->b, value, i);
        configure_block(configuring, nested->block, value_child(value, i));
        path_pop(configuring->path);
    }
    value_end(configuring->b);
}

static void check_count(struct configuring *configuring, const struct tf_nested *nested,
                        const struct value *value)
{
    bool is_single = nested->nesting == TF_SINGLE || nested->nesting == TF_GROUP;
    int64_t count = is_single ? !is_absent(value) : (int64_t)value_count(value);

    if (!is_absent(value) && !value_is(value, VALUE_ARRAY) && !value_is(value, VALUE_OBJECT))
        return; /* not known, or of a wrong type */
    if (count < nested->min && nested->min == 1)
        add_bad(configuring, "a block of this name is required");
    else if (count < nested->min)
        add_bad(configuring, "at least %lld blocks of this name are required",
                (long long)nested->min);
    else if (nested->max && count > nested->max)
        add_bad(configuring, "there are %lld blocks of this name, and %lld are allowed",
                (long long)count, (long long)nested->max);
}

/* A block that is absent is empty. One block may stand for a list of one, as in Terraform's JSON.
 */
static void configure_nested_block(struct configuring *configuring, const struct tf_nested *nested,
                                   const struct value *given)
{
    bool is_list = nested->nesting == TF_NESTED_LIST || nested->nesting == TF_NESTED_SET;
    _cleanup_value_ const struct value *value =
        !is_absent(given)
            ? value_pack(is_list && value_is(given, VALUE_OBJECT) ? "[v]" : "v", given)
        : is_list                      ? value_pack("[]")
        : nested->nesting == TF_SINGLE ? NULL
                                       : value_pack("{}");

    check_count(configuring, nested, nested->nesting == TF_GROUP ? given : value);
    /* What an absent block lacks is told of the block alone. */
    if (!is_absent(value) && !value_is(value, VALUE_UNKNOWN) && !(is_absent(given) && nested->min))
        configure_nested(configuring, nested, value);
    else
        value_add(configuring->b, value);
}

/* ---- Attributes ---- */

static void configure_attribute(struct configuring *configuring,
                                const struct tf_attribute *attribute, const struct value *value)
{
    _cleanup_value_ const struct value *converted = NULL;

    if (is_absent(value) && attribute->required) {
        refuse(configuring, "is required");
    } else if (!is_absent(value) && !attribute->required && !attribute->optional) {
        refuse(configuring, "cannot be set: the provider computes it");
    } else if (is_absent(value) || value_is(value, VALUE_UNKNOWN)) {
        value_add(configuring->b, value);
    } else if (attribute->nested) {
        configure_nested(configuring, attribute->nested, value);
    } else if (tf_convert(value, attribute->type, configuring->path, &converted,
                          &configuring->problem) < 0) {
        add_problem(configuring, configuring->problem.message);
        value_add_null(configuring->b);
    } else {
        value_add(configuring->b, converted);
    }
}

/* ---- A block ---- */

/* The argument that is meant by another name; NULL: none is. */
static const char *find_meant(const struct tf_block *block, const char *name)
{
    struct similar similar;

    similar_begin(&similar, name);
    for (size_t i = 0; i < block->type->n_members; i++)
        similar_offer(&similar, block->type->members[i].name);
    return similar.found;
}

static void check_members(struct configuring *configuring, const struct tf_block *block,
                          const struct value *value)
{
    for (size_t i = 0; i < value_count(value); i++) {
        size_t length;
        const char *name = value_member_key(value, i, &length), *meant;

        if (tf_type_member(block->type, name, length))
            continue;
        meant = find_meant(block, name);
        path_push_key(configuring->path, name);
        if (meant)
            add_bad(configuring, "there is no such argument; is \"%s\" meant?", meant);
        else
            add_bad(configuring, "there is no such argument");
        path_pop(configuring->path);
    }
}

/* An argument that is required is there, under a wrong name, which is told already. */
static bool is_misspelled(const struct tf_block *block, const struct value *value,
                          const struct tf_attribute *attribute)
{
    bool is_needed = attribute->required && is_absent(value_get(value, attribute->name));

    for (size_t i = 0; is_needed && i < value_count(value); i++) {
        size_t length;
        const char *name = value_member_key(value, i, &length);

        if (!tf_type_member(block->type, name, length) &&
            str_equal(find_meant(block, name), attribute->name))
            return true;
    }
    return false;
}

static void configure_members(struct configuring *configuring, const struct tf_block *block,
                              const struct value *value)
{
    for (size_t i = 0; i < block->n_attributes; i++) {
        const struct tf_attribute *attribute = &block->attributes[i];

        path_push_key(configuring->path, attribute->name);
        value_key(configuring->b, attribute->name);
        if (is_misspelled(block, value, attribute))
            value_add_null(configuring->b);
        else
            configure_attribute(configuring, attribute, value_get(value, attribute->name));
        path_pop(configuring->path);
    }
    for (size_t i = 0; i < block->n_blocks; i++) {
        const struct tf_nested *nested = &block->blocks[i];

        path_push_key(configuring->path, nested->name);
        value_key(configuring->b, nested->name);
        configure_nested_block(configuring, nested, value_get(value, nested->name));
        path_pop(configuring->path);
    }
}

static void configure_block(struct configuring *configuring, const struct tf_block *block,
                            const struct value *value)
{
    if (value_is(value, VALUE_UNKNOWN)) {
        value_add(configuring->b, value);
        return;
    }
    if (!value_is(value, VALUE_OBJECT)) {
        refuse(configuring, "must be an object");
        return;
    }
    check_members(configuring, block, value);
    value_begin_like(configuring->b, value);
    configure_members(configuring, block, value);
    value_end(configuring->b);
}

static int fail(const struct configuring *configuring, struct error *error)
{
    size_t shown =
        configuring->n_problems < SHOWN_PROBLEMS ? configuring->n_problems : SHOWN_PROBLEMS;

    if (shown == configuring->n_problems)
        return err_set(error, ERR_INVALID, "InvalidAttribute", "%s", configuring->problems.data);
    return err_set(error, ERR_INVALID, "InvalidAttribute", "%s; and %zu more",
                   configuring->problems.data, configuring->n_problems - shown);
}

int tf_configure(const struct tf_block *block, const struct value *attributes, struct path *path,
                 const struct value **ret, struct error *error)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *configured = NULL;
    struct configuring configuring = {.b = b, .path = path, .problems = BUF_INIT};
    int r = 0;

    configure_block(&configuring, block, attributes);
    if (configuring.n_problems)
        r = fail(&configuring, error);
    buf_done(&configuring.problems);
    if (r >= 0)
        r = value_builder_finish(b, &configured, error);
    return r < 0 ? r : tf_normalise(configured, block->type, ret, error);
}
