/* Marks what the schema calls sensitive. */
#include "runtimes/terraform/schema/rebuild.h"

static bool mark(struct value_builder *b, const struct tf_attribute *attribute,
                 const struct value *value)
{
    bool is_secret = attribute->sensitive || attribute->write_only;

    if (is_secret)
        value_add_sensitive(b, value);
    return is_secret;
}

static bool is_kept(const struct tf_block *block)
{
    return !block->has_sensitive;
}

const struct value *tf_mark(const struct tf_block *block, const struct value *value)
{
    return !value || is_kept(block)
               ? value_ref(value)
               : tf_rebuild(block, value, &(struct tf_rebuilding){mark, is_kept});
}
