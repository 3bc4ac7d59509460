/* The default order of kinds. */
#pragma once

#include <stdint.h>

#include "runtimes/kubernetes/objects/object_ref.h"

/* The place of a kind in the default order; unknown kinds rank with Deployment. */
uint16_t kind_rank(const struct object_ref *ref);
