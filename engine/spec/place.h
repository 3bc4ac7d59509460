/*
 * A place in a Spec: a chain of steps on the stack, from the last one up. It costs nothing until a
 * problem has to name the place.
 */
#pragma once

#include <stddef.h>

#include "engine/value/path.h"

struct place {
    const struct place *above; /* NULL: the first step */
    const char *key;           /* member name; NULL: the step is an index */
    size_t index;
};

/* Adds the place to a path (initialised by the caller). place NULL adds nothing. */
void place_path(const struct place *place, struct path *path);

/* Calls fn for each string in a value; keys are not included. Each string's place continues `above`
 * (may be NULL). If fn returns nonzero, the walk ends and returns that. */
typedef int place_on_string(void *arg, const struct value *string, const struct place *place,
                            struct error *error);
int place_each_string(const struct value *value, const struct place *above, place_on_string *fn,
                      void *arg, struct error *error);
