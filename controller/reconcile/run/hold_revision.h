/*
 * The revision to which a hold (hold.h) rolls back, and the Spec as it was then.
 */
#pragma once

#include "controller/reconcile/run/run.h"

/* Sets to_revision and spec_digest of *hold to those of the Release, and keeps its recorded Spec as
 * a document as long as the hold is in force. 1: it cannot be rolled back to; also if release is
 * NULL. *refusal (or NULL): why, if it is there. */
int hold_take_revision(const struct run *run, const struct release *release, struct hold *hold,
                       struct error *refusal, struct error *error);

/* The same for the revision that a person asked for; 0: the newest that succeeded with another Spec
 * than the one in force. now: the hold that is in force, or an empty one. 1: there is none, and
 * *refusal says so. */
int hold_choose_revision(const struct run *run, int64_t asked, const struct hold *now,
                         const struct release_revisions *revisions, struct hold *next,
                         struct error *refusal, struct error *error);

/* For a Preview of a Rollback: sets run->source to the Spec of the revision, and keeps nothing.
 * ERR_NOT_FOUND RevisionNotFound, or why it cannot be applied any more. */
int hold_preview_revision(struct run *run, int64_t revision, struct error *error);

/* Under a hold that rolls back: sets run->source, which is applied in place of the Spec. */
int hold_take_source(struct run *run, struct error *error);
