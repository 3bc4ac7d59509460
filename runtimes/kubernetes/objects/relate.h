/*
 * The order that the Kubernetes API demands: a namespaced object lives in its Namespace, a custom
 * resource in its CustomResourceDefinition. Also the default order of kinds, and the objects that
 * give the Spec's service account its rights, which are deleted last (access.h).
 */
#pragma once

#include "engine/graph/relations.h"
#include "engine/runtime.h"

/* runtime_ops.relate. If two targets are the same Namespace or CRD, others live in the first. */
int kube_relate(struct runtime *runtime, const struct runtime_scope *scope,
                const struct runtime_target *targets, size_t n, struct relations *ret,
                struct error *error);
