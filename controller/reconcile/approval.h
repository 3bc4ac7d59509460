/*
 * Plans that a person has to approve: `approval.mode: Manual`.
 *
 *   1. A plan that changes something is shown in its Release, which waits (awaitingApproval). What
 *      its steps are compared with later is kept beside the Release (engine/plan/approved.h).
 *   2. A person names the plan's digest, in the Release's `approvedPlan` or in the Spec's.
 *   3. The operation is planned again, with the approved plan, and does nothing else. A retry of a
 *      Release that failed is held to the same plan.
 *
 * If something else would be done now, the Release is cancelled (PlanStale), and the next one shows
 * the new plan. What could not be planned is in no approved plan: when the rest is done, the next
 * Release shows it.
 *
 * What creations show may change while the plan's digest stays the same (a webhook was installed,
 * say). So an approval in the Spec, which names no Release, holds no more once a Release that it
 * approved was cancelled as stale, until it is written anew. Nor does it after its plan was
 * rejected, though the Spec may change, and change back.
 *
 * While a Release waits, its plan is made again at each look. A part that cannot be planned this
 * time voids nothing: the Release waits on, and shows the plan as it was. So a webhook that is down
 * now and then makes no Releases. A part that can be planned now, and could not be, makes a new
 * one.
 *
 * An approval is read each time: one that is taken back before the operation began, or before it is
 * taken up after a restart, does not hold any more.
 */
#pragma once

#include "controller/reconcile/attempt.h"

/* Sets attempt->approved, if the plan that the Release shows is approved. A plan that is gone or
 * damaged counts as not approved. */
int approval_load(struct attempt *attempt, const struct release *release, struct error *error);

/* The attempt's plan may not be carried out as it is: it changes something, and is not approved. */
bool approval_is_missing(const struct attempt *attempt);

/* Where the approval is missing: there is something that a person could agree to. Else an error:
 * every change failed, or cannot be planned yet. */
int approval_check(const struct attempt *attempt, struct error *error);

/* *ret: attempt->release shows another plan, or has begun. Then the plan needs another Release. */
int approval_needs_release(const struct attempt *attempt, bool *ret, struct error *error);

/* Cancels that Release. */
int approval_cancel(const struct attempt *attempt, struct error *error);

/* ERR_CONFLICT PlanStale: the attempt's plan is approved in the Spec, by somebody who saw it in the
 * Release before, and a creation would make another object now. attempt->approved is that plan. */
int approval_check_shown(struct attempt *attempt, struct error *error);

/* *ret: a part of the plan cannot be planned now, and the rest is what attempt->release shows. Then
 * that waits on. */
int approval_outlasts(const struct attempt *attempt, bool *ret, struct error *error);
/* It waits on: ends the attempt. *result: as that of approval_ask(). */
int approval_wait_on(struct attempt *attempt, struct reconcile_result *result, struct error *error);

/* Shows the attempt's plan in its Release, and in the Spec's status, and ends the attempt. *result:
 * when it is planned again. If the Spec's status could not be written, the attempt is ended all the
 * same; with other errors it is not. */
int approval_ask(struct attempt *attempt, struct reconcile_result *result, struct error *error);

/* ---- Who is told ---- */

/* An event about the Spec, and about the Release. */
void approval_tell(const struct attempt *attempt, const struct release *release, const char *type,
                   const char *reason, const char *message);
/* attempt->approved is going to be carried out: events, and a line in the log with who approved. */
void approval_tell_approved(const struct attempt *attempt);
