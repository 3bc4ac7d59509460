/*
 * The inside of an operation.
 *
 * An operation has two stages, planning and carrying out, and each is a walk: over the changes (the
 * Spec's resources, and those that leave), then over the steps. Its lock is held for its own fields
 * alone, never while a runtime or the ledger works.
 *
 * The files, in an order in which they can be read:
 *
 *   operation.c     the owner's functions
 *   run.c           phases and stages: what the executor runs
 *   node.c          one change while the operation lives, and the phases of its steps
 *   session.c       sessions with runtimes, and how calls are made
 *   planning/       from a Spec and State to a plan (planning/planning.h)
 *   carrying/       from a plan to changes in the world (carrying/carrying.h)
 *   records.c       the records that State gets;  state_head.c: its head
 *   secrets.c       what the references to secrets lead to, and their marks in State
 *   recall.c        rebuilds State that is gone, or older than the Spec
 *   redact.c        hides secrets in the texts of runtimes
 *   results.c       the result of each change;  summary.c: what the owner is told of them
 *   waits.c         what each change waits for
 *   memory.c        the memory that an operation holds
 *
 * operation.c, run.c, recall.c and summary.c are on top, carrying/ is below them, planning/ below
 * that, and the others below planning/: files include only what is below them.
 */
#pragma once

#include <pthread.h>

#include "engine/base/strmap.h"
#include "engine/graph/graph.h"
#include "engine/operation/node.h"
#include "engine/operation/operation.h"
#include "engine/plan/steps.h"
#include "engine/walk/walk.h"

/* Edges in the making, between numbers of changes. */
struct edges {
    struct graph_edge *items;
    size_t count, capacity;
};

enum stage {
    STAGE_IDLE,
    STAGE_PREFETCHING,
    STAGE_PLANNING,
    STAGE_BEGINNING,
    STAGE_CARRYING_OUT,
    STAGE_CHECKING, /* all steps have ended: the Spec's healthChecks (carrying/health_checks.h) */
};

struct health_check;

struct operation {
    struct operation_config config; /* its strings are copies, in the arena */
    struct arena arena;
    struct ledger *ledger;
    struct task *task;
    struct cancel *cancel; /* fired when it ends: what was not sent yet is not sent any more */
    struct binding *bindings;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum operation_phase phase;
    enum stage stage;
    struct operation_errand errand; /* the last one; or zero */
    bool errand_is_due;             /* and has not begun */
    size_t n_begun, n_done;         /* pieces of work that come before the walk of the stage */
    struct error error;
    struct error stale; /* that what is planned now is not what was approved; its code 0: it is */
    struct error
        guarded; /* that it would delete more than the Spec allows; its code 0: it does not */

    struct spec *spec; /* NULL: nothing is wanted */
    struct plan *plan;
    bool is_planned;                  /* the plan is whole: it can be shown, stale or not */
    pthread_mutex_t shown_lock;       /* held while a thorough diff is made. Under it: */
    size_t shown_fields, shown_bytes; /* of all thorough diffs */
    struct node *nodes;               /* of the plan's changes */
    struct strmap moved;   /* old id -> the Spec's resource that gets its record; set before
                              planning, with those that count */
    struct strmap outputs; /* by the text of their references; set before planning */
    struct secret_source
        *secret_source;    /* owned; NULL: secrets are not known. Set before planning */
    struct strmap secrets; /* by their references; under the lock, as is: */
    struct operation_secret *first_secret; /* secrets.c */
    struct ledger_records records;         /* when planning began */
    struct operation_results results;      /* under the lock */
    struct step_change *step_changes;      /* of each change: rank and last, from planning on */
    struct edges planned, recorded;        /* among changes: from the Spec, from State */
    struct edges inside; /* the node, which goes last, is in the dependency, and is deleted with it
                          */
    struct ledger_records applied; /* when everything was applied, before anything is deleted */
    struct strmap applied_uids;    /* of the Spec's resources among them */

    struct graph *graph; /* of the planning walk */
    struct steps *steps;
    uint16_t *groups;
    struct walk *walk;                  /* of the stage */
    struct health_check *health_checks; /* NULL: they were not begun, or there are none */
    size_t n_health_checks;
    struct graph *health_graph; /* of the walk over them */
    struct operation_apply how;
    bool continues;        /* another operation began under the same revision, and did not end */
    bool counts_earlier;   /* results tell what earlier operations of the revision did, too */
    int64_t progressed_at; /* ms, monotonic: the last progress; of one that it continues, too */
    int64_t excused;       /* ms, not counted: the longest call since then that made no progress */
    int64_t active_at;     /* ms, monotonic: at work last; calls have their time from then */
    size_t held, reserved; /* bytes that it holds by now, about; and that `reserve` allowed */
    struct error exceeded; /* that it was not allowed more; its code 0: it was */
    size_t memory;         /* what it holds, by operation_measure(), when so many had ended: */
    size_t n_measured;     /* SIZE_MAX: never */
    size_t n_ended, n_waiting;
    uint32_t waits_for; /* a change that waits, or STEP_NONE */
    uint32_t fails;     /* one that waits because it failed, and is tried again; or STEP_NONE */
    bool has_failed;    /* there was one, and the owner was told */
};

/* ---- run.c ---- */

/* The operation's task (executor.h). */
struct task_answer operation_run(void *arg);
/* The id of a change, for graphs; arg: the plan. */
const char *operation_change_name(void *arg, uint32_t change);
/* All with the lock held. */
void operation_set_phase(struct operation *operation, enum operation_phase phase);
void operation_end_planning(struct operation *operation, const struct error *error);
void operation_end(struct operation *operation, const struct error *error);

/* ---- summary.c ---- */

/* Adds "ID: MESSAGE", without the hints. */
void operation_add_message(struct buf *to, const char *id, const struct error *error);

/* ---- memory.c ---- */

/* Bytes that the operation holds, about. Under the lock, while no visit is under way. */
size_t operation_measure(const struct operation *operation);
/* Counts what the operation has come to hold: if it may not hold more, it ends early. Under the
 * lock, but for the last. */
void operation_hold(struct operation *operation, size_t before, size_t now);
void operation_hold_change(const struct node *node);
/* Whether steps keep their objects only until these are compared (plan_step_compared()). */
bool operation_frees_objects(const struct operation *operation);
