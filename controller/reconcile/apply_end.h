/*
 * How an apply ends: what its Release and the Spec's status say, and when the Spec is reconciled
 * again. Every function ends the attempt, unless its outcome could not be written and may be
 * written later. The results are those of apply.h.
 */
#pragma once

#include "controller/core/workers.h"
#include "controller/reconcile/attempt.h"

/* The operation has ENDED: writes the results. */
int apply_ended(struct attempt *attempt, struct reconcile_result *result, struct error *error);
/* It came to nothing before anything was carried out. */
int apply_failed(struct attempt *attempt, const struct error *failure,
                 struct reconcile_result *result, struct error *error);
/* The Spec is refused for this error: writes that to its status, and cancels the unfinished Release
 * of an older generation. */
int apply_refused(struct attempt *attempt, const struct error *refusal,
                  struct reconcile_result *result, struct error *error);
/* The attempt's Release succeeded, but the Spec's status does not say so: the process was killed
 * between the two writes, or the second was refused. The status is written from the Release. */
int apply_write_missing_status(struct attempt *attempt, struct reconcile_result *result,
                               struct error *error);
/* All is as it should be, and r is the result of the last write: checks it later. */
int apply_settle(struct attempt *attempt, int r, struct reconcile_result *result);

/* True if the status is to say this error. Otherwise the status is not this process's to write: the
 * operation was cancelled, or another process leads. */
bool apply_is_reportable(int code);
