/*
 * What the status says while an operation runs, and when.
 *
 * Nothing in the first second. Then the phase, and again when it changes, at most once a second. An
 * apply or a destroy also says how much is done, every five seconds if that has changed, and what
 * it waits for, first after five seconds and then every thirty. An API server that waits for a
 * webhook that hangs does not answer: the resource is named after a second or two, by the reconcile
 * that looks each second while calls are under way. The same is said of State that cannot be saved:
 * nothing goes on without it. The Spec and the Release say the same. (apply.c and deletion.c write
 * the end.)
 *
 * A Preview that waits for its turn, or for memory, says so once (release.c).
 *
 * During a retry the status stays as the try before left it, until the retry has ended. During a
 * correction that repeats (corrections.h) the Spec stays Ready.
 */
#pragma once

#include "controller/reconcile/attempt.h"

#define PROGRESS_QUIET 1000 /* ms before the first write; an operation may end before that */
#define PROGRESS_AGAIN 1000 /* ms between the writes of two phases */
#define PROGRESS_FIRST                                                        \
    5000 /* ms of carrying out before the status says what it waits for; also \
            between two writes of how much is done */
#define PROGRESS_FAILING                                                     \
    1000 /* ms before it says what fails and is tried again, or what has had \
            no answer for so long; also while planning */
#define PROGRESS_INTERVAL 30000 /* ms between two writes of what it waits for */
#define PROGRESS_RESULTS  500   /* resources of which the Release tells each, while it goes on */

/* A message. */
#define PROGRESS_NO_MEMORY                                                                     \
    "waiting for memory: operations have reserved the budget, or this namespace's quarter of " \
    "it (--operation-memory)"

/* An operation begins: time counts from here. */
void progress_begin(struct attempt *attempt);
/* Writes what is due of an operation that has not ended. *ret_after: ms until more may be due; 0:
 * nothing is before the operation changes. */
int progress_report(struct attempt *attempt, int64_t *ret_after, struct error *error);
/* There is no memory for the operation: frees all that the attempt has. After PROGRESS_FIRST the
 * status says that it waits. It does not during the check of a Ready Spec, or during a retry: the
 * status says how this generation ended. The object is read again for that write, and after the
 * grant. */
int progress_put_off(struct attempt *attempt, struct reconcile_result *result, struct error *error);
/* Before an eviction: writes what the parked operation waits for, due or not, and how long it will
 * be set aside (rest: ms). */
int progress_report_rest(struct attempt *attempt, int64_t rest, struct error *error);
