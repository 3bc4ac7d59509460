/*
 * The Release that an apply works under: one that was left unfinished, or a new one.
 */
#pragma once

#include "controller/reconcile/attempt.h"

/* Sets the attempt's release, if one of this generation was left unfinished or has not been
 * reported, its revision, and its kind, which may change: a failed Release of this generation makes
 * a retry of it. An unfinished Release of another generation is cancelled. If the plan that the
 * Release shows is approved, loads it (approval.h). */
int apply_find_release(struct attempt *attempt, struct error *error);
/* Keeps what is applied, for rollbacks: before there is a Release that names it. */
int apply_record_spec(struct attempt *attempt, struct error *error);
/* Makes the Release of the attempt's revision, unless it has one. */
int apply_begin_release(struct attempt *attempt, struct error *error);
