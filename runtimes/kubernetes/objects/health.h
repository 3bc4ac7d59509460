/*
 * The health of live objects, by the rules of kstatus (sigs.k8s.io/cli-utils). Where a rule
 * differs, it says why (health.c); test/health compares them with kstatus' own cases.
 *
 * Rules for all kinds come first: an object with a deletionTimestamp is TERMINATING; one whose
 * observedGeneration is not its generation is PROGRESSING; so is one that is Reconciling, and one
 * that is Stalled has FAILED. Then the rule of the kind applies. A kind without a rule goes by its
 * condition Ready. An object without any of these is CURRENT as soon as it exists.
 */
#pragma once

#include "engine/health.h"
#include "engine/value/value.h"

void kube_health(const struct value *object, struct health *ret);
