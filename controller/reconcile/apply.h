/*
 * A Spec that is wanted: plan, a Release, apply, health, status.
 *
 * The plan is made in the background; the finalizer and the Release meanwhile.
 * A new generation, and a plan that is not empty at a resync, make a Release.
 * A retry of what failed makes one only when it succeeds: a Spec that waits
 * for a person would otherwise fill its namespace with records of the same
 * failure. Where a Release succeeded and only the Spec's status is missing,
 * that is all that is written.
 *
 * A function that returns a negative code has told nobody; 0: *result says
 * when to look again, if the attempt has no operation any more.
 */
#ifndef CONTROLLER_RECONCILE_APPLY_H
#define CONTROLLER_RECONCILE_APPLY_H

#include "controller/core/workers.h"
#include "controller/reconcile/operations.h"

/* Begins an attempt on the Spec as it was read. */
int apply_begin(struct attempt *attempt, struct reconcile_result *result, struct error *error);
/* Its operation is PLANNED: goes on, or not. */
int apply_planned(struct attempt *attempt, struct reconcile_result *result, struct error *error);
/* Its operation has ENDED. */
int apply_ended(struct attempt *attempt, struct reconcile_result *result, struct error *error);

/* The Spec is refused, as the error says: so says its status, and what was under way of an older
 * generation has ended. */
int apply_refused(struct attempt *attempt, const struct error *refusal,
                  struct reconcile_result *result, struct error *error);

#endif
