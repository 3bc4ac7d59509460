/*
 * A list of all problems of a Spec, to be reported at once. Each problem has the resource's id and
 * the field's path.
 *
 * LIMIT_PROBLEMS are kept; further ones are only counted.
 */
#pragma once

#include <stddef.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"

struct problem {
    const char *reason;   /* "InvalidSpec", "CyclicDependency", "Unsupported" */
    const char *resource; /* the resource's id; NULL: the Spec as a whole */
    const char *field;    /* "resources[3].attributes.metadata.name", or NULL */
    const char *message;
};

struct problems {
    struct problem *items;
    size_t count, capacity; /* of the problems that are kept */
    size_t total;           /* problems that were found */
    struct arena arena;
};

#define PROBLEMS_INIT {0}

void problems_done(struct problems *problems);
void problems_add(struct problems *problems, const char *reason, const char *resource,
                  const char *field, const char *format, ...) PRINTF_LIKE(5, 6);

/* Joins all problems into one error: "3 problems: resource "a" (field): message; …; and 2 more".
 * The reason is that of the first problem. The code is ERR_UNSUPPORTED if all problems are
 * Unsupported, else ERR_INVALID. Returns 0 if there are none. */
int problems_to_error(const struct problems *problems, struct error *error);
