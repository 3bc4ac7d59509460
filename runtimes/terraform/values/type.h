/*
 * The types of Terraform's values (cty).
 *
 *   "string" "number" "bool" "dynamic" ["list"|"set"|"map", T] ["object", {name: T}] ["tuple", [T]]
 *
 * Types are immutable and live in an arena, most often that of a schema. "dynamic" is the type of a
 * value that brings its own type along.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/arena.h"
#include "engine/base/buf.h"
#include "engine/base/error.h"
#include "engine/value/value.h"

enum tf_kind {
    TF_STRING,
    TF_NUMBER,
    TF_BOOL,
    TF_DYNAMIC,
    TF_LIST,
    TF_SET,
    TF_MAP,
    TF_OBJECT,
    TF_TUPLE,
};

struct tf_type {
    enum tf_kind kind;
    const struct tf_type *element; /* of a list, set or map */
    struct tf_member {
        const char *name; /* of an object's; a tuple's: NULL */
        const struct tf_type *type;
    } *members; /* of an object or a tuple */
    size_t n_members;
};

extern const struct tf_type tf_string, tf_number, tf_bool, tf_dynamic;

/* A collection type: kind TF_LIST, TF_SET or TF_MAP. */
const struct tf_type *tf_type_of(struct arena *arena, enum tf_kind kind,
                                 const struct tf_type *element);

/* Reads a type from its JSON. ERR_INVALID. */
int tf_type_read(struct arena *arena, const struct value *json, const struct tf_type **ret,
                 struct error *error);
/* Adds the type as JSON. */
void tf_type_write(struct buf *to, const struct tf_type *type);

/* What is known of values that are not known yet: the types of what they refer to. */
struct tf_typing {
    /* The type of what a reference stands for. NULL: that is not known, either. */
    const struct tf_type *(*find)(void *arg, const char *reference);
    void *arg;
};

/* The type of a value without a declared one: arrays are tuples, null is dynamic. written: the
 * value as a Spec has it, with references, or NULL; typing NULL: what is not known is dynamic. */
const struct tf_type *tf_type_infer(struct arena *arena, const struct value *value,
                                    const struct value *written, const struct tf_typing *typing);

/* NULL: the object type has none of that name. */
const struct tf_type *tf_type_member(const struct tf_type *object, const char *name,
                                     size_t length);
/* The type of the value's child `i`; NULL: the type has none there. */
const struct tf_type *tf_type_child(const struct tf_type *type, const struct value *value,
                                    size_t i);
/* Values of the one type can be converted (tf_convert()), unless that depends on the value. */
bool tf_type_converts(const struct tf_type *from, const struct tf_type *to);
/* It is dynamic, or has something dynamic in it. */
bool tf_type_has_dynamic(const struct tf_type *type);
/* The value of that type has something unknown whose type is not known, either: it is dynamic.
 * written, typing: as above. */
bool tf_type_is_open(const struct tf_type *type, const struct value *value,
                     const struct value *written, const struct tf_typing *typing);
/* "a list of strings", for messages: adds to the buffer. */
void tf_type_describe(struct buf *to, const struct tf_type *type);
