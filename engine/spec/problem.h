/*
 * All that is wrong with a Spec, collected and reported at once: each problem
 * with the resource's id and the field's path.
 *
 * LIMIT_PROBLEMS are kept, the rest is counted.
 */
#ifndef ENGINE_SPEC_PROBLEM_H
#define ENGINE_SPEC_PROBLEM_H

#include <stddef.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"

struct problem {
    const char *reason;   /* "InvalidSpec", "CyclicDependency", "Unsupported" */
    const char *resource; /* id, or NULL: the Spec as a whole */
    const char *field;    /* "resources[3].attributes.metadata.name", or NULL */
    const char *message;
};

struct problems {
    struct problem *items;
    size_t count, capacity; /* kept */
    size_t total;           /* found */
    struct arena arena;
};

#define PROBLEMS_INIT {0}

void problems_done(struct problems *problems);
void problems_add(struct problems *problems, const char *reason, const char *resource,
                  const char *field, const char *format, ...) PRINTF_LIKE(5, 6);

/* One error of them all: "3 problems: resource "a" (field): message; …; and 2
 * more". The reason is the first problem's. Code: ERR_UNSUPPORTED where all are
 * Unsupported, else ERR_INVALID. 0 where there are none. */
int problems_to_error(const struct problems *problems, struct error *error);

#endif
