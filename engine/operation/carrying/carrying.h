/*
 * Carrying out: from a plan to changes in the world.
 *
 *   intents.c      what State gets before anything is changed
 *   carry_out.c    a visit of a step, and waiting;  apply_step.c, delete_step.c: the two kinds
 *   replan.c       the step that is due: as planned, or planned anew
 *   call.c         the call that makes an object, recorded in State before and after
 *   health_checks.c   objects that the Spec does not own, and waits for (health_checks.h)
 */
#pragma once

#include "engine/operation/private.h"
#include "engine/operation/session.h"

/* ---- intents.c ---- */

/* Saves intents, and whatever else State has to have before anything is changed. */
int operation_record_intents(struct operation *operation, struct error *error);
/* All visits have ended: drops the intents of what was never begun. Else a deletion after a restart
 * would wait for creates that were never sent. */
void operation_drop_intents(struct operation *operation);

/* ---- carry_out.c ---- */

/* *ret_is_progress: something was changed, or something that was waited for has ended. Where an
 * operation continues another, finding an object as that one left it is no progress: time would
 * begin anew each time. */
enum walk_verdict operation_step_visit(struct operation *operation, struct walk_visit *visit,
                                       bool *ret_is_progress);
/* A step has ended: wakes the barrier and the other half of its change, which may have waited for
 * it. Under the lock. */
void operation_wake_waiting(struct operation *operation, uint32_t step);
/* The call of a node's visit has ended, and State is to get its outcome: where a write of State is
 * waited for, another visit begins meanwhile. kind: of the visited step. */
void operation_yield(const struct node *node, enum step_kind kind);
/* ms until an object is looked at again, after so many looks; until a step is tried again, after so
 * many failures before this one. */
int64_t operation_look_delay(unsigned looks, bool is_subscribed);
int64_t operation_retry_delay(unsigned failures);
/* Parks the visit until the node's object changes, or for a while. */
enum walk_verdict operation_park(struct node *node, struct walk_visit *visit);
/* ERR_UNAVAILABLE Deferred, or OPERATION_NEEDS_APPROVAL. reason: of the runtime; or NULL. */
int operation_set_deferred(const struct node *node, const char *reason, struct error *error);
/* True, with the error, if the step cannot be tried: its change has an error that nothing heals,
 * was DEFERRED, or its plan timed out, and would take as long again. can_be_planned: a DEFERRED one
 * can be tried, too. */
bool operation_refuse_step(struct node *node, bool can_be_planned, struct error *error);
/* Parks it after an error that may heal; FAILED for others. */
enum walk_verdict operation_retry(struct node *node, struct walk_visit *visit,
                                  const struct error *error);
void operation_unsubscribe(struct node *node);

/* ---- apply_step.c, delete_step.c ---- */

enum walk_verdict operation_apply_step(struct node *node, struct walk_visit *visit,
                                       struct error *error);
enum walk_verdict operation_delete_step(struct node *node, struct walk_visit *visit,
                                        struct error *error);

/* ---- replan.c ---- */

/* The step to be carried out now: as planned, or planned anew. ERR_CONFLICT PlanStale: it is not
 * what was approved, and the operation ends. */
int operation_due_step(struct node *node, struct runtime_step **ret, struct error *error);
/* The same of an object that is to go: record is what State has of it. The step is the node's. 1:
 * it stays, since it is not replaced any more. */
int operation_due_removal(struct node *node, const struct record *record, struct error *error);
/* Plans the deletion anew. */
int operation_plan_removal_anew(struct node *node, const struct record *record,
                                struct error *error);

/* ---- call.c ---- */

/* Carries out a step that makes something, and records it in State before and after. ret: zeroed by
 * the caller, who calls outcome_done(). */
int operation_make(struct node *node, struct runtime_step *step, struct runtime_outcome *ret,
                   struct error *error);
/* Adds the warnings of the step, which may be another than was shown, and of its call. Called when
 * the outcome is recorded: its secrets are known then. */
void operation_note_warnings(struct node *node, const struct runtime_step *step,
                             const struct runtime_outcome *outcome);
/* Records a resource that is only read, if State does not have it, or has another of the id. */
void operation_note_reading(struct node *node, const struct runtime_step *step);
/* Records that the resource is as wanted. */
void operation_confirm(struct node *node, const struct runtime_step *step,
                       const struct runtime_outcome *outcome);
