/*
 * What is unknown in a value (value.h), as JSON pointers (path.h): so that an approved plan can say
 * where values were missing, and a later plan, which knows them, can be compared with it.
 */
#pragma once

#include "engine/value/value.h"

/* An array of pointers to all that is unknown, in the value's order; NULL: nothing is. A reference.
 * NULL, too, where they are more than one document holds (limits.h). */
const struct value *unknown_paths(const struct value *value);

/*
 * The value with VALUE_UNKNOWN at each of the pointers. A member that is missing is added: what was
 * unknown may turn out to be absent. A pointer that leads nowhere otherwise is passed over, and so
 * is one that is no string. A reference; NULL stays NULL, and NULL past a bound of limits.h.
 */
const struct value *unknown_mask(const struct value *value, const struct value *pointers);
