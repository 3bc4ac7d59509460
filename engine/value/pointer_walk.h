/*
 * Walks over a value by JSON pointers (path.h): the pointers to some of its values, and a copy with
 * other values at some pointers. Time is linear in the value, and the pointers' number times its
 * logarithm.
 */
#pragma once

#include "engine/value/value.h"

typedef bool pointer_test(const struct value *value);

/* An array of pointers to the topmost values for which is() is true, in the value's order; a
 * reference. has(): whether one of them is in a value, or is the value itself. NULL: there is none,
 * or there are more than one document holds (limits.h). */
const struct value *pointer_list(const struct value *value, pointer_test *is, pointer_test *has);

struct pointer_target {
    const char *pointer; /* length bytes */
    size_t length;
    const struct value *value; /* for put(); borrowed */
};

struct pointer_edit {
    struct pointer_target *targets; /* borrowed; they are sorted */
    size_t n_targets;
    /* Adds what stands at the target from now on. now: what stands there; NULL: nothing. */
    void (*put)(void *arg, struct value_builder *b, const struct pointer_target *target,
                const struct value *now);
    void *arg;
    bool adds_members; /* targets that objects do not have are added to them */
    size_t n_found;    /* set: targets whose pointers lead to a value */
};

/* The strings of a list as targets, without values; free() them. They borrow from the list. */
struct pointer_target *pointer_targets(const struct value *list, size_t *ret_count);

/* A copy of the value with other values at the targets; a target inside another one's value is not
 * found. A reference; NULL: past a bound of limits.h. */
const struct value *pointer_edit(struct pointer_edit *edit, const struct value *value);
