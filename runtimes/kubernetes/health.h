/*
 * Is a live object as its Spec wants it? The rules of kstatus (sigs.k8s.io/cli-utils), as a table by
 * kind.
 *
 * First, for all kinds: a deletionTimestamp means TERMINATING, an observedGeneration behind the
 * generation PROGRESSING. Then the kind's rule (health_rules.c). Kinds without one go by their
 * conditions: Reconciling=True, Stalled=True, Ready. An object without any of these is CURRENT once
 * it exists.
 */
#ifndef RUNTIMES_KUBERNETES_HEALTH_H
#define RUNTIMES_KUBERNETES_HEALTH_H

#include "engine/base/value.h"
#include "engine/health.h"

void kube_health(const struct value *object, struct health *ret);

#endif
