/*
 * Differences between two values, by field: what a person reads in a plan.
 *
 * Lists are compared item by item: their order counts (args!). LIMIT_DIFF_FIELDS are kept, or
 * LIMIT_DIFF_BYTES; the rest is counted.
 *
 * A field that is sensitive (value.h) on either side shows as "(sensitive)" on both. So do all
 * items that differ of a list that holds anything sensitive on either side. Where an object is
 * shown whole, what is sensitive below it is hidden.
 */
#ifndef ENGINE_PLAN_DIFF_H
#define ENGINE_PLAN_DIFF_H

#include "engine/base/arena.h"
#include "engine/base/value.h"

#define DIFF_SENSITIVE "(sensitive)"

struct diff_field {
    const char *path;         /* "spec.replicas", "spec.template.spec.containers[0].args[1]" */
    const char *from, *to;    /* JSON_VISIBLE, cut at 256 bytes with "…"; NULL: absent */
};

struct diff {
    struct diff_field *fields;
    size_t n_fields, capacity;
    size_t total; /* found, kept or not */
    struct arena arena;
};

#define DIFF_INIT {0}
void diff_done(struct diff *diff);

/* from, to: NULL for absent. If one of them is, all of the other is told, but for what is null. */
void diff_values(const struct value *from, const struct value *to, struct diff *ret);

#endif
