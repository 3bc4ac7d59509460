/*
 * Reconciles a Spec: key "namespace/name", level-triggered and idempotent.
 */
#ifndef CONTROLLER_RECONCILE_SPEC_H
#define CONTROLLER_RECONCILE_SPEC_H

#include "controller/core/workers.h"
#include "controller/reconcile/context.h"

/* arg: struct reconcile_context. */
struct reconcile_result reconcile_spec(void *arg, const char *key, struct cancel *cancel);

#endif
