/*
 * What the parts of the projection share. For projection.c, projection_items.c, and
 * projection_expect.c.
 */
#pragma once

#include "runtimes/kubernetes/objects/projection.h"

/* Items of a list among which one without all its key fields is looked for. */
#define MAX_GUESSED 256

/* ---- projection.c ---- */

/* One field. Values: NULL: absent. Recursion over places is bounded by LIMIT_DEPTH. */
struct place {
    const struct value *all;            /* the fields in it that we have, take or give up */
    const struct value *own;            /* those that we have afterwards; NULL: it is given up */
    const struct value *before, *after; /* its value */
    const struct value *sent;
};
/* ret: zeroed. */
void projection_of_place(const struct place *place, struct projection *ret);
void projection_of_leaf(const struct place *place, struct projection *ret);
/* Both are absent, or both have the same value. */
bool projection_place_equal(const struct value *a, const struct value *b);

/* The letter of the steps into the field that the set has; 0: it has none. */
char projection_step_kind(const struct value *fields);

/* One side of an object or a list in the making. */
struct side {
    const struct value *from; /* the value; NULL: absent */
    struct value_builder *b;  /* NULL: the value is of another type, and is shown as it is */
    bool has_any;             /* else the result is NULL */
};
struct side projection_side_begin(const struct value *from, enum value_type type);
/* key NULL: an item. value NULL: nothing is added. */
void projection_side_add(struct side *side, const char *key, size_t length,
                         const struct value *value);
const struct value *projection_side_end(struct side *side);

/* ---- projection_items.c ---- */

void projection_of_list(const struct place *place, char kind, struct projection *ret);

/* The key fields, or the value, that a step of this kind leads to. A reference; NULL: it is no such
 * step. */
const struct value *projection_step_target(const struct value *fields, size_t index, char kind);
/* How many of these key fields the item has; -1: one has another value. */
int projection_count_keys(const struct value *item, const struct value *keys);
/* The item's key fields, and then what is shown of it. */
const struct value *projection_with_keys(const struct value *item, const struct value *keys,
                                   const struct value *shown);
