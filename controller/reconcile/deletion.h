/*
 * A Spec that is being deleted: a Destroy Release, dependents first, from State
 * alone; then the finalizer goes. Where destroying failed it stays, and the
 * status says why.
 *
 * Results and codes as in apply.h.
 */
#ifndef CONTROLLER_RECONCILE_DELETION_H
#define CONTROLLER_RECONCILE_DELETION_H

#include "controller/core/workers.h"
#include "controller/reconcile/operations.h"

int deletion_begin(struct attempt *attempt, struct reconcile_result *result, struct error *error);
int deletion_planned(struct attempt *attempt, struct reconcile_result *result, struct error *error);
int deletion_ended(struct attempt *attempt, struct reconcile_result *result, struct error *error);

#endif
