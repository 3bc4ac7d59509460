/*
 * How many Releases of a Spec are kept: spec.revisionHistoryLimit of those that have ended. The
 * newest one and the last one that succeeded always stay, and count. One that has not ended stays,
 * too.
 *
 * Releases are collected when an operation with a Release has ended, from the list with which the
 * operation began, so that costs no request but the removals. A process that was killed may have
 * left some: the first check of each Spec that has had more revisions than it keeps looks for them
 * with one list. The plan of a Release that has ended is removed before the Release. So nothing
 * that is left names something that is gone, and everything that is left is found again. What was
 * to be approved goes as soon as nobody can approve or retry it (plans.h).
 *
 * What cannot be removed is no failure of the operation: it is logged, and tried again at the next
 * check. So is what is left of very many.
 *
 * Thread-safe for different Specs.
 */
#pragma once

#include "controller/reconcile/run/run.h"

/* The Release of run's operation, which has this revision, is in this phase: it has ended, or waits
 * for approval. found: the revisions when the operation began; NULL: they are not known. */
void retention_collect(const struct run *run, const struct release_revisions *found,
                       int64_t revision, enum release_phase phase);
/* The Spec was checked, and there was nothing to do. */
void retention_check(const struct run *run);

/* The Spec is gone: removes what is kept of it, and its records where the history does not do so by
 * itself. */
int retention_forget(const struct run *run, struct error *error);

/* Reconciles what a killed process, or a deletion while no process ran, may have left: Releases
 * that are gone and have a plan, and, where the history does not remove them by itself, Specs that
 * have records. watch_namespace: NULL: all. Once, after the start. */
int retention_sweep(const struct reconcile_context *context, const char *watch_namespace);

/* Which of these revisions, newest first, go. *ret: an array of as many, of which the first are
 * set, oldest first. Gives their number. */
size_t retention_choose(const struct release_revisions *revisions, int64_t limit,
                        int64_t last_applied, int64_t *ret);
