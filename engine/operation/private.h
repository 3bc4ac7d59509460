/*
 * Shared by the files of this folder.
 *
 * An operation has two stages, planning and carrying out, and each is a walk:
 * over the Spec's resources (and what leaves), then over the steps. Its lock is
 * held for its own fields alone, never while a runtime or the ledger works.
 */
#ifndef ENGINE_OPERATION_PRIVATE_H
#define ENGINE_OPERATION_PRIVATE_H

#include <pthread.h>

#include "engine/base/strmap.h"
#include "engine/graph/graph.h"
#include "engine/graph/relations.h"
#include "engine/operation/operation.h"
#include "engine/plan/steps.h"
#include "engine/state/calls.h"
#include "engine/walk/walk.h"

/* A runtime, and this operation's session with it: opened at first use. */
struct binding {
    struct runtime *runtime;
    pthread_mutex_t lock; /* of these */
    struct runtime_session *session;
    bool was_tried;
    struct error *error; /* why it could not be opened */
};

/* What is known of one change while the operation lives. Written by visits of its own, which are
 * one at a time; what others read is under the lock. */
struct node {
    struct operation *operation;
    uint32_t index;
    unsigned failures;              /* in a row, that waiting may mend */
    struct binding *binding;        /* NULL: no runtime of its type */
    struct observation hint;        /* of prefetch() */
    const struct value *attributes; /* as last resolved; a reference. Under the lock */
    const struct value *extensions; /* likewise */
    const struct value *live;       /* as last seen, whole; a reference. Under the lock */
    bool is_read;                   /* for references, at the moment. Under the lock */
    bool lets_go;                   /* parked, and what depends on it goes on. Under the lock */
    bool is_applied;                /* by this operation, or found as wanted */
    bool is_delete_sent;
    bool needs_plan;                /* what was planned does not hold any more, or was tried */
    bool needs_removal_plan;        /* likewise, of the object that is to go */
    bool stays;                     /* planned anew, it does not have to be replaced */
    const char *deposed;            /* what its recorded object is called while it makes room; arena */
    struct runtime_step *step;      /* owned: planned anew when it was due; NULL: as the plan has it */
    struct runtime_step *removal;   /* likewise, of the object that a replacement takes away */
    const struct plan_change *content; /* a resource of the Spec that would go with it; or NULL */
    struct runtime_subscription *subscription;
};

/* Edges in the making, between numbers of changes. */
struct edges {
    struct graph_edge *items;
    size_t count, capacity;
};

enum stage { STAGE_IDLE, STAGE_PREFETCHING, STAGE_PLANNING, STAGE_BEGINNING, STAGE_CARRYING_OUT };

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
    size_t n_begun, n_done; /* of the pieces of work that come before a stage's walk */
    struct error error;

    struct spec *spec; /* NULL: nothing is wanted */
    struct plan *plan;
    bool is_planned; /* whole, and without an error of the whole */
    struct node *nodes; /* of the plan's changes */
    struct ledger_records records; /* when planning began */
    struct operation_results results; /* under the lock */
    struct step_change *step_changes; /* of each change: rank and last, from planning on */
    struct edges planned, recorded;   /* among changes: from the Spec, from State */
    struct edges inside;              /* the node is in the dependency, and goes with it */
    struct ledger_records applied;    /* when everything was applied, before anything is deleted */
    struct strmap applied_uids;       /* of the Spec's resources among them */

    struct graph *graph; /* of the planning walk */
    struct steps *steps;
    uint16_t *groups;
    struct walk *walk; /* of the stage */
    struct operation_apply how;
    bool continues;        /* what another operation began under the same revision */
    int64_t progressed_at; /* ms, monotonic; of what it continues, perhaps long before it began */
    int64_t excused;       /* ms: the longest call since then that came to nothing; not counted */
    int64_t active_at;     /* likewise; since then it has been at work itself: what calls have time from */
    size_t memory;         /* what it holds, by operation_measure(), when so many changes had ended: */
    size_t n_measured;     /* SIZE_MAX: never */
    size_t n_ended, n_waiting;
    uint32_t waits_for; /* a change that waits, or STEP_NONE */
};

/* ---- operation.c ---- */

int64_t operation_now(const struct operation *operation);
/* Into the plan's arena, which visits share. */
const char *operation_text(struct operation *operation, const char *format, ...) PRINTF_LIKE(2, 3);
struct runtime_call operation_call(struct operation *operation);
/* The session of a node's runtime, opened if it was not. */
int operation_session(struct operation *operation, const struct node *node,
                      struct runtime_session **ret, struct error *error);
const struct runtime_ops *operation_ops(const struct node *node);
struct plan_change *operation_change(const struct node *node);

/* ---- target.c ---- */

/* What a runtime is told of a resource, as far as it is known: with its references resolved once
 * they are. Or of what leaves, as it is recorded. id and prior are borrowed. */
struct runtime_target operation_target(struct node *node, const struct record *prior);
/* An object that is recorded, and is to go. All is borrowed. */
struct runtime_target operation_removal_target(const struct record *record);
void operation_target_done(struct runtime_target *target); /* of operation_target() */
#define _cleanup_target_ _cleanup_(operation_target_done)

/* ---- relate.c: before planning ---- */

/* Makes the plan's changes and nodes: the Spec's resources, then what leaves. */
void operation_list_changes(struct operation *operation);
/* The Spec's resource that a record belongs to; NULL: it leaves. */
const struct resource *operation_resource_of(const struct operation *operation,
                                             const struct record *record);
/* What comes before what: the Spec's dependencies, the records', and the runtimes' relations. */
int operation_relate(struct operation *operation, struct error *error);

/* ---- planning.c ---- */

/* A look at all targets of one runtime. */
void operation_prefetch(struct operation *operation, struct binding *binding);
/* The planning walk. ERR_INVALID CyclicDependency. */
int operation_begin_planning(struct operation *operation, struct error *error);
enum walk_verdict operation_plan_visit(struct operation *operation, struct walk_visit *visit);
/* What can be told only when all are planned, and the steps. */
int operation_conclude_plan(struct operation *operation, struct error *error);
/* The walk over the steps. */
void operation_begin_steps(struct operation *operation);
/* ERR_CONFLICT DeletionGuardTripped: it leaves, and a resource of the Spec would go with it. */
int operation_guard_content(const struct node *node, struct error *error);

/* ---- plan_one.c ---- */

/* One change as planned: what plan_change keeps of it. */
struct planned {
    enum plan_action action;
    bool create_first, cannot_create_first, has_unknown;
    struct runtime_step *step, *removal; /* owned */
    struct runtime_step *answer;         /* owned: that it has to be replaced, and why; or NULL */
};
void planned_done(struct planned *planned);

/* Plans one change with what is known now. prior: what State has of it, or NULL. is_due: all that it
 * comes after is applied. */
int operation_plan_one(struct operation *operation, struct node *node, const struct record *prior,
                       bool is_due, struct planned *ret, struct error *error);
/* Plans, for a resource that is replaced, how its old object goes: ret->removal alone. */
int operation_plan_removal(struct operation *operation, struct node *node,
                           const struct record *old, struct planned *ret, struct error *error);

/* ---- doubt.c ---- */

/* Its creation was begun, and may still take effect. */
bool operation_is_in_flight(const struct operation *operation, const struct record *record);
/* Of a record whose creation was begun, and its outcome never told: what it is after a look. *record is
 * replaced; NULL: nothing is there. ERR_CONFLICT OutcomeUnknown: it may still be made, and is not
 * looked for yet; or it cannot be found, and the message says what a person has to do. */
int operation_settle_doubt(struct operation *operation, struct node *node,
                           const struct record **record, struct error *error);

/* ---- resolve.c ---- */

/* A resource's attributes or extensions with values for its references. is_due: all that they refer
 * to is applied, so that nothing is unknown. A reference; NULL stays NULL. */
int operation_resolve(struct operation *operation, const struct value *value, bool is_due,
                      const struct value **ret, struct error *error);

/* ---- begin.c ---- */

/* Intents and what else State has to know before anything is changed. */
int operation_record_intents(struct operation *operation, struct error *error);
/* How a record is named that makes room for another of its id. */
const char *operation_name_deposed(struct operation *operation, const struct node *node);
/* Array of the ids that a resource of the Spec comes after. */
const struct value *operation_dependencies(const struct operation *operation, uint32_t change);
/* What an intent says of a resource: as planned, where that is known. A reference; or NULL. */
const struct value *operation_intended(const struct value *planned, const struct value *written);

/* ms without progress that an earlier operation under this revision, which did not come to its end,
 * had waited when it is continued now; negative: there was none. */
int64_t operation_time_lost(struct operation *operation, int64_t revision);

/* All steps have ended: State is told. The error: what stands for all that failed. */
int operation_conclude(struct operation *operation, struct error *error);

/* ---- carry_out.c ---- */

/* *ret_is_progress: something was changed, or what was waited for has come to its end. What is found
 * as it was left is none, where an operation continues another: time would begin anew each time. */
enum walk_verdict operation_step_visit(struct operation *operation, struct walk_visit *visit,
                                       bool *ret_is_progress);
/* For walk_config. */
void operation_on_end(void *arg, uint32_t step, enum walk_outcome outcome, uint32_t cause);
/* What its result says was done, where that is not the whole of a replacement. */
void operation_set_action(struct node *node, enum plan_action action);
/* A step has ended: the barrier, or the other half of its change, may have waited for it alone.
 * Under the lock. */
void operation_wake_waiting(struct operation *operation, uint32_t step);
/* Parks the visit until the node's object changes, or for a while. */
enum walk_verdict operation_park(struct node *node, struct walk_visit *visit);
/* ERR_UNAVAILABLE Deferred. reason: of the runtime; or NULL. */
int operation_set_deferred(const char *reason, struct error *error);
/* An answer that is missing, or one that asks to try again: not a refusal. */
bool operation_may_heal(const struct error *error);
/* Parks it after such an error; FAILED for others. */
enum walk_verdict operation_retry(struct node *node, struct walk_visit *visit,
                                  const struct error *error);
void operation_unsubscribe(struct node *node);
/* What others' references see of it; what was secret when it was sent is secret in it. */
void operation_set_live(struct node *node, const struct value *live);

/* ---- memory.c ---- */

/* Bytes that it holds, about. Under the lock, while no visit is under way. */
size_t operation_measure(const struct operation *operation);
/* The change has come to its end: what only its own visits need goes. By the last of them. */
void operation_let_go(struct node *node);

/* ---- make.c ---- */

/* The step to be carried out now: as planned, or planned anew. prior: what State has. */
int operation_due_step(struct operation *operation, struct node *node, struct runtime_step **ret,
                       struct error *error);
/* Carries a step out that makes something, with what State has to know before and after. now: as
 * it is after that, the caller's to clean up. */
int operation_make(struct operation *operation, struct node *node, struct runtime_step *step,
                   struct observation *ret_now, struct error *error);
/* State is told that it is as wanted. */
int operation_confirm(struct operation *operation, struct node *node,
                      const struct runtime_step *step, struct runtime_outcome *outcome,
                      struct error *error);

/* A value that State can have: with null for what is not known, which nothing that was made should
 * be any more. A reference; NULL stays NULL. */
const struct value *operation_storable(const struct value *value);

/* ---- apply_step.c, delete_step.c ---- */

enum walk_verdict operation_apply_step(struct operation *operation, struct node *node,
                                       struct walk_visit *visit, struct error *error);
enum walk_verdict operation_delete_step(struct operation *operation, struct node *node,
                                        struct walk_visit *visit, struct error *error);

/* ---- results.c: all under the lock ---- */

void operation_init_results(struct operation *operation);
void operation_clear_results(struct operation *operation);
/* A change is begun; it waits for the world, error says for what; it has come to its end. */
void operation_start_result(struct operation *operation, uint32_t change);
void operation_wait_result(struct operation *operation, uint32_t change, const struct error *error);
void operation_end_result(struct operation *operation, uint32_t change, enum result_status status,
                          const struct error *error);
/* The walk's word for a step that ended without a verdict of its own visit. */
void operation_end_step(struct operation *operation, uint32_t step, enum walk_outcome outcome,
                        uint32_t cause);
/* All that did not come to their end are CANCELLED, for this error. */
void operation_abandon_results(struct operation *operation, const struct error *error);

#endif
