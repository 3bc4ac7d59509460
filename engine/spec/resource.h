/*
 * A resource: one entry of the list in a Spec or a State, in Kusion's shape {id, type, attributes,
 * dependsOn, extensions}.
 *
 * It borrows everything from the document that contains the entry.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/arena.h"
#include "engine/value/value.h"

struct resource {
    const char *id;
    const char *type;
    const struct value *attributes; /* an object */
    const struct value *extensions; /* an object, or NULL */
    const char *const *depends_on;  /* ids, in the order written */
    size_t n_depends_on;
};
