/*
 * What came of an operation, or how far it is: what its Release, the Spec, and the Release by which
 * a person asked for it say (tell.h). It is made in one place, and borrows all that it names.
 */
#pragma once

#include "controller/reconcile/status/conditions.h"
#include "engine/operation/operation.h"
#include "engine/release/release.h"

struct outcome {
    struct verdict verdict;                  /* ready NULL: a Release's conditions stay */
    const struct plan *plan;                 /* NULL: not known; digest goes with it */
    const char *digest;                      /* tell_outcome() sets it */
    const struct operation_results *results; /* NULL: none. Before its end, the Release's alone */

    /* Of a Release: */
    enum release_phase phase;
    const char *summary; /* in place of the message, in a column; NULL: made of the message */
    bool keeps_plan;     /* it shows the plan already, as it was at first */
    size_t unseen; /* changes of a plan to be approved that the Release does not show in full */
    const char *account; /* whose rights carry out a plan to be approved; NULL: the controller's */
    const struct release_approval *approval; /* of the plan, which is carried out; NULL: none.
                                                tell_outcome() sets it */

    /* Of a Spec: */
    const char *spec_message, *spec_summary; /* in place of the message, and in a column; NULL: the
                                                message */
    bool is_end;         /* the attempt has ended: the request for a reconcile is handled */
    bool is_suspended;   /* Ready's status is kept, as of the generation for which it was set */
    bool is_held;        /* Ready is False, and that is no failure: a person wants it so */
    bool waits;          /* Ready is False, as other Specs come first: that is no failure */
    bool is_quiet;       /* the message is no news: no Event */
    bool is_untold;      /* the message may be there already, without an Event */
    bool counts_failure; /* into status.failures */
    int64_t attempted, applied;        /* revisions; 0: as before */
    int64_t unfinished;                /* one that may have changed something; 0: as before */
    bool is_finished;                  /* State has all that became of it */
    struct operation_progress objects; /* total 0: by `results`, or as before */
    const struct value *shown;         /* a Release's status, with the plan; NULL: `plan` */
    const struct plan *all_ready; /* without results: its resources are as they should be; NULL: as
                                     before */
    struct ledger *ledger;        /* of which it has an inventory; NULL: as before */
    const struct value *corrections; /* corrections.h; NULL: as before */
    bool drops_corrections;          /* they were of another generation */
};
