/* Declarations that the files of this folder share. */
#pragma once

#include "controller/state/side.h"
#include "engine/store/names.h"

/* ---- revisions.c ---- */

/* Those that a side has of a Spec, newest first; damaged ones, too, where it has documents. */
struct revisions {
    int64_t *items;
    size_t count, capacity;
};
void revisions_done(struct revisions *revisions);
/* *ret: zeros before; revisions_done() also after an error. */
int revisions_list(const struct state_side *side, const struct spec_key *spec,
                   const struct store_call *call, struct revisions *ret, struct error *error);

/* ---- copy.c ---- */

/* A document is sealed with a key that is gone since, or has never been sealed. */
bool copy_is_locked(int r, const struct error *problem);

/* ---- copy_releases.c: of the two sides, one has Releases as documents, the other at the API
 * server ---- */

/* Removes what the target has as documents and the source does not: the target may have been the
 * store before, and Specs have been deleted, or made anew with the same revisions, since. *count:
 * is added to. */
int copy_remove_stale_releases(const struct state_side *from, const struct state_side *to,
                               const struct store_call *call, size_t *count, struct error *error);
/* Makes those of the Specs that `names` has documents of, and of those that have Releases as
 * documents. What is there already stays. *count: is added to. */
int copy_releases(const struct state_side *from, const struct state_side *to,
                  const struct store_call *call, const struct names *names, size_t *count,
                  struct error *error);
