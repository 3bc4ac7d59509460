#include "engine/operation/operation.h"

#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/operation/private.h"

/* ---- Making and freeing ---- */

static const char *copy(struct operation *operation, const char *s)
{
    return arena_str(&operation->arena, s);
}

static void copy_scope(struct operation *operation, const struct runtime_scope *from)
{
    struct runtime_scope *to = &operation->config.scope;

    to->key.namespace_name = copy(operation, from->key.namespace_name);
    to->key.name = copy(operation, from->key.name);
    to->spec_uid = copy(operation, from->spec_uid);
    to->identity = value_ref(from->identity);
    to->context = value_ref(from->context);
}

static void make_bindings(struct operation *operation)
{
    operation->bindings = NEW_ARRAY(struct binding, operation->config.n_runtimes + 1);
    for (size_t i = 0; i < operation->config.n_runtimes; i++) {
        operation->bindings[i].runtime = operation->config.runtimes[i];
        pthread_mutex_init(&operation->bindings[i].lock, NULL);
    }
}

static void free_bindings(struct operation *operation)
{
    for (size_t i = 0; i < operation->config.n_runtimes; i++) {
        struct binding *binding = &operation->bindings[i];

        if (binding->session)
            binding->runtime->ops->close(binding->session);
        free(binding->error);
        pthread_mutex_destroy(&binding->lock);
    }
    free(operation->bindings);
}

static void free_nodes(struct operation *operation)
{
    for (size_t i = 0; operation->nodes && i < operation->plan->n_changes; i++) {
        struct node *node = &operation->nodes[i];

        operation_unsubscribe(node);
        plan_step_free(node->step);
        plan_step_free(node->removal);
        observation_done(&node->hint);
        value_unref(node->attributes);
        value_unref(node->extensions);
        value_unref(node->live);
    }
    free(operation->nodes);
}

/* The last of: its owner, and the visits under way when that let go of it. */
static void destroy(void *arg)
{
    struct operation *operation = arg;

    free_nodes(operation);
    operation_clear_results(operation);
    walk_free(operation->walk);
    graph_free(operation->graph);
    steps_free(operation->steps);
    free(operation->groups);
    free(operation->step_changes);
    free(operation->planned.items);
    free(operation->recorded.items);
    free(operation->inside.items);
    strmap_done(&operation->applied_uids);
    ledger_records_done(&operation->applied);
    plan_free(operation->plan);
    spec_free(operation->spec);
    ledger_records_done(&operation->records);
    free_bindings(operation);
    ledger_unref(operation->ledger);
    value_unref(operation->config.scope.identity);
    value_unref(operation->config.scope.context);
    cancel_free(operation->cancel);
    arena_done(&operation->arena);
    pthread_cond_destroy(&operation->changed);
    pthread_mutex_destroy(&operation->lock);
    free(operation);
}

static struct task_answer run(void *arg);

int operation_new(const struct operation_config *config, struct operation **ret,
                  struct error *error)
{
    struct ledger_opening opening = {.key = config->scope.key,
                                     .spec_uid = config->scope.spec_uid,
                                     .epoch = config->epoch,
                                     .cancel = config->cancel};
    struct ledger *ledger = NULL;
    struct operation *operation;
    pthread_condattr_t attributes;
    int r = ledger_open(config->ledgers, &opening, &ledger, error);

    if (r < 0)
        return r;
    operation = NEW(struct operation);
    operation->config = *config;
    arena_init(&operation->arena);
    copy_scope(operation, &config->scope);
    operation->config.scope.is_inherited = ledger_is_inherited(ledger);
    operation->config.cancel = NULL;
    operation->ledger = ledger;
    operation->cancel = cancel_new(NULL);
    operation->waits_for = STEP_NONE;
    operation->n_measured = SIZE_MAX;
    pthread_mutex_init(&operation->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&operation->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    make_bindings(operation);
    operation->task = task_new(config->executor, &operation->config.scope.key, run, operation);
    *ret = operation;
    return 0;
}

void operation_free(struct operation *operation)
{
    if (!operation)
        return;
    pthread_mutex_lock(&operation->lock);
    operation->config.on_change = NULL; /* its owner knows */
    operation->config.on_park = NULL;
    pthread_mutex_unlock(&operation->lock);
    operation_cancel(operation, "Abandoned");
    task_drop(operation->task, destroy, operation);
}

struct ledger *operation_ledger(struct operation *operation)
{
    return operation->ledger;
}

/* ---- What the files of the folder share ---- */

int64_t operation_now(const struct operation *operation)
{
    return operation->config.clock->monotonic(operation->config.clock);
}

const char *operation_text(struct operation *operation, const char *format, ...)
{
    va_list args;
    const char *copy;

    va_start(args, format);
    _cleanup_free_ char *text = str_vprintf(format, args);
    va_end(args);
    pthread_mutex_lock(&operation->lock);
    copy = arena_str(&operation->plan->arena, text);
    pthread_mutex_unlock(&operation->lock);
    return copy;
}

/* What continues may have been late before it began: its calls have their time all the same. */
struct runtime_call operation_call(struct operation *operation)
{
    struct runtime_call call = {.cancel = operation->cancel, .permit = operation->config.permit};

    pthread_mutex_lock(&operation->lock);
    call.deadline = operation->active_at + operation->excused + operation->config.timeout;
    pthread_mutex_unlock(&operation->lock);
    return call;
}

const struct runtime_ops *operation_ops(const struct node *node)
{
    return node->binding->runtime->ops;
}

struct plan_change *operation_change(const struct node *node)
{
    return &node->operation->plan->changes[node->index];
}

static void open_session(struct operation *operation, struct binding *binding)
{
    struct runtime_call call = operation_call(operation);
    struct error error = {0};

    binding->was_tried = true;
    if (binding->runtime->ops->open(binding->runtime, &operation->config.scope, &call,
                                    &binding->session, &error) < 0)
        binding->error = err_new(&error);
}

int operation_session(struct operation *operation, const struct node *node,
                      struct runtime_session **ret, struct error *error)
{
    struct binding *binding = node->binding;
    int r = 0;

    if (!binding)
        return err_set(error, ERR_UNSUPPORTED, "Unsupported",
                       "there is no runtime for the type \"%s\"",
                       operation->plan->changes[node->index].type);
    pthread_mutex_lock(&binding->lock);
    if (!binding->was_tried)
        open_session(operation, binding);
    if (binding->session)
        *ret = binding->session;
    else
        r = err_copy(error, binding->error);
    pthread_mutex_unlock(&binding->lock);
    return r;
}

/* ---- Phases. All with the lock held. ---- */

static void tell_of_parking(struct operation *operation, bool is_parked)
{
    if (is_parked && operation->n_measured != operation->n_ended) {
        operation->memory = operation_measure(operation);
        operation->n_measured = operation->n_ended;
    }
    if (operation->config.on_park)
        operation->config.on_park(operation->config.arg, is_parked ? operation->memory : 0);
}

static void set_phase(struct operation *operation, enum operation_phase phase)
{
    bool was_parked = operation->phase == OPERATION_PARKED;

    if (operation->phase == phase)
        return;
    operation->phase = phase;
    if (was_parked || phase == OPERATION_PARKED)
        tell_of_parking(operation, !was_parked);
    pthread_cond_broadcast(&operation->changed);
    if ((phase == OPERATION_PLANNED || phase == OPERATION_ENDED) && operation->config.on_change)
        operation->config.on_change(operation->config.arg);
}

static void end_planning(struct operation *operation, const struct error *error)
{
    operation->stage = STAGE_IDLE;
    operation->is_planned = !error->code;
    if (error->code)
        err_copy(&operation->error, error);
    set_phase(operation, OPERATION_PLANNED);
}

static void end(struct operation *operation, const struct error *error)
{
    operation->stage = STAGE_IDLE;
    err_clear(&operation->error);
    if (error->code)
        err_copy(&operation->error, error);
    set_phase(operation, OPERATION_ENDED);
}

/* ---- Pieces of work ---- */

static const struct task_answer RAN = {.ran = true};

static void begin_planning(struct operation *operation)
{
    struct error error = {0};

    pthread_mutex_unlock(&operation->lock);
    operation_begin_planning(operation, &error);
    pthread_mutex_lock(&operation->lock);
    if (operation->phase == OPERATION_ENDED)
        return;
    if (error.code)
        end_planning(operation, &error);
    else
        operation->stage = STAGE_PLANNING;
}

/* Each runtime's look at all of its targets is a piece; the last one begins the walk. */
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
    operation_record_intents(operation, &error);
    pthread_mutex_lock(&operation->lock);
    if (operation->phase == OPERATION_ENDED)
        return RAN;
    if (error.code) {
        operation_abandon_results(operation, &error);
        end(operation, &error);
        return RAN;
    }
    operation->stage = STAGE_CARRYING_OUT;
    operation->active_at = operation_now(operation);
    if (!operation->continues)
        operation->progressed_at = operation->active_at;
    return RAN;
}

/* ---- Walks ---- */

/* All is done, or nothing more can be. */
static void conclude(struct operation *operation)
{
    enum stage stage = operation->stage;
    struct error error = {0};

    operation->stage = STAGE_IDLE;
    pthread_mutex_unlock(&operation->lock);
    if (stage == STAGE_PLANNING)
        operation_conclude_plan(operation, &error);
    else
        operation_conclude(operation, &error);
    pthread_mutex_lock(&operation->lock);
    if (operation->phase == OPERATION_ENDED)
        return;
    if (stage == STAGE_PLANNING) {
        walk_free(TAKE(operation->walk)); /* the next one is over the steps */
        end_planning(operation, &error);
    } else {
        end(operation, &error);
    }
}

static enum walk_verdict visit(struct operation *operation, struct walk_visit *visit,
                               enum stage stage, bool *ret_is_progress)
{
    enum walk_verdict verdict;

    if (stage == STAGE_CARRYING_OUT)
        return operation_step_visit(operation, visit, ret_is_progress);
    verdict = operation_plan_visit(operation, visit);
    *ret_is_progress = verdict != WALK_PARKED;
    return verdict;
}

/* A call that took long does not count as time without progress: the longest one, so that calls
 * that fail again and again come to an end all the same. */
static void excuse(struct operation *operation, int64_t took, bool is_progress)
{
    if (is_progress)
        operation->excused = 0;
    else if (took >= EXECUTOR_LONG_RUN && took > operation->excused)
        operation->excused = took;
}

static void run_visit(struct operation *operation, struct walk_visit *at, enum stage stage)
{
    int64_t begun = operation_now(operation), now;
    enum walk_verdict verdict;
    bool was_ended, is_progress;

    if (stage == STAGE_CARRYING_OUT)
        set_phase(operation, OPERATION_RUNNING);
    pthread_mutex_unlock(&operation->lock);
    verdict = visit(operation, at, stage, &is_progress);
    now = operation_now(operation);
    if (is_progress && stage == STAGE_CARRYING_OUT)
        ledger_progress(operation->ledger);
    pthread_mutex_lock(&operation->lock);
    was_ended = operation->phase == OPERATION_ENDED;
    if (is_progress)
        operation->progressed_at = now;
    excuse(operation, now - begun, is_progress);
    if (is_progress || verdict != WALK_PARKED)
        operation->active_at = now;
    walk_end_visit(operation->walk, at, verdict, now);
    if (stage == STAGE_CARRYING_OUT && verdict != WALK_PARKED)
        operation_wake_waiting(operation, at->node);
    if (was_ended && operation->config.on_landed)
        operation->config.on_landed(operation->config.landed_arg, &operation->config.scope.key);
}

/* Nothing is under way. The operation's time counts from its last progress. */
static struct task_answer wait_for_world(struct operation *operation, int64_t due)
{
    int64_t deadline = operation->progressed_at + operation->excused + operation->config.timeout;

    if (operation_now(operation) >= deadline) {
        walk_stop(operation->walk, true);
        return RAN;
    }
    if (operation->stage == STAGE_CARRYING_OUT)
        set_phase(operation, OPERATION_PARKED);
    return (struct task_answer){.due = due < deadline ? due : deadline};
}

static struct task_answer walk_on(struct operation *operation)
{
    struct walk_visit visit;
    int64_t due = CLOCK_FOREVER;

    switch (walk_next(operation->walk, operation_now(operation), &visit, &due)) {
    case WALK_VISIT:
        run_visit(operation, &visit, operation->stage);
        return RAN;
    case WALK_OVER:
        conclude(operation);
        return RAN;
    case WALK_WAITING:
        return wait_for_world(operation, due);
    case WALK_BUSY:
        break;
    }
    return (struct task_answer){.due = due};
}

static struct task_answer run(void *arg)
{
    struct operation *operation = arg;
    struct task_answer answer = {.due = CLOCK_FOREVER};

    pthread_mutex_lock(&operation->lock);
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
        answer = walk_on(operation);
        break;
    }
    pthread_mutex_unlock(&operation->lock);
    return answer;
}

/* ---- For its owner ---- */

void operation_plan(struct operation *operation, struct spec *spec)
{
    struct error error = {0};
    int r;

    operation->spec = spec;
    operation->records = ledger_records(operation->ledger);
    operation->active_at = operation->progressed_at = operation_now(operation);
    operation_list_changes(operation);
    r = operation_relate(operation, &error);
    pthread_mutex_lock(&operation->lock);
    if (operation->phase == OPERATION_NEW && r < 0) {
        end_planning(operation, &error);
    } else if (operation->phase == OPERATION_NEW) {
        operation->stage = STAGE_PREFETCHING;
        set_phase(operation, OPERATION_PLANNING);
    }
    pthread_mutex_unlock(&operation->lock);
    task_poke(operation->task);
}

const struct plan *operation_get_plan(struct operation *operation)
{
    const struct plan *plan;

    pthread_mutex_lock(&operation->lock);
    plan = operation->is_planned ? operation->plan : NULL;
    pthread_mutex_unlock(&operation->lock);
    return plan;
}

void operation_apply(struct operation *operation, const struct operation_apply *how)
{
    int64_t lost = operation_time_lost(operation, how->revision);

    pthread_mutex_lock(&operation->lock);
    if (operation->is_planned && operation->phase == OPERATION_PLANNED) {
        operation->how = *how;
        operation_init_results(operation);
        operation->n_begun = 0;
        operation->active_at = operation_now(operation);
        operation->continues = lost >= 0;
        operation->excused = 0;
        operation->progressed_at = operation->active_at - (lost > 0 ? lost : 0);
        operation->stage = STAGE_BEGINNING;
        set_phase(operation, OPERATION_RUNNING);
    }
    pthread_mutex_unlock(&operation->lock);
    task_poke(operation->task);
}

/* What was planned stays to be looked at; what was carried out, too. */
void operation_cancel(struct operation *operation, const char *reason)
{
    struct error error = {0};

    cancel_fire(operation->cancel, reason);
    pthread_mutex_lock(&operation->lock);
    if (operation->phase != OPERATION_ENDED) {
        err_set(&error, ERR_CANCELLED, "Cancelled", "%s", reason);
        if (operation->walk)
            walk_stop(operation->walk, false);
        operation_abandon_results(operation, &error);
        end(operation, &error);
    }
    pthread_mutex_unlock(&operation->lock);
}

enum operation_phase operation_phase(struct operation *operation)
{
    enum operation_phase phase;

    pthread_mutex_lock(&operation->lock);
    phase = operation->phase;
    pthread_mutex_unlock(&operation->lock);
    return phase;
}

enum operation_phase operation_wait(struct operation *operation)
{
    const struct clock_source *clock = operation->config.clock;
    enum operation_phase phase;

    pthread_mutex_lock(&operation->lock);
    while (operation->phase == OPERATION_PLANNING || operation->phase == OPERATION_RUNNING ||
           operation->phase == OPERATION_PARKED)
        clock->wait(clock, &operation->changed, &operation->lock, CLOCK_FOREVER);
    phase = operation->phase;
    pthread_mutex_unlock(&operation->lock);
    return phase;
}

int operation_error(struct operation *operation, struct error *error)
{
    int r = 0;

    pthread_mutex_lock(&operation->lock);
    if (operation->error.code)
        r = err_copy(error, &operation->error);
    pthread_mutex_unlock(&operation->lock);
    return r;
}
