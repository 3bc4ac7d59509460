/*
 * The health of live objects, by the rules of kstatus (sigs.k8s.io/cli-utils).
 *
 * Rules for all kinds come first: an object with a deletionTimestamp is TERMINATING; one whose
 * observedGeneration is older than its generation is PROGRESSING. Then the rule of the kind applies
 * (health_rules.c). A kind without a rule goes by its conditions Reconciling, Stalled and Ready. An
 * object without any of these is CURRENT as soon as it exists.
 */
#ifndef RUNTIMES_KUBERNETES_OBJECTS_HEALTH_H
#define RUNTIMES_KUBERNETES_OBJECTS_HEALTH_H

#include "engine/base/value.h"
#include "engine/health.h"

void kube_health(const struct value *object, struct health *ret);

#endif
