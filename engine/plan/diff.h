/*
 * Differences between two values, by field: what a person reads in a plan.
 *
 * Lists are compared item by item: their order counts (args!). Values at sensitive pointers show as
 * "(sensitive)", and so does all below them. LIMIT_DIFF_FIELDS are kept, the rest is counted.
 */
#ifndef ENGINE_PLAN_DIFF_H
#define ENGINE_PLAN_DIFF_H

#include "engine/base/arena.h"
#include "engine/base/value.h"

#define DIFF_SENSITIVE "(sensitive)"

struct diff_field {
    const char *path;         /* "spec.replicas", "spec.template.spec.containers[0].args[1]" */
    const char *from, *to;    /* compact JSON, cut at 256 bytes with "…"; NULL: absent */
};

struct diff {
    struct diff_field *fields;
    size_t n_fields, capacity;
    size_t total; /* found, kept or not */
    struct arena arena;
};

#define DIFF_INIT {0}
void diff_done(struct diff *diff);

/* from, to: NULL for absent. sensitive: array of JSON pointers, or NULL. */
void diff_values(const struct value *from, const struct value *to, const struct value *sensitive,
                 struct diff *ret);

/* The value with sensitive pointers' values replaced by DIFF_SENSITIVE. */
const struct value *diff_redact(const struct value *value, const struct value *sensitive);

#endif
