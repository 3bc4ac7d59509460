/*
 * The deletion of a Spec: deletes all objects in State, dependents first, under a Release of the
 * operation Destroy; then removes State and the finalizer. If that fails, the finalizer stays, and
 * the status says why.
 *
 * Results as in apply.h.
 */
#pragma once

#include "controller/core/workers.h"
#include "controller/reconcile/attempt.h"

int deletion_begin(struct attempt *attempt, struct reconcile_result *result, struct error *error);
/* Something is in the way: the finalizer stays. results: NULL: nothing was begun. */
int deletion_hold(struct attempt *attempt, struct error *failure,
                  const struct operation_results *results, struct reconcile_result *result,
                  struct error *error);
/* There is nothing to delete, and the operation is NEW for the state file of Terraform alone: ends
 * when that is written (errand.h). */
int deletion_exported(struct attempt *attempt, struct reconcile_result *result,
                      struct error *error);
int deletion_planned(struct attempt *attempt, struct reconcile_result *result, struct error *error);
int deletion_ended(struct attempt *attempt, struct reconcile_result *result, struct error *error);
