/*
 * What approval.c, which knows what is approved, has for approval_ask.c, which shows what is to be.
 */
#pragma once

#include "controller/reconcile/approval.h"

/* The approval of the plan that the Release shows; borrowed. NULL: there is none, or it does not
 * cover what the Release does not show, or the plan was rejected in the Release. */
const struct release_approval *approval_find(const struct attempt *attempt,
                                             const struct release *release);

/* Where the approval in the Spec has been used up, by a Release that became stale, or whose plan
 * was rejected since, it is as if there were none. digest: of the plan that the Release shows, or
 * is to show. */
int approval_drop_if_spent(struct attempt *attempt, const struct release *release,
                           const char *digest, struct error *error);

/* Where what is approved is kept (plans.h); it borrows from both. */
struct document_name approval_document(const struct attempt *attempt,
                                       const struct release *release);

/* Changes that cannot be planned yet. */
size_t approval_count_open(const struct plan *plan);
