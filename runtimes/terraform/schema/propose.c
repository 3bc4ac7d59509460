/*
 * The proposed new state, as Terraform makes it.
 *
 * An attribute that is computed and not configured keeps its prior value; everything else is as it
 * is configured. Of nested blocks those in a list are compared by position, those in a map by key.
 * Those in a set have no names: one is taken for a prior one if it differs only where the provider
 * computes a value that is not configured.
 */
#include "engine/base/mem.h"
#include "engine/value/children.h"
#include "runtimes/terraform/schema/schema.h"

static void propose_block(struct value_builder *b, const struct tf_block *block,
                          const struct value *prior, const struct value *config);

static bool is_null(const struct value *value)
{
    return !value || value_is(value, VALUE_NULL);
}

/* What the prior state has of something: of a prior state that is unknown, nothing is known. */
static const struct value *below(const struct value *prior, const struct value *found)
{
    return value_is(prior, VALUE_UNKNOWN) ? prior : found;
}

static bool is_single(const struct tf_nested *nested)
{
    return nested->nesting == TF_SINGLE || nested->nesting == TF_GROUP;
}

/* ---- Elements of sets ---- */

static bool may_come_from(const struct tf_block *block, const struct value *prior,
                          const struct value *config);

static bool nested_may_come_from(const struct tf_nested *nested, const struct value *prior,
                                 const struct value *config)
{
    if (value_equal(prior, config))
        return true;
    if (is_null(prior) || is_null(config) || value_is(config, VALUE_UNKNOWN) ||
        nested->nesting == TF_NESTED_SET || value_type(prior) != value_type(config))
        return false;
    if (is_single(nested))
        return may_come_from(nested->block, prior, config);
    if (value_count(prior) != value_count(config))
        return false;
    for (size_t i = 0; i < value_count(config); i++) {
        const struct value *before = value_counterpart(prior, config, i);

        if (!before || !may_come_from(nested->block, before, value_child(config, i)))
            return false;
    }
    return true;
}

/* True if the configured element may be the prior one. */
static bool may_come_from(const struct tf_block *block, const struct value *prior,
                          const struct value *config)
{
    for (size_t i = 0; i < block->n_attributes; i++) {
        const struct tf_attribute *attribute = &block->attributes[i];
        const struct value *before = value_get(prior, attribute->name);
        const struct value *wanted = value_get(config, attribute->name);

        if (value_equal(before, wanted) || (attribute->computed && is_null(wanted)))
            continue;
        if (!attribute->nested || !nested_may_come_from(attribute->nested, before, wanted))
            return false;
    }
    for (size_t i = 0; i < block->n_blocks; i++) {
        const char *name = block->blocks[i].name;

        if (!nested_may_come_from(&block->blocks[i], value_get(prior, name),
                                  value_get(config, name)))
            return false;
    }
    return true;
}

static void propose_set(struct value_builder *b, const struct tf_nested *nested,
                        const struct value *prior, const struct value *config)
{
    size_t n_prior = value_is(prior, VALUE_ARRAY) ? value_count(prior) : 0;
    _cleanup_free_ bool *is_used = NEW_ARRAY(bool, n_prior + 1);

    value_begin_like(b, config);
    for (size_t i = 0; i < value_count(config); i++) {
        const struct value *wanted = value_at(config, i), *before = NULL;

        for (size_t j = 0; j < n_prior && !before; j++)
            if (!is_used[j] && value_is(wanted, VALUE_OBJECT) &&
                may_come_from(nested->block, value_at(prior, j), wanted)) {
                before = value_at(prior, j);
                is_used[j] = true;
            }
        propose_block(b, nested->block, below(prior, before), wanted);
    }
    value_end(b);
}

/* ---- Nested blocks ---- */

static void propose_children(struct value_builder *b, const struct tf_nested *nested,
                             const struct value *prior, const struct value *config)
{
    value_begin_like(b, config);
    for (size_t i = 0; i < value_count(config); i++) {
        value_key_like(b, config, i);
        propose_block(b, nested->block, below(prior, value_counterpart(prior, config, i)),
                      value_child(config, i));
    }
    value_end(b);
}

static void propose_nested(struct value_builder *b, const struct tf_nested *nested,
                           const struct value *prior, const struct value *config)
{
    if (is_null(config) || value_is(config, VALUE_UNKNOWN) || !value_count(config))
        value_add(b, config);
    else if (is_single(nested))
        propose_block(b, nested->block, prior, config);
    else if (nested->nesting == TF_NESTED_SET)
        propose_set(b, nested, prior, config);
    else
        propose_children(b, nested, prior, config);
}

/* ---- Attributes ---- */

static bool has_settable(const struct tf_nested *nested, const struct value *value);

/* True if the block has a value that only a configuration can have set. */
static bool block_has_settable(const struct tf_block *block, const struct value *value)
{
    for (size_t i = 0; i < block->n_attributes; i++) {
        const struct tf_attribute *attribute = &block->attributes[i];
        const struct value *member = value_get(value, attribute->name);

        if (is_null(member))
            continue;
        if (!attribute->computed || (attribute->nested && has_settable(attribute->nested, member)))
            return true;
    }
    return false;
}

static bool has_settable(const struct tf_nested *nested, const struct value *value)
{
    if (is_single(nested))
        return block_has_settable(nested->block, value);
    for (size_t i = 0; i < value_count(value); i++)
        if (block_has_settable(nested->block, value_child(value, i)))
            return true;
    return false;
}

static void propose_attribute(struct value_builder *b, const struct tf_attribute *attribute,
                              const struct value *prior, const struct value *config)
{
    const struct tf_nested *nested = attribute->nested;

    if (attribute->computed && is_null(config))
        value_add(b, attribute->optional && nested && !is_null(prior) && has_settable(nested, prior)
                         ? config
                         : prior);
    else if (nested)
        propose_nested(b, nested, prior, config);
    else
        value_add(b, config);
}

static void propose_block(struct value_builder *b, const struct tf_block *block,
                          const struct value *prior, const struct value *config)
{
    if (!value_is(config, VALUE_OBJECT)) {
        value_add(b, config);
        return;
    }
    value_begin_like(b, config);
    for (size_t i = 0; i < block->n_attributes; i++) {
        const char *name = block->attributes[i].name;

        value_key(b, name);
        propose_attribute(b, &block->attributes[i], below(prior, value_get(prior, name)),
                          value_get(config, name));
    }
    for (size_t i = 0; i < block->n_blocks; i++) {
        const char *name = block->blocks[i].name;

        value_key(b, name);
        propose_nested(b, &block->blocks[i], below(prior, value_get(prior, name)),
                       value_get(config, name));
    }
    value_end(b);
}

const struct value *tf_propose(const struct tf_block *block, const struct value *prior,
                               const struct value *config)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *proposed = NULL;
    const struct value *normal = NULL;

    propose_block(b, block, prior, config);
    if (value_builder_finish(b, &proposed, NULL) < 0)
        return NULL;
    return tf_normalise(proposed, block->type, &normal, NULL) < 0 ? NULL : normal;
}
