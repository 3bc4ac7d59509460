/*
 * A Spec in parts, where it is larger than one Spec may be.
 */
#pragma once

#include "engine/base/error.h"
#include "engine/value/value.h"

/*
 * n Specs, NAME-1 to NAME-n; for n 1 it is the Spec itself. A resource stays in its part, whatever
 * else comes and goes: it is chosen by a hash of the id. *ret: an array, a reference.
 * ERR_TOO_LARGE: a part has more than LIMIT_SPEC_BYTES; ERR_INVALID: a resource depends on one of
 * another part.
 */
int parts_make(const struct value *spec, size_t n, const struct value **ret, struct error *error);

/* A Release that previews a Spec. A reference. */
const struct value *parts_preview(const struct value *spec);
