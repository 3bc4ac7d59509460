/*
 * Applies a Spec: plan, Release, changes, health, status.
 *
 * The plan is made in the background. Meanwhile the reconcile adds the finalizer and creates the
 * Release. A new generation gets a Release, and so does the regular check of a Ready Spec if there
 * is something to change. The retry of a failure gets a Release only if it succeeds. Otherwise a
 * Spec that waits for a person would fill its namespace with records of the same failure. If a
 * Release has succeeded and only the Spec's status was not written, only that is written.
 *
 * A function that returns a negative code could not write the error to a status: the caller logs it
 * and tries again. 0: *result says when to reconcile again, unless the attempt still has an
 * operation.
 */
#pragma once

#include "controller/core/workers.h"
#include "controller/reconcile/attempt.h"

/* Begins an operation for the Spec as it was read. */
int apply_begin(struct attempt *attempt, struct reconcile_result *result, struct error *error);
/* The operation is PLANNED: carries the plan out, or ends if there is nothing to do. */
int apply_planned(struct attempt *attempt, struct reconcile_result *result, struct error *error);
