/*
 * Reconciles a Release that a person made: a preview is shown, and changes
 * nothing. Those that the controller made are records, and left alone.
 */
#ifndef CONTROLLER_RECONCILE_RELEASE_H
#define CONTROLLER_RECONCILE_RELEASE_H

#include "controller/core/workers.h"
#include "controller/reconcile/context.h"

/* arg: struct reconcile_context. */
struct reconcile_result reconcile_release(void *arg, const char *key, struct cancel *cancel);

#endif
