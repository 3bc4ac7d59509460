/*
 * Plans that are not to be carried out: a person rejected one in its Release (`rejected`), or took
 * back the request for a Rollback or a Destroy, by deleting it or the Release that waits for its
 * approval. A request whose operation has begun, or that has ended, is not taken back by that: its
 * TTL deletes it, too.
 *
 *   - A rejected plan is not shown again, as long as it is the same: the newest Release has it.
 *     If that is deleted, or the Spec changes, or something else would be done, there is a new
 *     Release.
 *   - With a request that is rejected or withdrawn before it was carried out, its hold goes
 *     (hold.h). What was in force before it is in force again.
 *
 * All of it is read anew each time from State and from the Releases, so nothing is lost with the
 * process.
 */
#pragma once

#include "controller/reconcile/attempt.h"

/* Before a plan is made that is to be approved: ends the Release whose plan was rejected, which is
 * attempt->rejected then; and a hold that was rejected or withdrawn. 1: that was so, and something
 * else is in force. */
int rejection_look(struct attempt *attempt, struct error *error);

/* The attempt's plan is the rejected one. */
bool rejection_is_of_plan(const struct attempt *attempt);
/* Then the Spec says so, and the attempt ends. */
int rejection_say(struct attempt *attempt, struct reconcile_result *result, struct error *error);
