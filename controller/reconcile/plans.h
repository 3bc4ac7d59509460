/*
 * The plans of Releases as documents of the store: gzipped JSON, whose item is the Release's name.
 *
 *   DOCUMENT_PLAN      the results that are too long for the Release's status, redacted as there
 *   DOCUMENT_APPROVAL  the plan that waits for approval, or is approved (approved_value.h)
 *
 * Which Releases have one is listed once, and known from then on: so that a Release that goes
 * without one costs no request. Thread-safe.
 */
#ifndef CONTROLLER_RECONCILE_PLANS_H
#define CONTROLLER_RECONCILE_PLANS_H

#include "engine/base/value.h"
#include "engine/store.h"

struct plans;

struct plans *plans_new(struct store *store); /* borrowed */
void plans_free(struct plans *plans);
DEFINE_CLEANUP(struct plans *, plans_free)

/* Makes it, or replaces it. *ret_place: where people find it; free(). */
int plans_keep(struct plans *plans, const struct document_name *name, const struct value *plan,
               const struct store_call *call, char **ret_place, struct error *error);
/* ERR_NOT_FOUND, ERR_CORRUPT. */
int plans_load(struct plans *plans, const struct document_name *name, const struct store_call *call,
               const struct value **ret, struct error *error);

/* All of a Release that is gone, whichever Spec it was of. 0 also where there is none. */
int plans_drop(struct plans *plans, const char *namespace_name, const char *release,
               const struct store_call *call, struct error *error);

#endif
