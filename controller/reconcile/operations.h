/*
 * The operations that live, by the key of the object that they were begun for.
 *
 * An attempt is what the reconciles of one key share: the object as it was
 * read, the operation that was begun for it, the Release that it works under,
 * and when something was last said of it. There is one while its key is
 * reconciled, and after that for as long as it has an operation. It belongs to
 * the reconcile of its key, of which there is one at a time.
 *
 * An operation that is planned, or has ended, puts its key into the queue; so
 * does a call that lands after its operation ended.
 *
 * Operations hold memory, and there is a budget for all of them (budget.h). An operation reserves
 * its estimate when it is opened. Where that does not fit, the attempt waits with nothing but its
 * reservation, and its key is put into the queue when the memory is granted.
 *
 * A parked operation gives way to those that run: where the budget chooses it, the reconcile of its
 * key evicts it. What landed is stored, and the operation is freed; its Release stays as it is. The
 * attempt stays without an operation, and is begun again after a while, as if the process had been
 * restarted.
 *
 * What the watch reports of an object is passed on to the table (operations_observe). An operation
 * of an object that is not there any more in that generation is cancelled at once, and the next
 * reconcile finds it outdated. The table keeps which keys are listed. An object that left the watch
 * may be gone, or may be another controller's by now (--watch-label-selector).
 *
 * Thread-safe. With the table's lock held operations are cancelled, so their
 * callbacks may post to the queue, but not call the table.
 */
#ifndef CONTROLLER_RECONCILE_OPERATIONS_H
#define CONTROLLER_RECONCILE_OPERATIONS_H

#include "controller/reconcile/budget.h"
#include "controller/reconcile/progress.h"
#include "controller/reconcile/run.h"
#include "engine/operation/operation.h"

enum attempt_kind {
    ATTEMPT_NEW,    /* nothing came of this generation yet: it works under a Release */
    ATTEMPT_RETRY,  /* the last one of this generation failed: it gets a Release if it succeeds */
    ATTEMPT_RESYNC, /* the Spec is Ready: it gets a Release if there is something to do */
    ATTEMPT_UNTOLD, /* a Release of this generation succeeded, and the Spec's status does not say so
                     */
};

/* Which object a key stands for. */
struct object_version {
    const char *uid; /* NULL: there is none */
    int64_t generation;
    bool is_deleting;
    const char *new_version; /* the resourceVersion of an object that is new; NULL: it is not. Only
                                of operations_observe() */
};

struct attempt {
    struct operations *table;
    char *key;              /* "namespace/name" */
    struct spec_key object; /* the same, taken apart */
    char *names;            /* what `object` borrows */
    char *new_version; /* of its object, which the watch has just brought; NULL: it is not new */

    /* With the table's lock. */
    struct object_version read, observed; /* their uids are owned */
    bool was_observed;
    bool has_left;     /* it was not listed since it was read, for a moment at least */
    char *preview_of;  /* the name of the Spec; NULL: it is no Preview, or has not begun */
    bool is_asked_for; /* somebody wants it to be looked at meanwhile */

    struct reservation reservation; /* of memory, for its operation; the budget's */

    /* Of the reconcile. Only operations.c changes `operation`, with the table's lock. */
    struct operation *operation; /* NULL: there is none */
    struct run run;
    struct spec *spec; /* until the operation has it */
    enum attempt_kind kind;
    bool is_first;           /* nothing was ever begun for the object: it had no finalizer */
    struct release *release; /* NULL: none yet; of UNTOLD the one that succeeded */
    int64_t revision;
    char digest[HASH_HEX_SIZE]; /* of the plan */
    struct attempt_progress progress;
    unsigned evictions;   /* in a row */
    bool waits;           /* the last time that it asked for memory there was none */
    int64_t wait_told_at; /* ms, monotonic: its status tells then that it waits; 0: never */
    int64_t rests_until;  /* ms, monotonic: evicted, it is begun again then; 0: it was not */
};

/* ms before an operation that was evicted is begun again: the first time, and at most. */
#define EVICTED_FIRST 30000
#define EVICTED_MOST  300000

struct operations_config {
    void (*enqueue)(void *arg, const char *key); /* posts and returns; any thread */
    void *arg;
    const struct clock_source *clock;
    size_t memory; /* bytes that operations may hold, all together; 0: as much as they want */
};

struct operations *operations_new(const struct operations_config *config);
/* Ends what is left, without a word of it. No reconcile is at work any more; calls in flight go on.
 */
void operations_abandon(struct operations *operations);
/* When no call is in flight any more. */
void operations_free(struct operations *operations);
DEFINE_CLEANUP(struct operations *, operations_free)

/* ---- For the reconcile of a key ---- */

/* The key's attempt, or a new one. NULL: the key is none. */
struct attempt *operations_enter(struct operations *operations, const char *key);
/* The attempt goes, unless it has an operation, rests, or has a ticket. Without an operation it
 * gives back what it has reserved, unless that was granted after it had asked in vain. */
void operations_leave(struct attempt *attempt);

/* A Preview holds memory, and costs a tenant nothing: there are at most so many at once. */
#define PREVIEWS_OF_SPEC      2
#define PREVIEWS_OF_NAMESPACE 8

/* Whether the attempt may begin a Preview of that Spec: it then counts as one of its Spec and
 * namespace until it ends. False: as many of them live as may. */
bool attempt_reserve_preview(struct attempt *attempt, const char *spec);

/* Whether the attempt waits for memory, and there is nothing to do meanwhile. *ret_after: ms until
 * there may be; 0: not before it is granted. False: it is to be begun, since memory was granted,
 * the object changed, or the status is to tell that it waits. */
bool attempt_waits_for_memory(struct attempt *attempt, int64_t *ret_after);
/* For a reconcile that ended without an error: an attempt that does not wait any more loses its
 * ticket. After an error it keeps the ticket for the next try. */
void attempt_give_up_ticket(struct attempt *attempt);
/* It is planned: how much it holds is known better now. */
void attempt_measure(struct attempt *attempt);

/* What the attempt acts on: metadata of the object that the key stands for. */
void attempt_read(struct attempt *attempt, const struct value *metadata);
/* Reserves memory for an operation, and opens it; its callbacks are the table's. The estimate is by
 * the Spec first (NULL: everything is to be deleted), then by State, too. 1: there is no memory,
 * and the attempt waits without an operation. Errors: operation_new()'s. */
int attempt_open(struct attempt *attempt, const struct operation_config *config,
                 const struct spec *spec, struct error *error);
bool attempt_is_outdated(struct attempt *attempt);
/* Outdated because its object left the watch: it is not listed, or is again as it was. */
bool attempt_has_left(struct attempt *attempt);
/* The key is listed now. */
bool attempt_is_listed(struct attempt *attempt);
/* Why it is outdated, for people. */
const char *attempt_outdated_by(struct attempt *attempt);
/* Whether it was asked for since it was read. */
bool attempt_is_asked_for(struct attempt *attempt);
/* A call of an earlier operation has landed since its own was opened: what waited for that call can
 * be planned now. */
bool attempt_has_seen_landing(struct attempt *attempt);
/* When it is tried again after the failure, which is not told yet: after retryInterval, and later
 * each time for the same failure; now, if a call has landed. */
void attempt_retry(struct attempt *attempt, const struct error *failure,
                   struct reconcile_result *ret);
/* Its operation is parked, and chosen to be evicted. */
bool attempt_is_chosen(struct attempt *attempt);
void attempt_evict(struct attempt *attempt);
/* ms that the attempt still rests; 0: it is to be begun. Where its object changed, or somebody asks
 * for it, it rests no more. */
int64_t attempt_rests(struct attempt *attempt);
/* Lets go of all but what is known of its object. */
void attempt_empty(struct attempt *attempt);
/* Lets go of all that it has; the operation, if it goes on, is abandoned. */
void attempt_end(struct attempt *attempt);

/* ---- For everybody ---- */

/* What the key is now; without a uid: it is not listed any more. is_asked_for: somebody wants the
 * object to be looked at, changed or not. */
void operations_observe(struct operations *operations, const char *key,
                        const struct object_version *now, bool is_asked_for);
struct operations_stats {
    size_t parked, parked_bytes; /* operations that wait for the world, and what they hold */
    size_t waiting;              /* for memory */
    size_t reserved_bytes;       /* by those that run */
};
void operations_stats(struct operations *operations, struct operations_stats *ret);

/* Cancels all that there are, and all that come. reason: of static storage. */
void operations_cancel(struct operations *operations, const char *reason);

#endif
