/*
 * The revisions of a Spec: records of its operations.
 */
#pragma once

#include "cli/online/objects.h"

/* The record of a revision, from the API server. ERR_NOT_FOUND, with those that there are. *ret: a
 * reference. */
int revision_get(struct session *session, const struct target *target, int64_t revision,
                 const struct value **ret, struct error *error);

/* Whether there is one. ERR_NOT_FOUND, as above. */
int revision_check(struct session *session, const struct target *target, int64_t revision,
                   struct error *error);

/* The last revision that succeeded with other resources than those in force: where a rollback goes
 * by default. ERR_NOT_FOUND. */
int revision_before(struct session *session, const struct target *target, const struct value *spec,
                    int64_t *ret, struct error *error);
