/*
 * Moves State from one store to another, with all that is kept beside it.
 *
 * The order of writes makes it safe to kill at any point, and to begin again:
 *
 *   1. the target gets the mark "copied from", so that no operator uses half a copy
 *   2. each document is written, if it differs, and what the source does not have is removed
 *   3. all documents are read back and compared
 *   4. the target gets the source's identity: from then on it is the operator's store
 *   5. the source gets the mark "moved to", so that no operator uses it any more
 *
 * Nobody else may write to either store meanwhile: the caller holds the Lease.
 *
 * Where one of the two stores has Releases, and the other leaves them to the API server, they are
 * made there as they are here. What the API server has already of them stays; what a store has of
 * another time is removed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "controller/state/side.h"

struct state_copied {
    size_t documents; /* there now */
    size_t written, removed;
    size_t releases; /* made on the other side */
    bool was_done;   /* an earlier copy had come to its end */
};

/* ERR_INVALID InvalidCopy: the target is not empty, or the source is no store of State. */
int copy_state(const struct state_side *from, const struct state_side *to,
               const struct store_call *call, struct state_copied *ret, struct error *error);
