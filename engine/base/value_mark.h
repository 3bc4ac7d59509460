/*
 * What is sensitive in a value, as JSON pointers (path.h): for the edges, where
 * the bit on a value (value.h) cannot go along. All take time in proportion
 * to the value and to the pointers, however many these are.
 *
 * Pointers are topmost: none leads to something below another.
 */
#ifndef ENGINE_BASE_VALUE_MARK_H
#define ENGINE_BASE_VALUE_MARK_H

#include "engine/base/value.h"

/* An array of pointers to what is sensitive, in the value's order; NULL: nothing is. A reference.
 * NULL, too, where they are more than one document holds (limits.h). */
const struct value *value_sensitive_paths(const struct value *value);

/* The value with what an array of pointers leads to made sensitive. What leads nowhere, or is no
 * string, is left out. A reference; NULL stays NULL. */
const struct value *value_mark_paths(const struct value *value, const struct value *pointers);

/*
 * The value, made sensitive wherever `like` is at the same path. A path ends at the first array:
 * what stands there is made sensitive as a whole where anything in like's array is, since
 * positions shift. The same where one of the two is no object any more. What `like` has and the
 * value has not is left out. A reference; NULL stays NULL.
 */
const struct value *value_mark_like(const struct value *value, const struct value *like);

/* The value with null for all that is sensitive; in *ret_taken comes an object {"<pointer>":
 * what was there}. Both are references; NULL both where they are more than one document holds. */
const struct value *value_take_sensitive(const struct value *value, const struct value **ret_taken);

/* The inverse: what was taken is in its place again, and sensitive. A reference. NULL: a pointer
 * leads nowhere, below another, or past a bound of limits.h. */
const struct value *value_put_sensitive(const struct value *value, const struct value *taken);

#endif
