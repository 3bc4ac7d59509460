#include "engine/value/children.h"
#include "engine/value/path.h"
#include "runtimes/terraform/schema/schema.h"

struct checking {
    struct path path;
    struct error *error;
};

static bool is_null(const struct value *value)
{
    return !value || value_is(value, VALUE_NULL);
}

static int violation(const struct checking *checking, const char *what)
{
    return err_set(checking->error, ERR_INTERNAL, "ProviderFailed", "%s: %s",
                   path_text(&checking->path), what);
}

/* ---- Planned values ---- */

static int check_block(struct checking *checking, const struct tf_block *block,
                       const struct value *prior, const struct value *config,
                       const struct value *planned);

static int check_attribute(const struct checking *checking, const struct tf_attribute *attribute,
                           const struct value *prior, const struct value *config,
                           const struct value *planned)
{
    if (attribute->write_only && !is_null(planned))
        return violation(checking, "the provider planned a value that may only be written");
    if (attribute->write_only || value_has_unknown(config))
        return 0;
    if (is_null(config))
        return attribute->computed || is_null(planned)
                   ? 0
                   : violation(checking, "the provider planned a value that is not configured");
    /* Inside of it, values may be computed. */
    if (attribute->nested || value_equal(config, planned) || value_equal(prior, planned))
        return 0;
    return violation(checking, "the provider planned another value than the configured one");
}

static int check_children(struct checking *checking, const struct tf_nested *nested,
                          const struct value *prior, const struct value *config,
                          const struct value *planned)
{
    int r = 0;

    for (size_t i = 0; i < value_count(config) && r >= 0; i++) {
        const struct value *child = value_counterpart(planned, config, i);

        path_push_child(&checking->path, config, i);
        if (child)
            r = check_block(checking, nested->block, value_counterpart(prior, config, i),
                            value_child(config, i), child);
        else
            r = violation(checking, "the provider planned no such block");
        path_pop(&checking->path);
    }
    return r;
}

static int check_nested(struct checking *checking, const struct tf_nested *nested,
                        const struct value *prior, const struct value *config,
                        const struct value *planned)
{
    if (value_has_unknown(config))
        return 0;
    if (value_is(planned, VALUE_UNKNOWN))
        return violation(checking, "the provider does not know how many blocks there will be");
    if (nested->nesting == TF_SINGLE || nested->nesting == TF_GROUP)
        return check_block(checking, nested->block, prior, config, planned);
    if (value_count(config) != value_count(planned))
        return violation(checking, "the provider planned another number of blocks");
    return nested->nesting == TF_NESTED_SET
               ? 0
               : check_children(checking, nested, prior, config, planned);
}

static int check_block(struct checking *checking, const struct tf_block *block,
                       const struct value *prior, const struct value *config,
                       const struct value *planned)
{
    int r = 0;

    if (value_is(config, VALUE_UNKNOWN))
        return 0;
    if (is_null(config) != is_null(planned))
        return violation(checking, "the provider planned another number of blocks");
    for (size_t i = 0; i < block->n_attributes && r >= 0; i++) {
        const char *name = block->attributes[i].name;

        path_push_key(&checking->path, name);
        r = check_attribute(checking, &block->attributes[i], value_get(prior, name),
                            value_get(config, name), value_get(planned, name));
        path_pop(&checking->path);
    }
    for (size_t i = 0; i < block->n_blocks && r >= 0; i++) {
        const char *name = block->blocks[i].name;

        path_push_key(&checking->path, name);
        r = check_nested(checking, &block->blocks[i], value_get(prior, name),
                         value_get(config, name), value_get(planned, name));
        path_pop(&checking->path);
    }
    return r;
}

int tf_check_planned(const struct tf_block *block, const struct value *prior,
                     const struct value *config, const struct value *planned, struct error *error)
{
    struct checking checking = {.error = error};
    int r;

    path_init(&checking.path);
    path_push_key(&checking.path, "attributes");
    r = check_block(&checking, block, prior, config, planned);
    path_done(&checking.path);
    return r;
}

/* ---- Values after apply ---- */

static int compare(struct checking *checking, const struct tf_type *type,
                   const struct value *planned, const struct value *actual);

static int compare_children(struct checking *checking, const struct tf_type *type,
                            const struct value *planned, const struct value *actual)
{
    int r = 0;

    if (value_type(planned) != value_type(actual) || value_count(planned) != value_count(actual))
        return violation(checking, "the provider made something else than it had planned");
    for (size_t i = 0; i < value_count(planned) && r >= 0; i++) {
        path_push_child(&checking->path, planned, i);
        r = compare(checking, tf_type_child(type, planned, i), value_child(planned, i),
                    value_counterpart(actual, planned, i));
        path_pop(&checking->path);
    }
    return r;
}

/* Unknown elements of a set cannot be found among the known ones. */
static int compare_sets(const struct checking *checking, const struct value *planned,
                        const struct value *actual)
{
    bool is_same =
        value_has_unknown(planned) ? value_is(actual, VALUE_ARRAY) : value_equal(planned, actual);

    return is_same ? 0
                   : violation(checking, "the provider made something else than it had planned");
}

static int compare(struct checking *checking, const struct tf_type *type,
                   const struct value *planned, const struct value *actual)
{
    bool has_children = value_is(planned, VALUE_OBJECT) || value_is(planned, VALUE_ARRAY);

    if (value_is(planned, VALUE_UNKNOWN) || type->kind == TF_DYNAMIC)
        return 0;
    if (type->kind == TF_SET && has_children)
        return compare_sets(checking, planned, actual);
    if (has_children)
        return compare_children(checking, type, planned, actual);
    if (is_null(planned) ? is_null(actual) : value_equal(planned, actual))
        return 0;
    return violation(checking, "the provider made something else than it had planned");
}

int tf_check_applied(const struct tf_block *block, const struct value *planned,
                     const struct value *actual, struct error *error)
{
    struct checking checking = {.error = error};
    int r;

    path_init(&checking.path);
    path_push_key(&checking.path, "attributes");
    r = compare(&checking, block->type, planned, actual);
    path_done(&checking.path);
    return r;
}
