/* How an operation runs, piece by piece: its phases and stages, and the walk of each stage. */
#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/operation/carrying/carrying.h"
#include "engine/operation/carrying/health_checks.h"
#include "engine/operation/planning/planning.h"
#include "engine/operation/records.h"
#include "engine/operation/results.h"
#include "engine/threads/locked.h"

/* ---- Phases. All with the lock held. ---- */

/* ms after which a call that hangs holds back no kinds of higher rank. */
#define RANK_PATIENCE 2000
/* What a parked operation holds is measured again when one part in so many of it has ended. */
#define MEASURED_PARTS 64

/* Where thousands of resources become ready one by one, not each of them has all measured again. */
static bool is_to_be_measured(const struct operation *operation)
{
    return operation->n_measured == SIZE_MAX ||
           operation->n_ended - operation->n_measured > operation->plan->n_changes / MEASURED_PARTS;
}

static void notify_parking(struct operation *operation, bool is_parked)
{
    if (is_parked && is_to_be_measured(operation)) {
        operation->memory = operation_measure(operation);
        operation->n_measured = operation->n_ended;
    }
    if (operation->config.on_park)
        operation->config.on_park(operation->config.arg, is_parked ? operation->memory : 0);
}

void operation_set_phase(struct operation *operation, enum operation_phase phase)
{
    bool was_parked = operation->phase == OPERATION_PARKED;

    if (operation->phase == phase)
        return;
    operation->phase = phase;
    if (was_parked || phase == OPERATION_PARKED)
        notify_parking(operation, !was_parked);
    pthread_cond_broadcast(&operation->changed);
    if ((phase == OPERATION_PLANNED || phase == OPERATION_ENDED) && operation->config.on_change)
        operation->config.on_change(operation->config.arg);
}

void operation_end_planning(struct operation *operation, const struct error *error)
{
    operation->stage = STAGE_IDLE;
    operation->is_planned = !error->code || operation->stale.code || operation->guarded.code;
    err_copy(&operation->error, error);
    operation_set_phase(operation, OPERATION_PLANNED);
}

void operation_end(struct operation *operation, const struct error *error)
{
    operation->stage = STAGE_IDLE;
    err_clear(&operation->error);
    err_copy(&operation->error, error);
    operation_set_phase(operation, OPERATION_ENDED);
}

/* ---- The walk of a stage ---- */

const char *operation_change_name(void *arg, uint32_t change)
{
    const struct plan *plan = arg;

    return plan->changes[change].id;
}

/* steps NULL: the graph's nodes are the plan's changes. */
static void begin_walk(struct operation *operation, const struct graph *graph,
                       const struct steps *steps)
{
    struct walk_config config = {.graph = graph,
                                 .parallelism = operation->config.parallelism,
                                 .patience = RANK_PATIENCE,
                                 .n_groups = (uint16_t)operation->config.n_runtimes,
                                 .arg = operation};
    uint16_t *groups = NEW_ARRAY(uint16_t, (size_t)graph->n_nodes + 1);
    struct walk *walk;

    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        uint32_t change = steps ? steps->nodes[i].change : i;
        const struct binding *binding =
            change == STEP_NONE ? NULL : operation->nodes[change].binding;

        if (binding)
            groups[i] = (uint16_t)(binding - operation->bindings);
    }
    config.groups = groups;
    config.on_end = steps ? operation_end_step : NULL;
    walk = walk_new(&config);
    LOCKED(&operation->lock);
    walk_free(operation->walk);
    free(operation->groups);
    operation->walk = walk;
    operation->groups = groups;
}

static int begin_planning_walk(struct operation *operation, struct error *error)
{
    uint32_t n = (uint32_t)operation->plan->n_changes;
    _cleanup_free_ uint16_t *ranks = NEW_ARRAY(uint16_t, (size_t)n + 1);
    int r;

    for (uint32_t i = 0; i < n; i++)
        ranks[i] = operation->step_changes[i].rank;
    r = graph_new(n, operation->planned.items, operation->planned.count, ranks,
                  operation_change_name, operation->plan, &operation->graph, error);
    if (r >= 0)
        begin_walk(operation, operation->graph, NULL);
    return r;
}

/* ---- Pieces of work ---- */

static const struct task_answer RAN = {.ran = true};

static void begin_planning(struct operation *operation)
{
    struct error error = {0};

    pthread_mutex_unlock(&operation->lock);
    begin_planning_walk(operation, &error);
    pthread_mutex_lock(&operation->lock);
    if (operation->phase == OPERATION_ENDED)
        return;
    if (error.code)
        operation_end_planning(operation, &error);
    else
        operation->stage = STAGE_PLANNING;
}

/* One runtime's prefetch is a piece of work; the last one to end begins the walk. */
static struct task_answer prefetch_one(struct operation *operation)
{
    size_t n = operation->config.n_runtimes;

    if (operation->n_begun < n) {
        struct binding *binding = &operation->bindings[operation->n_begun++];

        pthread_mutex_unlock(&operation->lock);
        operation_prefetch(operation, binding);
        pthread_mutex_lock(&operation->lock);
        operation->n_done++;
    } else if (operation->n_begun == n && operation->n_done == n) {
        operation->n_begun++;
        begin_planning(operation);
    } else {
        return (struct task_answer){.due = CLOCK_FOREVER};
    }
    return RAN;
}

static struct task_answer begin_carrying_out(struct operation *operation)
{
    struct error error = {0};

    if (operation->n_begun++)
        return (struct task_answer){.due = CLOCK_FOREVER};
    pthread_mutex_unlock(&operation->lock);
    if (operation_record_intents(operation, &error) >= 0)
        begin_walk(operation, operation->steps->graph, operation->steps);
    pthread_mutex_lock(&operation->lock);
    if (operation->phase == OPERATION_ENDED)
        return RAN;
    if (error.code) {
        operation_abandon_results(operation, &error);
        operation_end(operation, &error);
        return RAN;
    }
    operation->stage = STAGE_CARRYING_OUT;
    operation->active_at = operation_now(operation);
    if (!operation->continues)
        operation->progressed_at = operation->active_at;
    return RAN;
}

/* ---- Visits ---- */

/* All steps have ended: saves State. The error stands for all that failed. */
static int conclude(struct operation *operation, struct error *error)
{
    const struct error *stale = &operation->stale;
    struct error save_error = {0};
    int r;

    pthread_mutex_lock(&operation->lock);
    r = operation_results_error(&operation->results, operation->spec ? "apply" : "destroy", error);
    if (r >= 0)
        r = operation_health_checks_error(operation, error);
    if (stale->code) /* whatever else failed: this is why it came to its end */
        r = err_set(error, stale->code, stale->reason, "the approved plan is stale: %s",
                    stale->message);
    else if (operation->exceeded.code)
        r = err_copy(error, &operation->exceeded);
    pthread_mutex_unlock(&operation->lock);
    if (r >= 0 && !operation->spec && !operation->config.keeps_state)
        return ledger_remove(operation->ledger, error);
    if (stale->code)
        operation_drop_intents(operation);
    operation_set_head(operation, r >= 0 ? AT_SUCCESS : AT_END);
    if (ledger_flush(operation->ledger, &save_error) >= 0)
        return r;
    return err_copy(error, &save_error);
}

/* The walk of a stage is over: every node has ended. */
static void conclude_walk(struct operation *operation)
{
    enum stage stage = operation->stage, next = STAGE_IDLE;
    struct error error = {0};

    operation->stage = STAGE_IDLE;
    pthread_mutex_unlock(&operation->lock);
    if (stage == STAGE_PLANNING)
        operation_conclude_plan(operation, &error);
    else if (stage == STAGE_CARRYING_OUT && operation_begin_health_checks(operation))
        next = STAGE_CHECKING;
    else
        conclude(operation, &error);
    pthread_mutex_lock(&operation->lock);
    if (operation->phase == OPERATION_ENDED)
        return;
    if (next != STAGE_IDLE) {
        operation->stage = next;
    } else if (stage == STAGE_PLANNING) {
        walk_free(TAKE(operation->walk)); /* the next one is over the steps */
        operation_end_planning(operation, &error);
    } else {
        operation_end(operation, &error);
    }
}

/* A call with a limit of its own may take longer than the operation has: it does not count as time
 * without progress. Only the longest one is excused, so that calls which fail again and again run
 * out of time all the same. */
static void excuse_long_call(struct operation *operation, int64_t took, bool is_progress)
{
    if (is_progress)
        operation->excused = 0;
    else if (took >= operation->config.timeout + EXECUTOR_LONG_RUN && took > operation->excused)
        operation->excused = took;
}

static void run_visit(struct operation *operation, struct walk_visit *at, enum stage stage)
{
    uint32_t change = stage == STAGE_PLANNING ? at->node : operation->steps->nodes[at->node].change;
    struct node *node = change == STEP_NONE ? NULL : &operation->nodes[change];
    int64_t begun = operation_now(operation), now;
    enum walk_verdict verdict;
    bool was_ended, is_progress;

    if (stage == STAGE_CARRYING_OUT)
        operation_set_phase(operation, OPERATION_RUNNING);
    if (node)
        node->visited_at = begun;
    pthread_mutex_unlock(&operation->lock);
    if (stage == STAGE_CARRYING_OUT) {
        verdict = operation_step_visit(operation, at, &is_progress);
    } else {
        verdict = operation_plan_visit(operation, at);
        is_progress = verdict != WALK_PARKED;
    }
    now = operation_now(operation);
    if (is_progress && stage == STAGE_CARRYING_OUT)
        ledger_progress(operation->ledger);
    pthread_mutex_lock(&operation->lock);
    if (node)
        node->visited_at = 0;
    was_ended = operation->phase == OPERATION_ENDED;
    if (is_progress)
        operation->progressed_at = now;
    excuse_long_call(operation, now - begun, is_progress);
    if (is_progress || verdict != WALK_PARKED)
        operation->active_at = now;
    walk_end_visit(operation->walk, at, verdict, now);
    if (stage == STAGE_CARRYING_OUT && verdict != WALK_PARKED)
        operation_wake_waiting(operation, at->node);
    if (was_ended && operation->config.on_landed) {
        pthread_mutex_unlock(&operation->lock);
        operation->config.on_landed(operation->config.landed_arg, &operation->config.scope.key);
        pthread_mutex_lock(&operation->lock);
    }
}

/* Nothing is under way: waits until a node is due, or until the operation is out of time. */
static struct task_answer wait_for_world(struct operation *operation, int64_t due)
{
    int64_t deadline = operation->progressed_at + operation->excused + operation->config.timeout;

    if (operation_now(operation) >= deadline) {
        walk_stop(operation->walk, true);
        return RAN;
    }
    if (operation->stage != STAGE_PLANNING)
        operation_set_phase(operation, OPERATION_PARKED);
    return (struct task_answer){.due = due < deadline ? due : deadline};
}

static struct task_answer take_next_visit(struct operation *operation)
{
    struct walk_visit visit;
    int64_t due = CLOCK_FOREVER;

    switch (walk_next(operation->walk, operation_now(operation), &visit, &due)) {
    case WALK_VISIT:
        if (operation->stage == STAGE_CHECKING)
            operation_visit_health_check(operation, &visit);
        else
            run_visit(operation, &visit, operation->stage);
        return RAN;
    case WALK_OVER:
        conclude_walk(operation);
        return RAN;
    case WALK_WAITING:
        return wait_for_world(operation, due);
    case WALK_BUSY:
        break;
    }
    return (struct task_answer){.due = due};
}

/* Under the lock, which is released meanwhile. */
static struct task_answer run_errand(struct operation *operation)
{
    const struct operation_errand *errand = &operation->errand;

    operation->errand_is_due = false;
    pthread_mutex_unlock(&operation->lock);
    errand->run(errand->arg, operation, operation->cancel);
    pthread_mutex_lock(&operation->lock);
    if (operation->config.on_change)
        operation->config.on_change(operation->config.arg);
    return RAN;
}

struct task_answer operation_run(void *arg)
{
    struct operation *operation = arg;
    struct task_answer answer = {.due = CLOCK_FOREVER};

    pthread_mutex_lock(&operation->lock);
    if (operation->errand_is_due) {
        answer = run_errand(operation);
        pthread_mutex_unlock(&operation->lock);
        return answer;
    }
    switch (operation->stage) {
    case STAGE_IDLE:
        break;
    case STAGE_PREFETCHING:
        answer = prefetch_one(operation);
        break;
    case STAGE_BEGINNING:
        answer = begin_carrying_out(operation);
        break;
    case STAGE_PLANNING:
    case STAGE_CARRYING_OUT:
    case STAGE_CHECKING:
        answer = take_next_visit(operation);
        break;
    }
    pthread_mutex_unlock(&operation->lock);
    return answer;
}
