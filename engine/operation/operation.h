/*
 * One operation of one Spec: plan it, and carry the plan out, over the tables
 * of functions that runtimes and stores are. What Kusion's engine does.
 *
 *   operation_new()     opens State
 *   operation_plan()    looks at the world, decides what to do to what
 *   operation_apply()   carries it out: intents into State, then step by step;
 *                       then it waits for the Spec's healthChecks
 *
 * An operation has no thread: it is a task of the executor, and costs nothing
 * while it waits for the world. on_change notifies its owner that it is planned,
 * that something failed for the first time and is tried again, or that it has
 * ended. In between the owner can ask how it goes on.
 *
 *   NEW -> PLANNING -> PLANNED -> RUNNING <-> PARKED -> ENDED
 *
 * operation_cancel() ends it at once: nothing new begins, and what is not done
 * is CANCELLED. Calls in flight come to their end by themselves, and their
 * outcomes land in the ledger. An operation that is planned meanwhile finds
 * them there.
 *
 * Killed at any point and begun again, an operation ends in the same place:
 * State is written before the first create and before deletes, and what it
 * says is checked against the world each time. Begun again under the same
 * revision, its time counts on.
 *
 * A parked operation may be freed for its memory, after a ledger_flush(), and
 * begun again later, as after a kill.
 *
 * Thread-safe. What is returned is borrowed, and as long as the operation
 * unless said otherwise.
 */
#pragma once

#include "engine/executor/executor.h"
#include "engine/plan/approved.h"
#include "engine/plan/digest.h"
#include "engine/plan/plan.h"
#include "engine/runtime.h"
#include "engine/secrets.h"
#include "engine/spec/spec.h"
#include "engine/state/ledger.h"
#include "engine/threads/clock.h"

enum operation_phase {
    OPERATION_NEW,
    OPERATION_PLANNING,
    OPERATION_PLANNED, /* or it could not be planned: operation_error() */
    OPERATION_RUNNING,
    OPERATION_PARKED, /* running, and nothing to do but to wait for the world */
    OPERATION_ENDED,
};

struct operation_config {
    const struct clock_source *clock;
    struct executor *executor;
    struct ledgers *ledgers;
    struct runtime *const *runtimes;
    size_t n_runtimes;
    struct slots *slots;         /* of the process: for calls with large answers; NULL: unbounded */
    const struct permit *permit; /* asked before every change; NULL: allowed */
    const struct value *extensions; /* of the Spec's resources as written, by id, where nothing is
                                       wanted any more: in them a person settles doubts, as of
                                       import_id.h and not_created.h. A reference is taken; or NULL
                                       */
    struct runtime_scope scope;     /* copied; identity_leaves is set by the operation */
    struct runtime_following *const *followings; /* what each of the runtimes follows for the Spec,
                                       or NULL; references are taken. NULL: nothing is followed */
    int64_t spec_created_at;                     /* of ledger_opening */
    int64_t epoch;                               /* of the leader */
    unsigned parallelism;                        /* calls at once, of each runtime */
    int64_t timeout;              /* ms without progress. Calls with limits of their own that take
                                     longer are not counted */
    struct cancel *cancel;        /* for operation_new() alone */
    struct digest_key digest_key; /* of plan_digest(); copied. With it, and without an approved
                                     plan, each live object is freed when its change is planned;
                                     length 0: when the operation is freed */
    bool keeps_state; /* when nothing is wanted, and all is gone: State stays, with its head alone.
                         Else it is removed */
    struct approved_plan *approved; /* what may be carried out; a reference is taken. NULL: all */
    bool for_approval; /* the plan is to be approved: planning waits for creates that may
                          still take effect, which would make it stale, and for calls in
                          flight, which it would leave to another round */

    /* Called when the operation is PLANNED or has ENDED, or when a first change failed and is tried
     * again. It posts and returns: any thread may call it, also the one that plans or cancels, with
     * the operation's lock held, so it must not call the operation. Not called after
     * operation_free(). May be NULL. */
    void (*on_change)(void *arg);
    /* Called when the operation parks, with the bytes that it holds, and with 0 when it runs again.
     * The rules are those of on_change. */
    void (*on_park)(void *arg, size_t bytes);
    /* Called before the operation holds more, with all the bytes that it will hold: an error ends
     * it early. The rules are those of on_change. NULL: without a bound. */
    int (*reserve)(void *arg, size_t bytes, struct error *error);
    void *arg;
    /* Called when a call has landed after its operation had ended: the Spec should be reconciled.
     * No lock is held. It is also called after operation_free(), as long as the executor lives.
     * May be NULL. */
    void (*on_landed)(void *arg, const struct spec_key *key);
    void *landed_arg;
};

struct operation;

/*
 * Where a plan would delete more than the Spec's `maxDeletions`, the operation is PLANNED with
 * ERR_CONFLICT DeletionGuardTripped, and cannot be applied: the plan can be shown.
 *
 * With an approved plan nothing is done that it does not have. It is compared when the changes are
 * planned: where any is stale, the operation is PLANNED with ERR_CONFLICT PlanStale, cannot be
 * applied, and has changed nothing in the world. A step that has to be planned anew when it is due
 * is compared again: then nothing new begins, what is under way comes to its end, and the operation
 * ENDS with PlanStale.
 *
 * A plan that is to be approved is made `for_approval`, and without an approved plan: an operation
 * that has one shows what it does not cover as deferred, and an approval of that would never cover
 * it. If what planning waits for takes longer than `timeout`, there is no plan to be approved:
 * ERR_TIMEOUT, and the next operation waits again.
 *
 * An approved deletion covers the object that a create of ours, sent before, makes after it: that
 * is deleted as well.
 *
 * What could not be planned when the plan was approved is not done: it is RESULT_DEFERRED with this
 * reason, and so is the operation's error, if nothing worse happened. Another plan has to be
 * approved for it.
 */
#define OPERATION_NEEDS_APPROVAL "ApprovalNeeded"

/* The reason of a change that FAILED with ERR_CONFLICT, because it could not be looked at when it
 * was planned, and has to be replaced. The operation has no steps for that; the next one has, and
 * what was approved holds for it. */
#define OPERATION_NEEDS_PLAN "PlanNeeded"

/* Opens State, which blocks. Errors: ledger_open()'s. */
int operation_new(const struct operation_config *config, struct operation **ret,
                  struct error *error);
/* Cancels the operation, unless it has ended. Visits under way go on, and hold what they need. */
void operation_free(struct operation *operation);
DEFINE_CLEANUP(struct operation *, operation_free)

struct ledger *operation_ledger(struct operation *operation);

/*
 * What the owner has done in the operation's turns by a thread of the executor, because it waits
 * for requests. The operation is NEW, PLANNED or ENDED, and nothing of it goes on meanwhile.
 *
 * run() is called once, not after operation_free(), and on_change() when it has returned. It may
 * outlive operation_free(). cancel is fired by operation_cancel(). free() is called when the next
 * errand is given, or with the operation. One at a time.
 */
struct operation_errand {
    void (*run)(void *arg, struct operation *operation, struct cancel *cancel);
    void (*free)(void *arg);
    void *arg;
};
void operation_send(struct operation *operation, const struct operation_errand *errand);

/* Sets runtime_scope.context. Called before operation_plan(). context: a reference is taken; or
 * NULL. why_not: as below. */
void operation_set_context(struct operation *operation, const struct value *context,
                           const struct error *why_not);

/* Gives it what the Spec's references to secrets (secret_ref.h) lead to. Called before
 * operation_plan(). source: taken over, and freed with the operation, when no visit of it is under
 * way any more. Without one, what they lead to is unknown, and sensitive: as for a Preview. */
void operation_use_secrets(struct operation *operation, struct secret_source *source);

/* Sets runtime_scope.existing, the objects to take over. Called before operation_plan(): only State
 * tells which resources have no record. existing: a reference is taken; or NULL. why_not: copied;
 * why they are not known; NULL, or its code is 0: they are known. */
void operation_take_over(struct operation *operation, const struct value *existing,
                         const struct error *why_not);

/* Facts about the Spec's objects, for a State that is gone, or older than the Spec. */
struct operation_recall {
    int64_t revision;              /* at whose end they were there; 1 at least */
    const struct value *inventory; /* array of {id, type}: what was there, or may have been;
                                      borrowed; or NULL */
    bool is_whole;    /* nothing else was there: what has the Spec's mark besides was left there */
    bool only_listed; /* an object counts only if a list showed it; where lists are refused, none
                         does */
};

/* Brings State up to what is known, durably, before anything is planned by it; NEW. It blocks for
 * some seconds at most. spec: as for operation_plan(), borrowed.
 *
 * Objects that only State knows (RUNTIME_IS_RECORDED) get records with lost_revision. Where one is
 * not found by what State has, it is held: it is neither created nor forgotten (ERR_CONFLICT
 * StateLost for the resource), until State is restored, it is taken over, or a person says that it
 * is not there. Objects with the Spec's mark are looked for, and get an INTENT if the Spec does not
 * name them any more, so that they are pruned.
 *
 * Errors: those of the ledger, and of runtimes that cannot be asked now. */
int operation_recall(struct operation *operation, const struct spec *spec,
                     const struct operation_recall *known, struct error *error);

/* Begins to plan; once. spec: taken over, or NULL: nothing is wanted any more, and all that State
 * has is to go. */
void operation_plan(struct operation *operation, struct spec *spec);

/* From PLANNED on; NULL: it could not be made. Problems of single resources are in their changes.
 * Of a stale plan it is what would be done now. */
const struct plan *operation_get_plan(struct operation *operation);

/* Bytes that it holds, about. PLANNED. */
size_t operation_memory(struct operation *operation);
/* Bytes that an operation is likely to hold once it is planned, by the larger of what is wanted and
 * what State has. spec: NULL, where all is to go; ledger: NULL, where it is not open yet. */
size_t operation_estimate(const struct spec *spec, struct ledger *ledger);

struct operation_apply {
    int64_t revision;
    bool verify; /* look at the health of what is unchanged, too */
    bool anew;   /* an earlier operation of this revision has ended, and was reported: the results
                    tell what this one does alone */
};

/* Begins to carry out the plan, once it is PLANNED without an error; once. */
void operation_apply(struct operation *operation, const struct operation_apply *how);

/* PLANNED or ENDED: the Spec is as the operation leaves it, and its objects are followed from now
 * on. Blocks for no request. */
void operation_settle_followings(struct operation *operation);

/* Ends it, unless it has ended: reason as for cancel_fire(). */
void operation_cancel(struct operation *operation, const char *reason);

enum operation_phase operation_phase(struct operation *operation);
/* Blocks until it is PLANNED or ENDED, whichever is next. For tests and command lines. */
enum operation_phase operation_wait(struct operation *operation);

/* When PLANNED: the error of planning; when ENDED: of the whole. 0: it succeeded. The error stands
 * for all; the results tell of each change. */
int operation_error(struct operation *operation, struct error *error);

/* ---- Results ---- */

enum result_status {
    RESULT_PENDING,
    RESULT_SUCCEEDED,
    RESULT_FAILED,
    RESULT_SKIPPED,
    RESULT_CANCELLED,
    RESULT_TIMED_OUT,
    RESULT_DEFERRED, /* it could not be planned yet */
};

/* Why one change comes after another. */
enum operation_wait {
    WAIT_DEPENDS_ON, /* the Spec says so */
    WAIT_REFERENCE,  /* it refers to the other */
    WAIT_KIND,       /* the runtime says so, of their kinds */
    WAIT_DELETION,   /* of what is deleted or replaced: the other goes, or is made, first */
};

/* How it goes with one change of the plan. */
struct operation_result {
    const struct plan_change *change;
    enum plan_action action; /* what was done, perhaps not what was planned: by this operation, or
                                by an earlier one of the same revision, which was killed. Deletions
                                before a kill are not shown: State has no record of them */
    enum result_status status;
    bool is_waiting;           /* PENDING: begun, and waiting for the world: error says for what */
    const struct error *error; /* why not; NULL: none */
    const struct value *warnings; /* array of strings: when it was planned, and carried out; NULL:
                                     none */
    int64_t started, ended;       /* ms, monotonic; 0: not */
    const char *waits_for; /* PENDING and not begun: the id of a change that comes first and has not
                              ended; NULL: none */
    enum operation_wait waits_by; /* why it does */
};

struct operation_results {
    struct operation_result *items; /* as the plan's changes */
    size_t count;
    bool is_late; /* one of the Spec's healthChecks was not healthy in time: that is the operation's
                     error, and no change's */
    struct arena arena;
};

/* As they are now: a copy that refers to the plan. Before operation_apply(): none. */
void operation_results(struct operation *operation, struct operation_results *ret);
void operation_results_done(struct operation_results *results);
/* One error for all that did not succeed; 0: nothing. what: "apply", "destroy". */
int operation_results_error(const struct operation_results *results, const char *what,
                            struct error *error);

/* Whether it carries out its plan, or has done so: the intents are in State. */
bool operation_has_begun(struct operation *operation);

/* Counts of changes: all, those that are done, and those that have failed for good. All 0 before
 * operation_apply(). */
struct operation_progress {
    size_t total, done, failed;
};
struct operation_progress operation_progress(struct operation *operation);

/* Writes one thing that the operation waits for, such as "web: 1/3 replicas", into the buffer, cut.
 * A change that fails and is tried again comes before one that is not healthy yet; *ret_is_failing
 * (may be NULL) tells which. False: nothing is waited for. */
bool operation_waits_for(struct operation *operation, char *ret, size_t size, bool *ret_is_failing);

/* The ms since the oldest visit under way began; 0: there is none. The id of its resource is
 * written into the buffer, cut. */
int64_t operation_longest_visit(struct operation *operation, char *ret, size_t size);

/* Adds an id to a message. One that could be taken for other words of the message is quoted: a
 * tenant chooses it, and administrators read the message. */
void operation_show_id(struct buf *to, const char *id);
