/*
 * Writes an outcome (outcome.h) to all that say it.
 */
#pragma once

#include "controller/reconcile/attempt.h"

enum tell_to {
    TELL_RELEASE = 1 << 0, /* of the operation; nothing where the attempt has none */
    TELL_SPEC = 1 << 1,
    TELL_REQUEST = 1 << 2, /* the Release by which a person asked for the hold in force */
};

/* Sets outcome->digest and ->approval. If the Release cannot be written, the Spec says it all the
 * same; the first error is returned. A request is told only after that; where it cannot be written
 * now, the next reconcile does it. to: some of tell_to. */
int tell_outcome(struct attempt *attempt, struct outcome *outcome, unsigned to,
                 struct error *error);
