/*
 * What is ignored (ignore.h), of objects and of the sets of fields that managers have (fields.h).
 * Pure functions. What is returned is a reference.
 */
#pragma once

#include "runtimes/kubernetes/objects/ignore.h"

/* The object without the ignored fields, and without objects and lists of which nothing else is
 * left. */
const struct value *ignored_leave_out(const struct ignored *ignored, const struct value *object);

/* The object with the ignored fields as the live one has them. */
const struct value *ignored_fill_in(const struct ignored *ignored, const struct value *object,
                                    const struct value *live);

/* The set without the ignored fields; NULL: nothing else is in it. */
const struct value *ignored_leave_out_fields(const struct ignored *ignored,
                                             const struct value *fields);

/* The ignored fields of the set; NULL: there are none. */
const struct value *ignored_keep_fields(const struct ignored *ignored, const struct value *fields);

/* A path to something that the object has, inside of what the set has as one field: an atomic list
 * or object. NULL: there is none. */
const struct ignore_path *ignored_find_inside(const struct ignored *ignored,
                                              const struct value *object,
                                              const struct value *fields);

/* "spec.replicas, spec.x": the ignored fields that the set has, for messages; free(). NULL: none.
 */
char *ignored_name(const struct ignored *ignored, const struct value *fields);
