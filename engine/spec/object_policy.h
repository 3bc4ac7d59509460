/*
 * What a Spec says of the objects that others have a part in: which fields are not its own, and
 * what happens where another owner, or another manager of a field, is in the way.
 *
 * The values are borrowed from the Spec, and checked only for what every platform's runtime takes
 * for granted: an array, an object. A runtime that has such objects checks the rest (check.h).
 */
#pragma once

#include <stdbool.h>

#include "engine/value/value.h"

enum adoption_policy {
    ADOPT_IF_UNOWNED, /* an object that no other Spec and no other tool owns */
    ADOPT_MATCHING,   /* MustMatch: such an object, if nothing of it has to be changed */
    ADOPT_ALL,
};

struct object_policy {
    bool yields; /* conflictPolicy is Fail: a field that another manager has is not taken */
    enum adoption_policy adoption;
    const struct value *ignore;          /* an array; NULL: none */
    const struct value *common_metadata; /* an object; NULL: none */
};

/* Adds references to the values; and drops them. */
void object_policy_ref(struct object_policy *policy);
void object_policy_done(struct object_policy *policy);
