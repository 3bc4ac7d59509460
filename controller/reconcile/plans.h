/*
 * Plans and results that are too long for a Release's status, as documents of the store: the list
 * as gzipped JSON, redacted, as in a status. A document's item is the Release's name.
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
int plans_keep(struct plans *plans, const struct spec_key *spec, const char *release,
               const struct value *list, const struct store_call *call, char **ret_place,
               struct error *error);

/* Of a Release that is gone, whichever Spec it was of. 0 also where there is none. */
int plans_drop(struct plans *plans, const char *namespace_name, const char *release,
               const struct store_call *call, struct error *error);

#endif
