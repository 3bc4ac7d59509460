/*
 * State that is gone, or older than the Spec: its status tells of objects that State does not have.
 * A volume that was not mounted, objects that were deleted, or a backup that was restored do that.
 *
 * The signs: there is neither State nor a status, but Releases that tell of objects; or
 * status.inventory (or, where it lacks that, status.resources) names objects, and there
 * is no State; or status.lastAppliedRevision or status.unfinishedRevision is higher than what State
 * says; or a revision that failed is, and made what State does not know. State is always saved
 * before the status says so, so State with the lower number is never right.
 */
#pragma once

#include "controller/reconcile/run/run.h"

struct recall {
    bool is_needed;
    bool is_gone; /* there is no State; else it is older */
    struct operation_recall known;
    const struct value *candidates; /* what known.inventory borrows; owned, or NULL */
};
void recall_done(struct recall *recall);

/* Whether State is behind, and what is known besides. is_first: nothing was ever begun for the
 * object. Its Releases, which may be there from an earlier one, are then looked for only if it has
 * resources that State alone knows. Errors: those of reading Releases. recall_done() also then. */
int recall_read(const struct run *run, struct ledger *ledger, bool is_first, struct recall *ret,
                struct error *error);

/* Brings State up to what is known, where that is needed, and says so in an Event. spec: what is to
 * be applied; NULL: nothing. Before operation_plan(). Where it fails, State must not be reported
 * (attempt->knows_state): the status is all that tells of what was lost. */
int recall_state(const struct run *run, struct operation *operation, const struct spec *spec,
                 const struct recall *recall, struct error *error);

/* State is there, and is not behind the last revision that succeeded, or was brought up to it. */
bool recall_is_whole(const struct run *run, struct ledger *ledger);

/* Objects of this type are known to State alone (RUNTIME_IS_RECORDED). */
bool recall_is_recorded(const struct reconcile_context *context, const char *type);

/* Single resources are held because State was lost, by the status; or may be, where it does not
 * name all that failed. */
bool recall_holds_resources(const struct run *run);

/* status.inventory names objects that State alone knows; or may leave some out. */
bool recall_names_recorded(const struct run *run);
