/*
 * What Releases tell of a Spec's objects. Where State is gone, and the status does not name all,
 * or was not restored with the Spec, the results of the newest Releases are what is left that says
 * what was made. They count also where an earlier Spec of the name had them.
 */
#pragma once

#include "controller/reconcile/run/run.h"

struct witness {
    const struct value *entries; /* array of {id, type}: what was there, or may have been; owned */
    int64_t revision; /* of the newest that tells of one, or may have made one; 0: none */
    bool is_whole;    /* they name all that was there */
};
void witness_done(struct witness *witness);

/* Lists Releases, and loads the newest up to one that has all results; eight at most. */
int witness_read(const struct run *run, struct witness *ret, struct error *error);
