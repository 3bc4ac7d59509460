/*
 * A YAML scalar and its meaning, for the reader.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/value/value.h"

struct yaml_scalar {
    enum value_type type; /* neither array nor object */
    bool boolean;
    const char *text; /* a string's; or a number's, as JSON writes it */
    size_t length;
};

/* Resolves a scalar. text: terminated after length bytes. tag: NULL, or in full
 * ("tag:yaml.org,2002:str"). ERR_INVALID: .inf, .nan, or a tag that does not fit. */
int yaml_scalar_read(struct arena *arena, const char *text, size_t length, const char *tag,
                     bool plain, struct yaml_scalar *ret, struct error *error);

/* The string that a scalar becomes as a key: "false", "12", "1.5". Floats are rounded to single
 * precision, as in kubectl. ERR_INVALID: null. */
int yaml_scalar_key(struct arena *arena, const struct yaml_scalar *scalar, const char **ret,
                    size_t *ret_length, struct error *error);

/* Whether a tag may stand on an array, on an object. */
bool yaml_tag_fits(const char *tag, enum value_type type);
