/*
 * Reconciles a Release that a person made: a preview is shown, and changes
 * nothing. Those that the controller made are records, and left alone.
 */
#pragma once

#include "controller/core/workers.h"
#include "controller/reconcile/records/context.h"

/* arg: struct reconcile_context. */
struct reconcile_result reconcile_release(void *arg, const char *key, struct cancel *cancel);
