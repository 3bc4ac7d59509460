/*
 * The sensitive values inside a value, as JSON pointers (path.h): for formats that cannot carry the
 * sensitive bit (value.h). All functions take time linear in the value and the pointers.
 *
 * A list has only topmost pointers: none leads to a value inside another one's.
 */
#pragma once

#include "engine/value/value.h"

/* An array of pointers to the sensitive values, in the value's order; a reference. NULL: nothing is
 * sensitive, or there are more than one document holds (limits.h). */
const struct value *value_sensitive_paths(const struct value *value);

/* A copy in which the values at the pointers are sensitive. Pointers that lead nowhere, or are not
 * strings, are ignored. A reference; NULL stays NULL. */
const struct value *value_mark_paths(const struct value *value, const struct value *pointers);

/*
 * A copy that is sensitive wherever `like` is sensitive at the same path. Positions in arrays
 * shift, so a path ends at the first array: if anything inside like's array is sensitive, the whole
 * value at that path becomes sensitive. The same holds if only one of the two is an object. Paths
 * that the value does not have are ignored. A reference; NULL stays NULL.
 */
const struct value *value_mark_like(const struct value *value, const struct value *like);

/* A copy with null in place of sensitive values. *ret_taken: an object {"<pointer>": value} of
 * them. Both are references; both NULL: more than one document holds. */
const struct value *value_take_sensitive(const struct value *value, const struct value **ret_taken);

/* The inverse: puts the taken values back, sensitive. A reference. NULL: a pointer leads nowhere or
 * into another one's value, or a bound of limits.h is passed. */
const struct value *value_put_sensitive(const struct value *value, const struct value *taken);
