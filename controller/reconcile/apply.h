/*
 * A Spec that is wanted: plan, a Release, apply, health, status.
 *
 * A new generation, and a plan that is not empty at a resync, make a Release. A retry of
 * what failed makes one only when it succeeds: a Spec that waits for a person would
 * otherwise fill its namespace with records of the same failure.
 */
#ifndef CONTROLLER_RECONCILE_APPLY_H
#define CONTROLLER_RECONCILE_APPLY_H

#include "controller/reconcile/run.h"

/* *after: ms until the next look. */
int reconcile_apply(struct run *run, int64_t *after, struct error *error);

#endif
