/*
 * What the API itself demands of the order among objects: a namespaced object is in its Namespace,
 * a custom resource in its CustomResourceDefinition; the kinds' default order; and the rights of
 * the Spec's service account, which go last (access.h).
 */
#ifndef RUNTIMES_KUBERNETES_RELATE_H
#define RUNTIMES_KUBERNETES_RELATE_H

#include "engine/graph/relations.h"
#include "engine/runtime.h"

/* runtime_ops.relate. Of two targets that are the same object, the first is what others are in. */
int kube_relate(struct runtime *runtime, const struct runtime_scope *scope,
                const struct runtime_target *targets, size_t n, struct relations *ret,
                struct error *error);

#endif
