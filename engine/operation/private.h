/*
 * Shared by the files of this folder.
 *
 * An operation has two stages, planning and carrying out, and each is a walk:
 * over the changes (the Spec's resources, and what leaves), then over the
 * steps. Its lock is held for its own fields alone, never while a runtime or
 * the ledger works.
 *
 * The files, in an order in which they can be read:
 *
 *   operation.c      the owner's functions
 *   run.c            phases and stages: what the executor runs
 *   session.c        sessions with runtimes
 *   relate.c         the list of changes, and the edges among them
 *   planning.c       a visit of the planning walk;  plan_one.c: one change;
 *                    target.c, resolve.c: the targets of runtime calls;
 *                    outputs.c: the values that references take
 *   conclude_plan.c  what depends on the whole plan;  approved.c: compares it with
 *                    the approved one
 *   begin.c          what is recorded first;  records.c, head.c: records and head
 *                    of State
 *   carry_out.c      a visit of a step;  apply_step.c, delete_step.c: the two
 *                    kinds;  due.c: planned anew;  make.c: the call;  doubt.c:
 *                    objects of which State does not tell whether they are there
 *   moved.c          resources that got another id
 *   recall.c         State that is gone, or older than the Spec
 *   reading.c        objects that are only read
 *   redact.c         hides secrets in what runtimes say
 *   results.c        what became of each change
 *   memory.c         what it all holds
 */
#ifndef ENGINE_OPERATION_PRIVATE_H
#define ENGINE_OPERATION_PRIVATE_H

#include <pthread.h>

#include "engine/base/strmap.h"
#include "engine/base/timestamp.h"
#include "engine/graph/graph.h"
#include "engine/graph/relations.h"
#include "engine/operation/node.h"
#include "engine/spec/import_id.h"
#include "engine/spec/not_created.h"
#include "engine/state/calls.h"
#include "engine/walk/walk.h"

/* A runtime, and this operation's session with it. The first thread that needs the session opens
 * it. All fields but `runtime` are under the operation's lock. */
struct binding {
    struct runtime *runtime;
    bool is_opening;                 /* a thread is in the runtime's open() */
    struct runtime_session *session; /* NULL: not open */
    struct error *error;             /* of open(), which failed; or NULL */
    int64_t failed_at;               /* ms, monotonic */
};

/* A value that references take from a node's object: one for all references of the same text. */
struct output {
    struct node *node;
    const char *path; /* "": the whole object; borrowed from the Spec */
    struct output *next;
    const struct value *value; /* in node->seen. Under the lock, and so are: */
    bool is_there;
    size_t reached; /* bytes of the path that were found */
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
    size_t n_begun, n_done; /* pieces of work that come before the walk of the stage */
    struct error error;
    struct error stale; /* that what is planned now is not what was approved; its code 0: it is */

    struct spec *spec; /* NULL: nothing is wanted */
    struct plan *plan;
    bool is_planned; /* the plan is whole: it can be shown, stale or not */
    pthread_mutex_t shown_lock;       /* held while a thorough diff is made. Under it: */
    size_t shown_fields, shown_bytes; /* of all thorough diffs */
    struct node *nodes; /* of the plan's changes */
    struct strmap moved;   /* old id -> the Spec's resource that gets its record; set before
                              planning, with those that count */
    struct strmap outputs; /* by the text of their references; set before planning */
    struct ledger_records records; /* when planning began */
    struct operation_results results; /* under the lock */
    struct step_change *step_changes; /* of each change: rank and last, from planning on */
    struct edges planned, recorded;   /* among changes: from the Spec, from State */
    struct edges inside;              /* the node is in the dependency, and is deleted with it */
    struct ledger_records applied;    /* when everything was applied, before anything is deleted */
    struct strmap applied_uids;       /* of the Spec's resources among them */

    struct graph *graph; /* of the planning walk */
    struct steps *steps;
    uint16_t *groups;
    struct walk *walk; /* of the stage */
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

/* ---- session.c ---- */

void operation_make_bindings(struct operation *operation);
void operation_free_bindings(struct operation *operation);
int64_t operation_now(const struct operation *operation);
/* Into the plan's arena, which visits share. */
const char *operation_text(struct operation *operation, const char *format, ...) PRINTF_LIKE(2, 3);
/* large: the slot of who makes the call, or NULL. */
struct runtime_call operation_call(struct operation *operation, struct slot *large);
/* A slot that is not taken. */
struct slot operation_slot(const struct operation *operation);
/* Waits until another thread has reset *is_busy, and broadcast `changed`. Under the lock.
 * ERR_CANCELLED: the operation was cancelled meanwhile. ERR_TIMEOUT: the deadline passed. */
int operation_wait_while(struct operation *operation, const bool *is_busy, int64_t deadline,
                         struct error *error);
/* The session of a node's runtime, opened if it was not. A thread that finds another one opening it
 * waits, as operation_wait_while() does. An error that may heal is kept for a second, then open()
 * is tried again. */
int operation_session(struct operation *operation, const struct node *node,
                      struct runtime_session **ret, struct error *error);
/* Reads the target's object with the node's session. large: the slot of who reads it. ret: as of
 * runtime_ops.read(). */
int operation_read(struct node *node, const struct runtime_target *target, struct slot *large,
                   struct runtime_outcome *ret, struct error *error);
const struct runtime_ops *operation_ops(const struct node *node);
struct plan_change *operation_change(const struct node *node);

/* ---- run.c ---- */

/* The operation's task (executor.h). */
struct task_answer operation_run(void *arg);
/* The id of a change, for graphs; arg: the plan. */
const char *operation_change_name(void *arg, uint32_t change);
/* The walk over the steps. */
void operation_begin_steps(struct operation *operation);
/* All with the lock held. */
void operation_set_phase(struct operation *operation, enum operation_phase phase);
void operation_end_planning(struct operation *operation, const struct error *error);
void operation_end(struct operation *operation, const struct error *error);

/* ---- target.c ---- */

/* The target of a runtime call: the resource with its references as far as they are resolved. A
 * resource that leaves: as it is recorded. id and prior are borrowed. */
struct runtime_target operation_target(struct node *node, const struct record *prior);
/* The target of a deletion. All is borrowed. */
struct runtime_target operation_removal_target(const struct record *record);
void operation_target_done(struct runtime_target *target); /* of operation_target() */
#define _cleanup_target_ _cleanup_(operation_target_done)

/* ---- relate.c: before planning ---- */

/* Makes the plan's changes and the nodes: for the Spec's resources, then for the records that
 * leave. */
void operation_list_changes(struct operation *operation);
/* The Spec's resource that a record belongs to; NULL: the record leaves. */
const struct resource *operation_resource_of(const struct operation *operation,
                                             const struct record *record);
/* Lists the edges: dependencies of the Spec and of the records, and what the runtimes relate. */
int operation_relate(struct operation *operation, struct error *error);

/* ---- planning.c ---- */

/* A look at all targets of one runtime. */
void operation_prefetch(struct operation *operation, struct binding *binding);
enum walk_verdict operation_plan_visit(struct operation *operation, struct walk_visit *visit);

/* ---- conclude_plan.c ---- */

/* When all changes are planned: checks the approved plan, and makes the steps. */
int operation_conclude_plan(struct operation *operation, struct error *error);
/* ERR_CONFLICT DeletionGuardTripped: it leaves, and a resource of the Spec would go with it. */
int operation_guard_content(const struct node *node, struct error *error);

/* ---- approved.c: nothing, where no approval is needed ---- */

/* Before the steps are made: leaves out what the approved plan does not cover, and takes over the
 * order of its replacements. */
void operation_take_approved(struct operation *operation);
/* With the steps: everything that would be done is what was approved. ERR_CONFLICT PlanStale. */
int operation_check_approved(struct operation *operation, struct error *error);

/* ---- plan_one.c ---- */

/* One change as planned: what plan_change keeps of it. */
struct planned {
    enum plan_action action;
    bool create_first, cannot_create_first, has_unknown, is_only_read;
    struct runtime_step *step, *removal; /* owned */
    struct runtime_step *answer;         /* owned: that it has to be replaced, and why; or NULL */
};
void planned_done(struct planned *planned);

/* ms since 1970, before the object that a plan goes by was looked for: now, or when its hint was
 * made, which may be long ago if the visit had to wait. */
int64_t operation_asked_at(const struct node *node, bool is_due);

/* Plans one change with what is known now. prior: what State has of the resource, or NULL. is_due:
 * everything that it depends on is applied. */
int operation_plan_one(struct operation *operation, struct node *node, const struct record *prior,
                       bool is_due, struct planned *ret, struct error *error);
/* Plans only the deletion of the old object of a replacement: ret->removal. */
int operation_plan_removal(struct operation *operation, struct node *node, const struct record *old,
                           struct planned *ret, struct error *error);

/* ---- moved.c: resources that got another id ---- */

/* Finds those that count. Before the changes are listed. */
void operation_list_moved(struct operation *operation);
/* The resource that a record of State becomes; NULL: none. */
const struct resource *operation_moved_to(const struct operation *operation,
                                          const struct record *record);
/* The id that State has of the resource; NULL: its own, or none. */
const char *operation_moved_from(const struct operation *operation,
                                 const struct resource *resource);
/* ERR_INVALID MoveFailed: the record is of another type. */
int operation_check_moved(const struct plan_change *change, struct error *error);
/* The change's record, as it is planned with: under the new id. */
void operation_take_moved(struct operation *operation, struct plan_change *change);
/* Moves the records in State, before anything else is done: durable when it returns 0. */
int operation_move_records(struct operation *operation, struct error *error);

/* ---- reading.c: objects that are only read ---- */

/* What State has of a resource that is only read is nothing that its runtime goes by. NULL stays
 * NULL. */
const struct record *operation_prior(const struct record *record);
/* The change is planned: sets is_behind_change. What it depends on was planned before. */
void operation_note_planned(struct node *node);
/* Something that the resource depends on directly, or that an explicit dependency comes after, is
 * still to be changed. */
bool operation_is_too_early(const struct node *node);
/* ERR_INVALID: under this id, State has an object that is ours. */
int operation_check_reading(const struct record *record, struct error *error);

/* ---- doubt.c ---- */

/* The time (ms since 1970) until which a create of the record's object may still take effect; 0:
 * there is no such create. record: NULL is allowed. */
int64_t operation_late_create(const struct operation *operation, const struct record *record);
/* The creation of the record's object was begun, and may still take effect, and no person has said
 * what became of it. */
bool operation_is_in_flight(const struct node *node, const struct record *record);
/* A format: how a person settles such a creation without waiting. Takes its revision. */
#define OPERATION_SETTLE_AT_ONCE                                                              \
    "Who has looked for it settles this at once: by extensions[" IMPORT_ID "] if it is there, " \
    "by extensions[" NOT_CREATED "]: %lld if it is not"
/* When that creation cannot take effect any more. */
void operation_in_flight_until(const struct record *record, char ret_text[TIMESTAMP_SIZE]);
/* Settles a record whose creation was begun, and whose outcome was never recorded, by a read, or by
 * what a person says of it. *record is replaced; NULL: there is no object. Where it cannot be
 * found, the record stays as it is: doubtful. ERR_CONFLICT OutcomeUnknown: the object may still be
 * made, and is not looked for yet. */
int operation_settle_doubt(struct operation *operation, struct node *node,
                           const struct record **record, struct error *error);
/* Nobody but a person can tell whether the record's object is there. record: NULL is allowed. */
bool operation_is_doubtful(const struct record *record);
/* ERR_CONFLICT OutcomeUnknown, StateLost: what a person has to do. */
int operation_hold_doubtful(const struct record *record, struct error *error);
/* Whether the step may be carried out for a resource whose record is doubtful. It was planned as
 * if there were no record: to take over the object that the resource names makes nothing, and
 * anything else needs a word in the extensions that the object is not there. ERR_CONFLICT
 * OutcomeUnknown, StateLost. */
int operation_check_doubtful(const struct record *record, const struct value *extensions,
                             const struct runtime_step *step, struct error *error);
/* The record is older than the Spec, and its object, which leaves, is not there: it may have been
 * replaced by one that is not known. ERR_CONFLICT StateLost, unless a person says that there is
 * none. */
int operation_check_lost(const struct node *node, const struct record *record,
                         const struct runtime_step *step, struct error *error);

/* ---- resolve.c ---- */

/* A resource's attributes or extensions with values for its references. is_due: all that they refer
 * to is applied, so that nothing is unknown. A reference; NULL stays NULL. */
int operation_resolve(struct operation *operation, const struct value *value, bool is_due,
                      const struct value **ret, struct error *error);

/* ---- outputs.c ---- */

/* What references take from which nodes. Before planning. */
void operation_list_outputs(struct operation *operation);
/* Sets what references to the node see. Values that were secret in what was sent are marked. live:
 * the whole object, of which nothing is kept but the outputs; NULL: it is not known any more. */
void operation_set_live(struct node *node, const struct value *live);
/* An output as it was seen last. */
struct seen {
    bool is_seen;              /* false: its object has not been seen */
    const struct value *value; /* a reference; NULL: the object does not have it */
    size_t reached;            /* bytes of its path that were found */
};
struct seen operation_seen(const struct output *output);

/* ---- records.c ---- */

int64_t operation_wall_clock(const struct operation *operation);
/* When what becomes of a node has to be durable. */
enum ledger_when operation_ledger_when(const struct node *node);
/* Array of the ids that a resource of the Spec comes after. */
const struct value *operation_dependencies(const struct operation *operation, uint32_t change);
/* Whether the record of an object that is as wanted is what this UNCHANGED step would write. */
bool operation_is_recorded(const struct node *node, const struct runtime_step *step);
/* A value that State can have: with null for what is not known, which nothing that was made should
 * be any more. A reference; NULL stays NULL. */
const struct value *operation_storable(const struct value *value);
/* The record of a resource before it is made: the attributes as planned, or as written where the
 * planned ones are not known yet. late_create: of the record before it (operation_late_create()). A
 * reference. */
const struct record *operation_intent(const struct node *node, enum plan_action action,
                                      int64_t late_create);
/* The recorded object goes on under a name of its own, so that the id is free for another: its
 * record, under that name. A reference. */
const struct record *operation_depose(struct operation *operation, struct node *node);

/* ---- redact.c ---- */

/* Hides the secrets of a node's resource in an error of its visit. Every error of a runtime's call
 * passes here before anything outside of the visit sees it. Not under the lock. */
void operation_redact(struct node *node, struct error *error);
/* The same in warnings. A reference; NULL stays NULL. */
const struct value *operation_redact_warnings(struct node *node, const struct value *warnings);
/* The same in the reason and the diff of a change that was just planned. shown: the step that they
 * describe; or NULL. */
void operation_redact_change(struct node *node, const struct runtime_step *shown);

/* ---- begin.c ---- */

/* Intents and what else State has to know before anything is changed. */
int operation_record_intents(struct operation *operation, struct error *error);
/* All visits have ended: drops the intents of what was never begun. Else a deletion after a restart
 * would wait for creates that were never sent. */
void operation_drop_intents(struct operation *operation);

/* ---- head.c ---- */

enum moment { AT_BEGIN, AT_END, AT_SUCCESS };
void operation_set_head(struct operation *operation, enum moment moment);
/* ms without progress that an earlier operation under this revision, which did not come to its end,
 * had waited when it is continued now; negative: there was none. */
int64_t operation_time_lost(struct operation *operation, int64_t revision);
/* Whether an earlier operation of this Spec succeeded under this revision: it was killed after
 * State was saved, and before its owner was notified. */
bool operation_was_done(struct operation *operation, int64_t revision);
/* All steps have ended: saves State. The error stands for all that failed. */
int operation_conclude(struct operation *operation, struct error *error);

/* ---- carry_out.c ---- */

/* *ret_is_progress: something was changed, or something that was waited for has ended. Where an
 * operation continues another, finding an object as that one left it is no progress: time would
 * begin anew each time. */
enum walk_verdict operation_step_visit(struct operation *operation, struct walk_visit *visit,
                                       bool *ret_is_progress);
/* For walk_config. */
void operation_on_end(void *arg, uint32_t step, enum walk_outcome outcome, uint32_t cause);
/* Sets the action that the result shows. That of a replacement stays, and so does that of a call
 * whose answer was lost, if nothing is left to be done. */
void operation_set_action(struct node *node, enum plan_action action);
/* A step has ended: wakes the barrier and the other half of its change, which may have waited for
 * it. Under the lock. */
void operation_wake_waiting(struct operation *operation, uint32_t step);
/* The call of a node's visit has ended, and State is to get its outcome: where a write of State is
 * waited for, another visit begins meanwhile. kind: of the visited step. */
void operation_yield(const struct node *node, enum step_kind kind);
/* Parks the visit until the node's object changes, or for a while. */
enum walk_verdict operation_park(struct node *node, struct walk_visit *visit);
/* ERR_UNAVAILABLE Deferred, or OPERATION_NEEDS_APPROVAL. reason: of the runtime; or NULL. */
int operation_set_deferred(const struct node *node, const char *reason, struct error *error);
/* The visit of a change that was planned as DEFERRED, and is left so. */
enum walk_verdict operation_defer(struct node *node, struct error *error);
/* The visit of a change whose plan timed out: another try would take as long again. */
enum walk_verdict operation_give_up(const struct node *node, struct error *error);
/* No answer, or one that asks to try again; a refusal does not heal. */
bool operation_may_heal(const struct error *error);
/* Parks it after such an error; FAILED for others. */
enum walk_verdict operation_retry(struct node *node, struct walk_visit *visit,
                                  const struct error *error);
void operation_unsubscribe(struct node *node);

/* ---- memory.c ---- */

/* Bytes that it holds, about. Under the lock, while no visit is under way. */
size_t operation_measure(const struct operation *operation);
/* What it holds has changed: more may end it early. Under the lock, but for the last. */
void operation_hold(struct operation *operation, size_t before, size_t now);
void operation_hold_change(struct operation *operation, const struct node *node);
void operation_hold_listed(struct operation *operation);
/* Whether steps keep their objects only until these are compared (plan_step_compared()). */
bool operation_frees_objects(const struct operation *operation);
/* Frees what only the visits of a change need, by the last of them. */
void operation_trim_node(struct node *node);

/* ---- due.c ---- */

/* The step to be carried out now: as planned, or planned anew. ERR_CONFLICT PlanStale: it is not
 * what was approved, and the operation ends. */
int operation_due_step(struct operation *operation, struct node *node, struct runtime_step **ret,
                       struct error *error);
/* The same of an object that is to go: record is what State has of it. The step is the node's. */
int operation_due_removal(struct operation *operation, struct node *node,
                          const struct record *record, struct error *error);
/* Plans anew how it goes. */
int operation_plan_removal_anew(struct operation *operation, struct node *node,
                                const struct record *record, struct error *error);

/* ---- make.c ---- */

/* Carries out a step that makes something, and records it in State before and after. *ret_now:
 * how the object is then; the caller cleans it up. */
int operation_make(struct operation *operation, struct node *node, struct runtime_step *step,
                   struct observation *ret_now, struct error *error);
/* Of the plan that is carried out, which may be another one than was shown, and of the call. When
 * the outcome is recorded: its secrets are known then. */
void operation_note_warnings(struct node *node, const struct runtime_step *step,
                             const struct runtime_outcome *outcome);
/* Tells State that there is a resource that is only read, if that is not known, or was another. */
void operation_note_reading(struct operation *operation, struct node *node,
                            const struct runtime_step *step);
/* Tells State that the resource is as wanted. */
int operation_confirm(struct operation *operation, struct node *node,
                      const struct runtime_step *step, struct runtime_outcome *outcome,
                      struct error *error);

/* ---- apply_step.c, delete_step.c ---- */

enum walk_verdict operation_apply_step(struct operation *operation, struct node *node,
                                       struct walk_visit *visit, struct error *error);
enum walk_verdict operation_delete_step(struct operation *operation, struct node *node,
                                        struct walk_visit *visit, struct error *error);

/* ---- results.c: all under the lock ---- */

void operation_init_results(struct operation *operation);
/* The action that results show for a change that is carried out by `action`. */
enum plan_action operation_done_action(const struct operation *operation,
                                       const struct plan_change *change, enum plan_action action);
void operation_clear_results(struct operation *operation);
/* Adds warnings, redacted, to those of a change, each once. NULL: none. Not under the lock. */
void operation_add_warnings(struct operation *operation, uint32_t change,
                            const struct value *warnings);
/* A change begins; waits for the world (the error says what for); ends. */
void operation_start_result(struct operation *operation, uint32_t change);
void operation_wait_result(struct operation *operation, uint32_t change, const struct error *error);
void operation_end_result(struct operation *operation, uint32_t change, enum result_status status,
                          const struct error *error);
/* A step has ended in the walk without a verdict of a visit of its own: skipped, or stopped. */
void operation_end_step(struct operation *operation, uint32_t step, enum walk_outcome outcome,
                        uint32_t cause);
/* A change is not what was approved: it has FAILED, nothing new begins, and what has not begun is
 * CANCELLED. Visits under way come to their end. Not under the lock. */
void operation_end_stale(struct operation *operation, uint32_t change, const struct error *error);
/* All changes that have not ended become CANCELLED, for this error. */
void operation_abandon_results(struct operation *operation, const struct error *error);

#endif
