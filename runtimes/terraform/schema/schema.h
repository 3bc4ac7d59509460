/*
 * The schema of a resource, or of a provider's configuration: which attributes and blocks it has.
 *
 * A block is a value of an object type, whose members are its attributes and its nested blocks. A
 * nested block, and an attribute of which the schema knows the inside (protocol 6), is one block,
 * or a list, set or map of them: both are a struct tf_nested.
 *
 * Schemas are immutable, reference-counted, and used by several threads at once.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtimes/terraform/values/values.h"

/* As in the protocol. */
enum tf_nesting {
    TF_SINGLE = 1,
    TF_NESTED_LIST,
    TF_NESTED_SET,
    TF_NESTED_MAP,
    TF_GROUP, /* one block that is never null */
};

struct tf_nested {
    const char *name;
    enum tf_nesting nesting;
    const struct tf_block *block;
    const struct tf_type *type;
    int64_t min, max; /* count of blocks; max 0: any */
};

struct tf_attribute {
    const char *name;
    const struct tf_type *type;
    bool required, optional, computed, sensitive, write_only;
    const struct tf_nested *nested; /* NULL: the schema does not know more than the type */
};

struct tf_block {
    struct tf_attribute *attributes;
    size_t n_attributes;
    struct tf_nested *blocks;
    size_t n_blocks;
    const struct tf_type *type; /* of all members */
    bool has_sensitive;         /* something inside is sensitive or write-only */
};

struct tf_schema {
    atomic_uint references;
    struct arena arena;
    int64_t version;
    const struct tf_block *block;
};

/* Reads a Schema of the wire. protocol: 5 or 6. ERR_INVALID, ERR_TOO_LARGE. */
int tf_schema_decode(const void *data, size_t length, int protocol, struct tf_schema **ret,
                     struct error *error);
struct tf_schema *tf_schema_ref(struct tf_schema *schema);
void tf_schema_unref(struct tf_schema *schema);
DEFINE_CLEANUP(struct tf_schema *, tf_schema_unref)

/* ---- What is done with a block (each in a file of its own) ---- */

/*
 * Makes the configuration that a Spec's attributes say: converted, with all members, absent blocks
 * empty, normalised. Checked: names, types, what is required, what cannot be set, how many blocks.
 * path: of the attributes; the error's message begins with the place. ERR_INVALID InvalidAttribute.
 */
int tf_configure(const struct tf_block *block, const struct value *attributes, struct path *path,
                 const struct value **ret, struct error *error);

/* The state that a provider is asked to plan: the configuration, with the values that the prior
 * state has where the provider computes them. prior NULL: none; VALUE_UNKNOWN: it is not known, as
 * that of a data source before it is read. A reference; NULL: a bound of limits.h was passed. */
const struct value *tf_propose(const struct tf_block *block, const struct value *prior,
                               const struct value *config);

/* A copy of a state in which what only the provider computes is null, as it is in a configuration.
 * A reference; NULL: a bound of limits.h was passed. */
const struct value *tf_without_computed(const struct tf_block *block, const struct value *value);

/* A copy in which what the schema calls sensitive or write-only is sensitive. A reference; NULL
 * stays NULL. NULL also if a bound of limits.h was passed. */
const struct value *tf_mark(const struct tf_block *block, const struct value *value);

/* The paths of what is sensitive in a Spec's attributes, which have to be as the Spec has them, not
 * yet marked by the schema: Terraform's state has them in this form, and knows the schema's without
 * it. Of an element of a set, the set's.
 *
 *   [[{"type": "get_attr", "value": "tags"},
 *     {"type": "index", "value": {"value": "key", "type": "string"}}]]
 *
 * A reference; NULL: nothing is. */
const struct value *tf_sensitive_paths(const struct tf_block *block,
                                       const struct value *attributes);
/* In the same form, the paths of what the schema calls sensitive in a state; null, too. What may
 * only be written is in no state. */
const struct value *tf_schema_paths(const struct tf_block *block, const struct value *state);

/*
 * What Terraform holds a provider to, because the libraries of providers let violations through.
 * Providers that say that they have the legacy type system (SDK v2) are not held to it.
 *
 * A planned value is as configured, or as it was; what is not configured is null, unless the
 * provider computes it; there are as many blocks as configured. ERR_INTERNAL ProviderFailed; the
 * message begins with the place. prior NULL: none.
 */
int tf_check_planned(const struct tf_block *block, const struct value *prior,
                     const struct value *config, const struct value *planned, struct error *error);
/* Where a planned value was known, it is so. The same errors. */
int tf_check_applied(const struct tf_block *block, const struct value *planned,
                     const struct value *actual, struct error *error);
