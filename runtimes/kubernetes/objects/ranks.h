/* The default order of kinds. */
#ifndef RUNTIMES_KUBERNETES_OBJECTS_RANKS_H
#define RUNTIMES_KUBERNETES_OBJECTS_RANKS_H

#include <stdint.h>

#include "runtimes/kubernetes/objects/object_ref.h"

/* The place of a kind in the default order; unknown kinds rank with Deployment. */
uint16_t kind_rank(const struct object_ref *ref);

#endif
