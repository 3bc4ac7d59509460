/* Takes out what only the provider computes. */
#include "runtimes/terraform/schema/rebuild.h"

static bool unset(struct value_builder *b, const struct tf_attribute *attribute,
                  const struct value *value)
{
    bool is_only_computed = attribute->computed && !attribute->optional;

    (void)value;
    if (is_only_computed)
        value_add_null(b);
    return is_only_computed;
}

const struct value *tf_without_computed(const struct tf_block *block, const struct value *value)
{
    _cleanup_value_ const struct value *left =
        tf_rebuild(block, value, &(struct tf_rebuilding){.replace = unset});
    const struct value *normal = NULL;

    return left && tf_normalise(left, block->type, &normal, NULL) >= 0 ? normal : NULL;
}
