/*
 * The deletion of a Spec: deletes all objects in State, dependents first, under a Release of the
 * operation Destroy; then removes State and the finalizer. If that fails, the finalizer stays, and
 * the status says why.
 *
 * Results as in apply.h.
 */
#ifndef CONTROLLER_RECONCILE_DELETION_H
#define CONTROLLER_RECONCILE_DELETION_H

#include "controller/core/workers.h"
#include "controller/reconcile/operations.h"

int deletion_begin(struct attempt *attempt, struct reconcile_result *result, struct error *error);
int deletion_planned(struct attempt *attempt, struct reconcile_result *result, struct error *error);
int deletion_ended(struct attempt *attempt, struct reconcile_result *result, struct error *error);

#endif
