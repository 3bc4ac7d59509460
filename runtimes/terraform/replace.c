#include "runtimes/terraform/replace.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/path.h"
#include "runtimes/terraform/plugin/diagnostics.h"

#define MOST_NAMED 8

/* The value at a path of the protocol; where it leads into a set, the set. */
static const struct value *at_path(const struct value *value, const Tfplugin__Path *path)
{
    for (size_t i = 0; i < path->n_steps; i++) {
        const Tfplugin__Step *step = path->steps[i];

        switch (step->selector_case) {
        case TFPLUGIN__STEP__SELECTOR_ATTRIBUTE_NAME:
            value = value_get(value, step->attribute_name);
            break;
        case TFPLUGIN__STEP__SELECTOR_ELEMENT_KEY_STRING:
            value = value_get(value, step->element_key_string);
            break;
        case TFPLUGIN__STEP__SELECTOR_ELEMENT_KEY_INT:
            value =
                step->element_key_int < 0 ? NULL : value_at(value, (size_t)step->element_key_int);
            break;
        default:
            return value;
        }
    }
    return value;
}

static bool is_same(const struct value *a, const struct value *b)
{
    bool a_is_null = !a || value_is(a, VALUE_NULL), b_is_null = !b || value_is(b, VALUE_NULL);

    return a_is_null || b_is_null ? a_is_null && b_is_null : value_equal(a, b);
}

/* The block behind a name. NULL: there is none. *ret_attribute: what has the name, or NULL. */
static const struct tf_block *descend(const struct tf_block *block, const char *name,
                                      const struct tf_attribute **ret_attribute)
{
    *ret_attribute = NULL;
    for (size_t i = 0; i < block->n_attributes; i++)
        if (str_equal(block->attributes[i].name, name)) {
            *ret_attribute = &block->attributes[i];
            return block->attributes[i].nested ? block->attributes[i].nested->block : NULL;
        }
    for (size_t i = 0; i < block->n_blocks; i++)
        if (str_equal(block->blocks[i].name, name))
            return block->blocks[i].block;
    return NULL;
}

static bool is_write_only(const struct tf_block *block, const Tfplugin__Path *path)
{
    const struct tf_attribute *attribute = NULL;

    for (size_t i = 0; i < path->n_steps && block; i++)
        if (path->steps[i]->selector_case == TFPLUGIN__STEP__SELECTOR_ATTRIBUTE_NAME)
            block = descend(block, path->steps[i]->attribute_name, &attribute);
    return attribute && attribute->write_only;
}

/* Adds the path, unless it is there. */
static void name(const char **names, size_t *n_names, const Tfplugin__Path *given)
{
    struct path path;
    bool is_there = false;

    path_init(&path);
    path_push_key(&path, "attributes");
    diagnostics_add_path(&path, given);
    for (size_t i = 0; i < *n_names; i++)
        is_there = is_there || str_equal(names[i], path_text(&path));
    if (!is_there)
        names[(*n_names)++] = str_new(path_text(&path));
    path_done(&path);
}

static char *reason_of(const char *const *names, size_t n_names)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    if (!n_names)
        return NULL;
    for (size_t i = 0; i < n_names && i < MOST_NAMED; i++)
        buf_printf(&text, "%s%s", i ? ", " : "", names[i]);
    if (n_names > MOST_NAMED)
        buf_printf(&text, " and %zu more", n_names - MOST_NAMED);
    buf_add_str(&text, " cannot be changed");
    return buf_take(&text);
}

char *replace_reason(const struct tf_block *block, const Tfplugin__PlanResponse *answer,
                     const struct value *before, const struct value *after)
{
    _cleanup_free_ const char **names = NEW_ARRAY(const char *, answer->n_requires_replace + 1);
    size_t n_names = 0;
    char *reason;

    for (size_t i = 0; i < answer->n_requires_replace; i++) {
        const Tfplugin__Path *path = answer->requires_replace[i];

        if (!is_same(at_path(before, path), at_path(after, path)) || is_write_only(block, path))
            name(names, &n_names, path);
    }
    reason = reason_of(names, n_names);
    for (size_t i = 0; i < n_names; i++)
        free((void *)(uintptr_t)names[i]);
    return reason;
}
