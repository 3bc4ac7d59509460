/*
 * Terraform's values: between JSON values (engine/value/value.h) and the msgpack of the providers.
 *
 * A value is of a type if it has the type's form: scalars as they are, lists, sets and tuples as
 * arrays, maps and objects as objects, an object with each of its members. Any value may be null or
 * unknown. tf_convert() gives a value that form; tf_encode() needs it.
 *
 * Numbers are exact in both directions. Sets have no order: a decoded set is in Terraform's order
 * (set.h), and so is a normalised one, so that equal sets are equal values. The sensitive bit is
 * kept by conversion, and is not part of msgpack.
 */
#pragma once

#include "engine/value/path.h"
#include "runtimes/terraform/values/type.h"

/* Adds the value's msgpack. NULL is null. ERR_INVALID: it is not of the type. */
int tf_encode(struct buf *to, const struct value *value, const struct tf_type *type,
              struct error *error);

/* The same, with what is known of what is not known yet: written, typing as of tf_type_infer(). */
int tf_encode_typed(struct buf *to, const struct value *value, const struct tf_type *type,
                    const struct value *written, const struct tf_typing *typing,
                    struct error *error);

/* What becomes of a dynamic value. */
enum tf_form {
    TF_PLAIN, /* the value alone */
    TF_TYPED, /* {"value": …, "type": …}, as in a state's JSON, which providers read again. Those
                 inside of it are values alone: the type has theirs */
};

/* ERR_INVALID: the bytes are no value of that type. */
int tf_decode(const void *data, size_t length, const struct tf_type *type, enum tf_form form,
              const struct value **ret, struct error *error);

/*
 * Converts what a Spec says: numbers and booleans to strings and back, absent members of an object
 * to null. path: where the value stands; the error's message begins with the place of what cannot
 * be converted. ERR_INVALID InvalidAttribute.
 */
int tf_convert(const struct value *value, const struct tf_type *type, struct path *path,
               const struct value **ret, struct error *error);

/* Puts the sets of a value in msgpack into Terraform's order, each element once. ERR_INVALID: it is
 * no value of that type. */
int tf_reorder(struct buf *bytes, const struct tf_type *type, struct error *error);

/* The same value, of the type: each set in order, and each of its elements once. ERR_TOO_LARGE. */
int tf_normalise(const struct value *value, const struct tf_type *type, const struct value **ret,
                 struct error *error);
