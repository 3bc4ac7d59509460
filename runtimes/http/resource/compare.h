/*
 * What of a thing is compared with its attributes: the values that the attributes have, those that
 * they had when State recorded them, and nothing that the server adds.
 *
 * Lists are compared in order, those of `unordered` in any; an attribute that is null equals one
 * that is not there. Attributes that no answer has (`writeOnly`) are compared with those that State
 * recorded.
 */
#pragma once

#include "engine/value/value.h"

struct comparison {
    const struct value *wanted;     /* the attributes */
    const struct value *recorded;   /* those of State; or NULL */
    const struct value *unordered;  /* lists of pointers; or NULL */
    const struct value *write_only; /* likewise */
};

/* The thing as far as its attributes go, in their form: equal to them if nothing is to be changed.
 * A reference; NULL: past a bound of limits.h. */
const struct value *compare_project(const struct comparison *comparison, const struct value *thing);

/* The first of the pointers at which the two differ; borrowed. NULL: none. */
const char *compare_first(const struct value *pointers, const struct value *a,
                          const struct value *b);
