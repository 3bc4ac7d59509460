/*
 * A resource's extension `kusionstack.io/moved-from: OLD_ID`: it had that id before, and keeps its
 * object. It counts while State has a record of the old id and none of the new one, and the Spec
 * has no resource of the old id; else it means nothing, and may stay.
 */
#pragma once

#include "engine/spec/resource.h"

#define MOVED_FROM "kusionstack.io/moved-from"

/* The old id; NULL: there is none. */
const char *moved_from(const struct resource *resource);

/* The extensions without it, for the runtime and State. A reference; NULL stays NULL. */
const struct value *moved_strip(const struct value *extensions);
