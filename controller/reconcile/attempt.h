/*
 * An attempt is what the reconciles of one key share: the object as it was read, its operation, the
 * Release of the operation, and when a status was last written. It exists while its key is
 * reconciled, and afterwards as long as it has an operation, waits for memory, or rests after an
 * eviction, and until the next one after an operation that was ended because it needed more memory.
 * The desk keeps it meanwhile (desk.h). One reconcile at a time uses it.
 *
 * An operation puts its key into the queue when it is planned and when it has ended. So does a call
 * that lands after its operation ended.
 *
 * Operations share a budget of memory (budget.h). An operation reserves its estimate when it is
 * opened. If that does not fit, the attempt keeps nothing but its reservation, and waits. When the
 * memory is granted, its key is put into the queue.
 *
 * If the budget chooses a parked operation, the reconcile of its key evicts it: State is saved, and
 * the operation is freed. Its Release stays as it is. The attempt rests for a while, and then
 * begins again as after a restart of the process.
 */
#pragma once

#include "controller/core/workers.h"
#include "controller/desk/desk.h"
#include "controller/reconcile/inputs/source_reading.h"
#include "controller/reconcile/run/run.h"
#include "engine/operation/operation.h"

enum attempt_kind {
    ATTEMPT_NEW,            /* the first one of this generation: it gets a Release */
    ATTEMPT_RETRY,          /* the last one of this generation failed: it gets a Release if it
                               succeeds */
    ATTEMPT_RESYNC,         /* the Spec is Ready: it gets a Release if there is something to do */
    ATTEMPT_CORRECTION,     /* the Spec is Ready, and the same is put back as before: it is counted,
                               and gets a Release if it fails */
    ATTEMPT_STATUS_MISSING, /* a Release of this generation succeeded, but the Spec's status was not
                               written */
};

/* What the status says of it (progress.h). */
struct attempt_progress {
    int64_t begun;      /* ms, monotonic */
    int64_t said;       /* ms, monotonic: when a phase was last written; 0: none was */
    bool is_working;    /* the three below are of carrying out, else of planning */
    int64_t waits_from; /* ms, monotonic: when it was first seen in this stage; 0: not yet */
    int64_t waits_due;  /* ms, monotonic: when to write what it waits for; 0: not yet */
    size_t counted;     /* what was done or had failed when that was said last */
    int64_t counted_at; /* ms, monotonic; 0: it was not */
    enum { WAITS_FOR_NOTHING, WAITS_FOR_HEALTH, WAITS_FOR_ANSWER, WAITS_AS_IT_FAILS } waits_said;
    enum { SAID_NOTHING, SAID_PLANNING, SAID_WORKING } what;
    bool is_untold;  /* what was said last has no Event: it was a count */
    bool has_warned; /* in the log, that State is not saved */
};

/* What only an apply has, and neither a deletion nor a Preview. */
struct apply {
    bool is_first;            /* the object had no finalizer: nothing was ever begun for it */
    struct release *rejected; /* the newest, of which a person rejected the plan; NULL: it is not */
    struct release_revisions revisions; /* that the history had when it was asked */
    bool knows_revisions;               /* it was asked */
    struct approved_plan *approved;     /* what the operation may carry out; NULL: see approval.h */
    struct release_approval approval;   /* of `approved` */
    bool is_approval_spent; /* the one in the Spec does not hold any more (approval.h) */
    char *approval_lost;    /* why the plan that was approved cannot be read; NULL: it can, or none
                               was approved */
    enum runtime_look look; /* of a check (following.h) */
    int64_t drift_wait;     /* ms for which drift that was found is left as it is */
    bool is_followed;       /* all that it has is; set with run.knows_drift */
};

struct attempt {
    struct desk_entry *entry; /* of its key */
    struct spec_key object;   /* its key; borrowed from the entry */
    char *to_preview; /* the Spec, of a Preview that asked for a place in vain; NULL: it did not */

    struct reservation reservation; /* of memory, for its operation; the budget's */

    struct source_reading *sources; /* what gathers its resources (sources.h), before there is an
                                       operation; or NULL */
    struct operation *operation;    /* NULL: there is none. Only attempt.c sets it */
    struct errand *errand; /* what the operation does for it (errand.h), which owns it; or NULL */
    bool is_exported;      /* the state file of Terraform is written, or must not be waited for */
    struct ledger *ledger; /* open State, from before there is an operation; or NULL */
    char *superseded_by; /* why the operation ends before its time, though its object is as it was;
                            NULL: it does not */
    struct run run;
    struct spec *spec; /* until the operation has it */
    enum attempt_kind kind;
    struct apply apply;
    struct release *release; /* NULL: none yet; ATTEMPT_STATUS_MISSING: the one that succeeded */
    bool knows_state; /* State has all that the status tells of (recall.h): it may be reported */
    int64_t revision;
    char digest[HASH_HEX_SIZE]; /* of the plan; of the approved one, if there is one */
    struct attempt_progress progress;
    unsigned evictions;     /* in a row */
    size_t estimate;        /* bytes, of its operation; set before it plans */
    _Atomic size_t needed;  /* bytes of which the last operation was ended (MemoryExceeded): the
                               next one reserves them; 0: it was not */
    bool waits;             /* there was no memory when it last asked for some */
    int64_t wait_report_at; /* ms, monotonic: when its status is to say that it waits; 0: never */
    int64_t rests_until;    /* ms, monotonic: when it begins again after an eviction; 0: it was not
                               evicted */
};

/* ms, monotonic. */
static inline int64_t attempt_now(const struct attempt *attempt)
{
    return context_monotonic(attempt->run.context);
}

/* The approval of attempt->apply.approved; NULL: there is none. */
static inline const struct release_approval *attempt_approval(const struct attempt *attempt)
{
    return attempt->apply.approved ? &attempt->apply.approval : NULL;
}

/* A check of a Ready Spec had something to change. */
static inline bool attempt_is_correction(const struct attempt *attempt)
{
    return attempt->kind == ATTEMPT_RESYNC || attempt->kind == ATTEMPT_CORRECTION;
}

/* ms before an evicted operation begins again: the first time, and at most. */
#define EVICTED_FIRST 30000
#define EVICTED_MOST  300000

/* The key's attempt, or a new one. NULL: the key is not "namespace/name". */
struct attempt *attempt_enter(struct desk *desk, enum desk_kind kind, const char *key);
/* Frees the attempt, unless it has an operation, rests, has a ticket, needs more memory, or waits
 * for a place as a Preview. Without an operation it keeps nothing that it has read, and gives back
 * what it has reserved, unless that was granted after it had asked in vain. */
void attempt_leave(struct attempt *attempt);
/* Ends and frees all attempts without writing a status. Only when no reconcile runs any more; calls
 * in flight continue. */
void attempts_abandon(struct desk *desk);

/* True: the attempt may begin a Preview of that Spec, and counts as one of its Spec and its
 * namespace until it ends. False: as many run already as may. */
bool attempt_reserve_preview(struct attempt *attempt, const char *spec);
/* True: it asked in vain before, and there is still no place for it. So one that waits does not
 * read its Release, of up to 1 MiB, again and again. False: it may have its place by now. */
bool attempt_waits_for_place(struct attempt *attempt);

/* True: the attempt waits for memory, and there is nothing to do meanwhile. *ret_after: ms until
 * the status is to say so; 0: nothing is due before the grant. False: the attempt is to begin,
 * because memory was granted, the object changed, or the status is to say that it waits. */
bool attempt_waits_for_memory(struct attempt *attempt, int64_t *ret_after);
/* For a reconcile that is not tried again: drops the ticket of an attempt that does not wait any
 * more. An attempt that is tried again keeps its ticket. */
void attempt_give_up_ticket(struct attempt *attempt);
/* Replaces the estimate of a planned operation by what it holds. */
void attempt_measure(struct attempt *attempt);

/* Reserves memory for an operation, and opens it, with callbacks of its own. The first estimate
 * is made from the Spec (NULL: everything is to be deleted), the second one from State, too; the
 * approved plan counts as it is. 1: there is no memory, and the attempt waits without an operation.
 * Errors: operation_new()'s. */
int attempt_open(struct attempt *attempt, const struct operation_config *config,
                 const struct spec *spec, struct error *error);
/* desk_is_outdated(), or superseded_by is set. */
bool attempt_is_outdated(struct attempt *attempt);
/* Why it is outdated, for messages; free() it. */
char *attempt_outdated_by(struct attempt *attempt);
/* When it is checked again after a success: after `interval`; at once if somebody asked for it. */
void attempt_check_later(struct attempt *attempt, struct reconcile_result *ret);
/* When it is tried again after the failure, which its status does not have yet: after
 * retryInterval, and later each time for the same failure, but for one that may heal not later than
 * when the Spec becomes Stalled, and never later than run_retry_within(); at once if a call has
 * landed, or if somebody asked for it. */
void attempt_retry(struct attempt *attempt, const struct error *failure,
                   struct reconcile_result *ret);
/* Its operation is parked, and the budget chose it for eviction. */
bool attempt_is_chosen(struct attempt *attempt);
/* ms that it will rest if it is evicted now. */
int64_t attempt_next_rest(const struct attempt *attempt);
void attempt_evict(struct attempt *attempt);
/* ms that the attempt still rests after an eviction; 0: it is to begin. A change of its object, or
 * a requested reconcile, ends the rest. */
int64_t attempt_rests(struct attempt *attempt);
/* Frees all that it has, except the versions of its object and its ticket. Its operation is
 * abandoned. */
void attempt_empty(struct attempt *attempt);
/* Frees all that it has. Its operation is abandoned. */
void attempt_end(struct attempt *attempt);

/* Reserves so many bytes for the attempt's operation. False: the attempt waits. */
bool attempt_reserve(struct attempt *attempt, size_t bytes);
/* reserve() of its operation; arg: the attempt. */
int attempt_grow(void *arg, size_t bytes, struct error *error);
