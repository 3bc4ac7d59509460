/*
 * Reconciles a Spec: key "namespace/name", level-triggered and idempotent.
 */
#pragma once

#include "controller/core/workers.h"
#include "controller/reconcile/records/context.h"

/* arg: struct reconcile_context. */
struct reconcile_result reconcile_spec(void *arg, const char *key, struct cancel *cancel);
