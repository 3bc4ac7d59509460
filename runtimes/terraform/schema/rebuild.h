/*
 * A copy of a value of a block in which some attributes are replaced.
 */
#pragma once

#include "runtimes/terraform/schema/schema.h"

struct tf_rebuilding {
    /* Adds what replaces the attribute's value. False: it added nothing, and the value stays, with
     * what is replaced inside. */
    bool (*replace)(struct value_builder *b, const struct tf_attribute *attribute,
                    const struct value *value);
    /* Nothing in the block is replaced: it is not looked into. NULL: any block is. */
    bool (*is_kept)(const struct tf_block *block);
};

/* A reference; NULL: a bound of limits.h was passed. */
const struct value *tf_rebuild(const struct tf_block *block, const struct value *value,
                               const struct tf_rebuilding *how);
