/* A visit of a step, and the waiting between two visits. */
#include "engine/operation/carrying/carrying.h"
#include "engine/operation/planning/planning.h"
#include "engine/operation/planning/target.h"
#include "engine/operation/records.h"
#include "engine/operation/results.h"
#include "engine/threads/locked.h"

/* ms between two looks at an object that is waited for: the first, and the longest, without a
 * subscription that wakes earlier and with one. */
#define FIRST_LOOK      250
#define LAST_LOOK       5000
#define SUBSCRIBED_LOOK 30000
/* ms before a step that failed, and may heal, is tried again: the first time, and at most. */
#define FIRST_RETRY 1000
#define LAST_RETRY  30000

static int64_t double_delay(int64_t first, unsigned times, int64_t most)
{
    int64_t delay = first << (times < 16 ? times : 16);

    return delay < most ? delay : most;
}

int64_t operation_look_delay(unsigned looks, bool is_subscribed)
{
    return double_delay(FIRST_LOOK, looks, is_subscribed ? SUBSCRIBED_LOOK : LAST_LOOK);
}

int64_t operation_retry_delay(unsigned failures)
{
    return double_delay(FIRST_RETRY, failures, LAST_RETRY);
}

/* ---- Waiting ---- */

static void on_object_event(void *arg)
{
    struct node *node = arg;
    struct operation *operation = node->operation;
    const struct steps *steps = operation->steps;
    bool woken = false;

    LOCKED(&operation->lock);
    if (operation->stage == STAGE_CARRYING_OUT) {
        if (steps->apply[node->index] != STEP_NONE)
            woken = walk_wake(operation->walk, steps->apply[node->index]);
        if (steps->delete[node->index] != STEP_NONE)
            woken = walk_wake(operation->walk, steps->delete[node->index]) || woken;
    }
    /* Poked with the lock held: once it is released, the operation may be ended and freed. */
    if (woken)
        task_poke(operation->task);
}

/* Errors are ignored: a subscription only wakes the node earlier, and without one the object is
 * looked at now and then. */
static void subscribe_node(struct node *node)
{
    _cleanup_target_ struct runtime_target target =
        operation_target(node, operation_change(node)->record);
    struct runtime_session *session;

    if (node->subscription || !operation_ops(node)->subscribe ||
        operation_session(node, &session, NULL) < 0)
        return;
    operation_ops(node)->subscribe(session, &target, on_object_event, node, &node->subscription,
                                   NULL);
}

void operation_unsubscribe(struct node *node)
{
    if (node->subscription)
        operation_ops(node)->unsubscribe(TAKE(node->subscription));
}

enum walk_verdict operation_park(struct node *node, struct walk_visit *visit)
{
    subscribe_node(node);
    visit->retry_after = operation_look_delay(visit->count, node->subscription);
    return WALK_PARKED;
}

void operation_yield(const struct node *node, enum step_kind kind)
{
    struct operation *operation = node->operation;
    const struct steps *steps = operation->steps;
    const uint32_t *of_kind = kind == STEP_APPLY ? steps->apply : steps->delete;

    if (operation_ledger_when(node) != LEDGER_NOW)
        return;
    LOCKED(&operation->lock);
    if (walk_yield(operation->walk, of_kind[node->index]))
        task_poke(operation->task);
}

int operation_set_deferred(const struct node *node, const char *reason, struct error *error)
{
    if (!reason)
        reason = "it cannot be planned yet";
    if (node->approval == APPROVAL_MISSING)
        return err_set(error, ERR_UNAVAILABLE, OPERATION_NEEDS_APPROVAL,
                       "%s: it is done after another round of approval", reason);
    return err_set(error, ERR_UNAVAILABLE, "Deferred", "%s", reason);
}

bool operation_refuse_step(struct node *node, bool can_be_planned, struct error *error)
{
    const struct plan_change *change = operation_change(node);
    enum step_kind step = node_only_step(node);

    if (change->error && !operation_may_heal(change->error)) {
        err_copy(error, change->error);
        return true;
    }
    if (change->action == PLAN_DEFERRED && !can_be_planned) {
        node_move(node, step, NODE_DEFERRED);
        operation_set_deferred(node, change->reason, error);
        return true;
    }
    if (node->phases[step] == NODE_TIMED_OUT)
        err_copy(error, change->error);
    return node->phases[step] == NODE_TIMED_OUT;
}

enum walk_verdict operation_retry(struct node *node, struct walk_visit *visit,
                                  const struct error *error)
{
    if (!operation_may_heal(error))
        return WALK_FAILED;
    visit->retry_after = operation_retry_delay(node->failures++);
    return WALK_PARKED;
}

/* ---- The barrier ---- */

/* Lists the Spec's resources by the uids of their objects. Called by one visit, before any object
 * that left the Spec is deleted. */
static void list_applied(struct operation *operation)
{
    operation->applied = ledger_records(operation->ledger);
    for (size_t i = 0; i < operation->applied.count; i++) {
        const struct record *record = operation->applied.items[i];

        if (record->uid && operation_resource_of(operation, record))
            strmap_put(&operation->applied_uids, record->uid, operation);
    }
}

/* DONE when every apply step has ended. A parked one has not, even if it releases its dependents.
 */
static enum walk_verdict visit_barrier(struct operation *operation, struct walk_visit *visit)
{
    const struct steps *steps = operation->steps;
    enum walk_verdict verdict = WALK_DONE;

    pthread_mutex_lock(&operation->lock);
    for (uint32_t i = 0; i < operation->plan->n_changes; i++) {
        enum walk_outcome outcome = steps->apply[i] == STEP_NONE
                                        ? WALK_OUTCOME_DONE
                                        : walk_outcome(operation->walk, steps->apply[i]);

        if (outcome == WALK_OUTCOME_NONE && verdict == WALK_DONE)
            verdict = WALK_PARKED;
        else if (outcome != WALK_OUTCOME_NONE && outcome != WALK_OUTCOME_DONE)
            verdict = WALK_FAILED;
    }
    pthread_mutex_unlock(&operation->lock);
    if (verdict == WALK_DONE)
        list_applied(operation);
    visit->retry_after = CLOCK_FOREVER;
    return verdict;
}

void operation_wake_waiting(struct operation *operation, uint32_t step)
{
    const struct steps *steps = operation->steps;
    uint32_t change = steps->nodes[step].change;

    if (steps->barrier != STEP_NONE)
        walk_wake(operation->walk, steps->barrier);
    if (change != STEP_NONE && steps->delete[change] != STEP_NONE && steps->delete[change] != step)
        walk_wake(operation->walk, steps->delete[change]);
}

/* ---- Visits ---- */

/* Whether the step is the last one of its change: a replacement has two. */
static bool is_last_half(const struct node *node, uint32_t step)
{
    const struct steps *steps = node->operation->steps;
    uint32_t apply = steps->apply[node->index], delete = steps->delete[node->index];
    bool create_first = operation_change(node)->create_first;

    return step == delete ? apply == STEP_NONE || create_first
                          : delete == STEP_NONE || !create_first;
}

static bool is_other_half_ended(const struct node *node, uint32_t step)
{
    const struct steps *steps = node->operation->steps;
    uint32_t apply = steps->apply[node->index], delete = steps->delete[node->index];
    uint32_t other = step == delete ? apply : delete;

    return other == STEP_NONE || walk_outcome(node->operation->walk, other) != WALK_OUTCOME_NONE;
}

/* DONE: the step may begin. Where the new object is created first, the old one is deleted only when
 * the new one is ready. */
static enum walk_verdict wait_for_other_half(const struct node *node, const struct step_node *step)
{
    const struct operation *operation = node->operation;
    uint32_t apply = operation->steps->apply[node->index];
    enum walk_outcome outcome;

    if (step->kind != STEP_DELETE || apply == STEP_NONE || !operation_change(node)->create_first)
        return WALK_DONE;
    outcome = walk_outcome(operation->walk, apply);
    if (outcome == WALK_OUTCOME_NONE)
        return WALK_PARKED;
    return outcome == WALK_OUTCOME_DONE ? WALK_DONE : WALK_FAILED;
}

static void set_visit_result(struct node *node, struct walk_visit *visit, enum walk_verdict verdict,
                             const struct error *error)
{
    struct operation *operation = node->operation;
    enum node_phase phase = node->phases[operation->steps->nodes[visit->node].kind];

    node->releases_dependents = verdict == WALK_PARKED && visit->releases_dependents;
    if (verdict == WALK_PARKED)
        operation_wait_result(operation, node->index, error);
    else if (verdict == WALK_FAILED)
        operation_end_result(operation, node->index,
                             phase == NODE_DEFERRED    ? RESULT_DEFERRED
                             : phase == NODE_TIMED_OUT ? RESULT_TIMED_OUT
                                                       : RESULT_FAILED,
                             error);
    else if (is_last_half(node, visit->node))
        operation_end_result(operation, node->index, RESULT_SUCCEEDED, NULL);
}

/* has_changed: this visit changed something in the world. */
static bool makes_progress(const struct node *node, const struct walk_visit *visit,
                           enum walk_verdict verdict, bool has_changed)
{
    const struct operation *operation = node->operation;
    bool is_as_it_was = operation_change(node)->action == PLAN_UNCHANGED;

    if (is_as_it_was && operation->continues && !visit->count)
        return false;
    return verdict != WALK_PARKED || (has_changed && !is_as_it_was);
}

/* Frees what an ended resource no longer needs. The object that was read stays if other resources
 * may refer to it. */
static void trim_node(struct node *node)
{
    struct operation *operation = node->operation;
    struct plan_change *change = operation_change(node);
    const struct graph *graph = operation->graph;

    plan_step_free(TAKE(change->step));
    plan_step_free(TAKE(change->removal));
    plan_step_free(TAKE(node->step));
    plan_step_free(TAKE(node->removal));
    if (graph->dependent_start[node->index] < graph->dependent_start[node->index + 1])
        return;
    pthread_mutex_lock(&operation->lock);
    value_assign(&node->attributes, NULL);
    value_assign(&node->extensions, NULL);
    pthread_mutex_unlock(&operation->lock);
    operation_set_live(node, NULL);
}

enum walk_verdict operation_step_visit(struct operation *operation, struct walk_visit *visit,
                                       bool *ret_is_progress)
{
    const struct step_node *step = &operation->steps->nodes[visit->node];
    struct slot large = operation_slot(operation);
    enum walk_verdict verdict;
    struct error error = {0};
    struct node *node;
    bool was_changed;

    *ret_is_progress = false;
    if (step->kind == STEP_BARRIER)
        return visit_barrier(operation, visit);
    node = &operation->nodes[step->change];
    visit->retry_after = CLOCK_FOREVER;
    verdict = wait_for_other_half(node, step);
    if (verdict != WALK_DONE)
        return verdict;
    visit->retry_after = 0;
    was_changed = node_is_applied(node, step->kind);
    pthread_mutex_lock(&operation->lock);
    operation_start_result(operation, step->change);
    pthread_mutex_unlock(&operation->lock);
    node->large = &large;
    verdict = step->kind == STEP_APPLY ? operation_apply_step(node, visit, &error)
                                       : operation_delete_step(node, visit, &error);
    operation_redact(node, &error);
    slot_give_back(&large);
    node->large = NULL;
    *ret_is_progress =
        makes_progress(node, visit, verdict, !was_changed && node_is_applied(node, step->kind));
    if (verdict != WALK_PARKED)
        operation_unsubscribe(node);
    if (verdict != WALK_PARKED && is_other_half_ended(node, visit->node))
        trim_node(node);
    pthread_mutex_lock(&operation->lock);
    set_visit_result(node, visit, verdict, &error);
    pthread_mutex_unlock(&operation->lock);
    return verdict;
}
