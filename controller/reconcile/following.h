/*
 * Drift at once: what an operation's Spec has is followed between its operations
 * (desk/following.h), and how closely the next check looks.
 *
 *   all is followed, and whole     the regular check does nothing. When drift is told, only what
 *                                  was touched is read. The values of all are verified each
 *                                  `--verify-interval`, a quarter more or less, and when somebody
 *                                  requests a reconcile
 *   something is not               each regular check verifies the values of all, and the status
 *                                  says why (status.driftDetection)
 *   driftDetection.mode: disabled  nothing is followed, and the regular check does nothing
 *
 * Where the Spec is read from something that nobody watches (a source, or the Secret of its
 * `kubeConfig`, that its account may not list; `contextFrom`; a secret store), the regular check
 * reads that in any case.
 */
#pragma once

#include "controller/core/workers.h"
#include "controller/reconcile/attempt.h"

/* Sets what the operation follows, and how closely it looks. */
void following_begin(struct attempt *attempt, struct operation_config *config);
/* Before its status is written: whether what it has can be followed. */
void following_note(struct attempt *attempt);
/* It ends well, and the Spec is Ready. drift_wait: ms for which drift is left as it is. */
void following_settle(struct attempt *attempt, int64_t drift_wait);

/* It failed: what people say on its objects has the next try at once. */
void following_listen(struct attempt *attempt);

/* For a key: there is nothing to do, and *ret says when to look again. */
bool following_rests(const struct reconcile_context *context, const char *key,
                     struct reconcile_result *ret);
