/*
 * What is said of an operation while it goes on, and when.
 *
 * Statuses say what stays true for a while: nothing in the first second; then
 * what phase it is in, again at a change, once a second at most; and what an
 * apply or a destroy waits for, after five seconds and then every thirty. (Its
 * end is told by those who end it.)
 *
 * Of a retry nothing is said before its end: until then stands what the try
 * before it said.
 */
#ifndef CONTROLLER_RECONCILE_PROGRESS_H
#define CONTROLLER_RECONCILE_PROGRESS_H

#include <stdint.h>

#include "controller/core/workers.h"
#include "engine/base/error.h"

#define PROGRESS_QUIET    1000  /* ms: of an operation that is over by then nothing is said */
#define PROGRESS_AGAIN    1000  /* ms between two phases */
#define PROGRESS_FIRST    5000  /* ms of carrying out, after which it is said what is waited for */
#define PROGRESS_INTERVAL 30000 /* ms between two that say something else */

struct attempt;

struct attempt_progress {
    int64_t begun; /* ms, monotonic */
    int64_t said;  /* when, last; 0: nothing was */
    int64_t waits_due;
    enum { SAID_NOTHING, SAID_PLANNING, SAID_WORKING } what;
};

/* Time counts from here. */
void progress_begin(struct attempt *attempt);
/* Says what is due of an operation that has not ended. *ret_after: ms until there may be more; 0:
 * not before it changes. */
int progress_tell(struct attempt *attempt, int64_t *ret_after, struct error *error);
/* There is no memory for its operation: lets go of all that it has. That it waits is said after
 * PROGRESS_FIRST, unless the status says how this generation ended: nothing is said of a look at a
 * Spec that is Ready, nor of a retry. The object is read again to say so, and when memory is
 * granted. */
int progress_put_off(struct attempt *attempt, struct reconcile_result *result, struct error *error);
/* It is parked, and nobody will look at it for a while: says what it waits for, due or not. */
int progress_tell_rest(struct attempt *attempt, struct error *error);

#endif
