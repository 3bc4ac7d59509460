/*
 * Corrections of drift that repeat: status.driftCorrections of a Spec.
 *
 * A check of a Ready Spec that finds changed objects changes them back. What is always the same (an
 * autoscaler sets the replicas that the Spec sets, too) needs no Release each time: it is counted.
 * A correction repeats if each of its changes was made by a correction of this generation before:
 * the same action on the same resource, and of an update no other fields. The values may differ.
 *
 * The list is bounded. A correction with a change that does not fit gets a Release each time.
 *
 * Fields that were corrected three times within five intervals are fought for: somebody else writes
 * them again and again. That is over when two intervals have passed without a correction. Drift is
 * corrected at once, but the same fields at most once a minute after the first three times; so an
 * interval counts as a minute at least.
 */
#pragma once

#include "engine/plan/plan.h"

#define CORRECTIONS_CHANGES 50  /* that are listed */
#define CORRECTIONS_FIELDS  20  /* of one change */
#define CORRECTIONS_PATH    512 /* bytes of a field's path */
#define CORRECTIONS_NAME    256 /* bytes of who changed it */
#define CORRECTIONS_TIMES   3   /* the last ones, of each update */

/* recorded: status.driftCorrections, or NULL. Only creates and updates repeat. */
bool corrections_repeat(const struct value *recorded, const struct plan *plan);

/* The same with this correction counted; NULL: the plan corrects nothing. summary: what was done.
 * now: ms since 1970. */
const struct value *corrections_add(const struct value *recorded, const struct plan *plan,
                                    const char *summary, int64_t now);

/* ms until all that this plan corrects may be corrected again: of each update the same fields were
 * corrected CORRECTIONS_TIMES times within as many minutes, and the last time less than a minute
 * ago. 0: it is corrected now. now: ms since 1970. */
int64_t corrections_rest(const struct value *recorded, const struct plan *plan, int64_t now);

/* Who fights for which fields, for people; free() it. NULL: nobody. interval: ms between two checks
 * of the Spec. now: ms since 1970. */
char *corrections_fight(const struct value *recorded, int64_t interval, int64_t now);
