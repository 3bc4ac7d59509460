/*
 * A Preview that cannot begin yet: as many Previews run as may, or there is no memory for it.
 *
 * It keeps nothing meanwhile but its place in the line: a tenant may create any number of them,
 * with resources of up to 1 MiB each. Its status says once that it waits, when it has waited for
 * PROGRESS_QUIET. The Release is read again for that, and when the Preview begins.
 */
#ifndef CONTROLLER_RECONCILE_PREVIEW_WAIT_H
#define CONTROLLER_RECONCILE_PREVIEW_WAIT_H

#include "controller/reconcile/attempt.h"

/* True: it asked for a place before, there still is none, and its status needs no write. *result:
 * when it looks again. False: its Release is to be read. */
bool preview_waits_for_place(struct attempt *attempt, struct reconcile_result *result);

/* The attempt has its Release, and may not begin: empties the attempt, after it has said that it
 * waits, where that is due. */
int preview_wait_for_place(struct attempt *attempt, struct reconcile_result *result,
                           struct error *error);
int preview_wait_for_memory(struct attempt *attempt, struct reconcile_result *result,
                            struct error *error);

#endif
