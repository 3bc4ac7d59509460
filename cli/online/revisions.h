/*
 * The revisions of a Spec: records of its operations.
 */
#pragma once

#include "cli/online/objects.h"

/* The last revision of the Spec has no record in `releases`, which were listed after the Spec was
 * read: the operator has them in a store (docs/state.md), and those that are there are of the time
 * before; or somebody deleted the record. spec: NULL: it is not known; then false. */
bool revisions_are_stored(const struct value *spec, const struct objects *releases);
/* Says so: ERR_NOT_FOUND ReleasesStored. */
int revisions_stored_error(const struct target *target, const struct value *spec,
                           struct error *error);

/* The record of a revision, from the API server. ERR_NOT_FOUND. *ret: a reference. */
int revision_get(struct session *session, const struct target *target, int64_t revision,
                 const struct value **ret, struct error *error);

/* Whether there is one, or may be one in a store. ERR_NOT_FOUND. */
int revision_check(struct session *session, const struct target *target, const struct value *spec,
                   int64_t revision, struct error *error);

/* The last revision that succeeded with other resources than those in force: where a rollback goes
 * by default. ERR_NOT_FOUND. */
int revision_before(struct session *session, const struct target *target, const struct value *spec,
                    int64_t *ret, struct error *error);
