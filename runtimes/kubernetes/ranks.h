/* The kinds' default order. */
#ifndef RUNTIMES_KUBERNETES_RANKS_H
#define RUNTIMES_KUBERNETES_RANKS_H

#include <stdint.h>

#include "runtimes/kubernetes/object_ref.h"

/* A kind's place in the default order; kinds that are not in the table come with Deployment. */
uint16_t kind_rank(const struct object_ref *ref);

#endif
