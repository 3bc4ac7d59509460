/*
 * The plans of Releases as documents of the store: gzipped JSON, whose item is the Release's name.
 *
 *   DOCUMENT_PLAN      the results that are too long for the Release's status, redacted as there
 *   DOCUMENT_APPROVAL  the plan that waits for approval, or is approved (approved_value.h)
 *
 * Which Releases have one is listed once, and is on the desk from then on: so a Release that goes
 * without one costs no request. Thread-safe.
 *
 * A DOCUMENT_APPROVAL is needed while its Release waits, is carried out, or is retried: that is
 * never more than one of a Spec. A DOCUMENT_PLAN is needed as long as its Release is there.
 */
#pragma once

#include "engine/store.h"
#include "engine/value/value.h"

struct reconcile_context;

/* Makes it, or replaces it. *ret_place: where people find it; free(). */
int plans_keep(const struct reconcile_context *context, const struct document_name *name,
               const struct value *plan, const struct store_call *call, char **ret_place,
               struct error *error);
/* ERR_NOT_FOUND, ERR_CORRUPT. */
int plans_load(const struct reconcile_context *context, const struct document_name *name,
               const struct store_call *call, const struct value **ret, struct error *error);

/* Tells of all that there are (fn: NULL: nobody), and notes them. */
int plans_list(const struct reconcile_context *context, const struct store_call *call,
               store_on_name *fn, void *arg, struct error *error);
/* *ret: something is kept of the Release. */
int plans_has(const struct reconcile_context *context, const struct spec_key *release,
              const struct store_call *call, bool *ret, struct error *error);

/* *ret_spec: the Spec of the Release that waits for approval, is carried out, or is retried;
 * free(). NULL: it is none of these. */
int plans_find_approval(const struct reconcile_context *context, const struct spec_key *release,
                        const struct store_call *call, char **ret_spec, struct error *error);

enum approvals_of {
    APPROVALS_OF,     /* that Release */
    APPROVALS_BUT_OF, /* all others of the Spec; NULL: all */
};
/* Removes the approvals that are known; one that is not costs no request. */
int plans_drop_approvals(const struct reconcile_context *context, const struct spec_key *spec,
                         enum approvals_of of, const char *release, const struct store_call *call,
                         struct error *error);

/* All of a Release that is gone, whichever Spec it was of. 0 also where there is none. */
int plans_drop(const struct reconcile_context *context, const struct spec_key *release,
               const struct store_call *call, struct error *error);
