/*
 * One reconcile of one Spec: what its steps share, and how its status is said.
 *
 * The status is written only when it changes. run->object follows what was
 * written, so that later steps compare with it; a write that was begun is
 * counted in when it is settled.
 */
#ifndef CONTROLLER_RECONCILE_RUN_H
#define CONTROLLER_RECONCILE_RUN_H

#include "controller/reconcile/conditions.h"
#include "controller/reconcile/progress.h"
#include "controller/reconcile/releases.h"
#include "controller/reconcile/write.h"
#include "engine/operation/operation.h"
#include "engine/spec/spec.h"

struct run {
    const struct reconcile_context *context;
    struct cancel *cancel;
    const char *namespace_name, *name; /* borrowed: of the key */
    const struct value *object;        /* the custom resource; a reference */
    struct spec_write *write;          /* under way; NULL: none */
    const struct value *next_status;   /* what it writes; NULL: the finalizer */
    bool unreadable;                   /* object is its metadata alone */
    bool is_too_large, is_small;       /* its fields, as JSON */
    bool namespace_terminating;
    int64_t generation;
    struct spec_policy policy;
    struct release_subject subject;
    struct operation_log log;
    struct run_progress progress;
};

struct run_status {
    struct verdict verdict;
    int64_t attempted, applied; /* revisions; 0: as before */
    const struct plan *plan;    /* with its digest; NULL: as before */
    const char *digest;
    size_t deletions; /* where there is no plan, of a destroy; 0: as before */
    const struct operation_results *results; /* NULL: as before */
    size_t n_resources;
};

/* Begins to add the finalizer, where it is not there. */
void run_begin_finalizer(struct run *run);

/* Begins to write the status where it differs, with an event where Ready's reason or message do. */
void run_begin_status(struct run *run, const struct run_status *status);

/* Waits for the write that is under way, if any. For a status it is no error if the Spec is gone,
 * or so large that there is no room beside it: then the event tells alone. For the finalizer it is
 * ERR_NOT_FOUND if the Spec is gone: nothing is to be made for it any more. */
int run_settle(struct run *run, struct error *error);

/* Writes the status, and waits for it. An earlier one that failed is made up for by it. */
int run_write_status(struct run *run, const struct run_status *status, struct error *error);

/* The same for an error that ends the run. */
int run_fail(struct run *run, const struct error *failure, struct error *error);

/* Ready says already that this generation fails, and in these words. */
bool run_says_already(const struct run *run, const struct error *failure);

/* The Spec as run->object has it, for the runtimes that there are. */
int run_parse(struct run *run, struct spec **ret, struct error *error);

/* An operation on the Spec's behalf. */
int run_operation(struct run *run, struct operation **ret, struct error *error);

/* Resources of the Spec were applied, by its status, and there is no State that records them. */
bool run_lacks_state(const struct run *run, const struct operation *operation);

/* Nothing comes of a Release any more. NULL, or one that ended: nothing is done. */
int run_cancel_release(struct run *run, struct release *release, const char *why,
                       struct error *error);
/* The same for the newest, whichever it is. */
int run_cancel_latest(struct run *run, const char *why, struct error *error);
/* The Spec is refused, as the error says: what was under way of an older generation has ended. The
 * error's code; or why that could not be written, in place of it. */
int run_supersede(struct run *run, struct error *refusal);

/* An event about the Spec; none in a namespace that is being deleted. */
void run_event(const struct run *run, const char *type, const char *reason, const char *message);

/* What Ready says of this generation. reason: NULL for any. */
bool run_says(const struct run *run, const char *ready, const char *reason);

#endif
