/*
 * Health checks in Lua: finds the one of an object, and runs it.
 *
 * A resource's own comes first, then those of the cluster: the one of its group and kind, then the
 * longest with a star. The latter are in the ConfigMaps of the operator's namespace that have the
 * label KUBE_HEALTH_LABEL. They are watched, with the operator's own rights, from the first session
 * on. Two ConfigMaps with a check of the same kind: the one that comes first by name counts.
 *
 * At most two checks run at once, and one of a namespace: they take CPU time, and memory.
 *
 * Thread-safe.
 */
#pragma once

#include "engine/runtime.h"
#include "runtimes/kubernetes/session/config.h"

#define HEALTH_CHECKS_AT_ONCE      2
#define HEALTH_CHECKS_OF_NAMESPACE 1

struct health_checks;

/* config: what it points to outlives it. */
struct health_checks *health_checks_new(const struct kube_runtime_config *config);
void health_checks_free(struct health_checks *checks);

/* Begins to watch, unless it does. */
void health_checks_begin(struct health_checks *checks);

/* What a check says of the object in place of `ret`, as kube_health() set it. spec_namespace: of
 * the Spec that asks; extensions: of the resource; or NULL. Until the cluster's are read, `ret` is
 * UNKNOWN. ERR_TIMEOUT, ERR_CANCELLED: the call ended before its check could run. */
int health_checks_judge(struct health_checks *checks, const char *spec_namespace,
                        const struct value *extensions, const struct value *object,
                        const struct runtime_call *call, struct health *ret, struct error *error);
