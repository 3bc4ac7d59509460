/*
 * A Spec of which nothing is done, because the store may not be used (engine/store/gate.h).
 */
#ifndef CONTROLLER_RECONCILE_STORE_WAIT_H
#define CONTROLLER_RECONCILE_STORE_WAIT_H

#include "controller/reconcile/attempt.h"

/* False: it waits for the store, and *result says when it is looked at again. */
bool store_wait_is_over(const struct attempt *attempt, struct reconcile_result *result);
/* Has the status say so, and what Ready said before. */
int store_wait_tell(struct attempt *attempt, struct error *error);

#endif
