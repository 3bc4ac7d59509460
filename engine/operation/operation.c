#include "engine/operation/operation.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/operation/carrying/carrying.h"
#include "engine/operation/carrying/health_checks.h"
#include "engine/operation/planning/planning.h"
#include "engine/operation/records.h"
#include "engine/operation/results.h"
#include "engine/operation/secrets.h"
#include "engine/threads/condition.h"
#include "engine/threads/locked.h"

/* ---- Making and freeing ---- */

static const char *copy_string(struct operation *operation, const char *s)
{
    return arena_str(&operation->arena, s);
}

static void copy_scope(struct operation *operation, const struct runtime_scope *from)
{
    struct runtime_scope *to = &operation->config.scope;

    to->key.namespace_name = copy_string(operation, from->key.namespace_name);
    to->key.name = copy_string(operation, from->key.name);
    to->spec_uid = copy_string(operation, from->spec_uid);
    to->identity = value_ref(from->identity);
    to->connection = value_ref(from->connection);
    to->context = value_ref(from->context);
    to->existing = value_ref(from->existing);
    object_policy_ref(&to->objects);
}

static void free_nodes(struct operation *operation)
{
    for (size_t i = 0; operation->nodes && i < operation->plan->n_changes; i++) {
        struct node *node = &operation->nodes[i];

        operation_unsubscribe(node);
        plan_step_free(node->step);
        plan_step_free(node->removal);
        free(node->lost);
        observation_done(&node->hint);
        value_unref(node->attributes);
        value_unref(node->extensions);
        value_unref(node->seen);
        value_unref(node->recorded);
        value_unref(node->former);
    }
    free(operation->nodes);
}

/* When the owner and the last visit under way have released it. */
static void destroy_operation(void *arg)
{
    struct operation *operation = arg;

    free_nodes(operation);
    operation_free_health_checks(operation);
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
    strmap_done(&operation->outputs);
    operation_free_secrets(operation);
    strmap_done(&operation->moved);
    ledger_records_done(&operation->applied);
    plan_free(operation->plan);
    spec_free(operation->spec);
    ledger_records_done(&operation->records);
    operation_free_bindings(operation);
    operation_unref_followings(operation);
    ledger_unref(operation->ledger);
    value_unref(operation->config.extensions);
    value_unref(operation->config.scope.identity);
    value_unref(operation->config.scope.connection);
    value_unref(operation->config.scope.context);
    value_unref(operation->config.scope.existing);
    object_policy_done(&operation->config.scope.objects);
    approved_plan_unref(operation->config.approved);
    if (operation->errand.free)
        operation->errand.free(operation->errand.arg);
    cancel_free(operation->cancel);
    arena_done(&operation->arena);
    pthread_cond_destroy(&operation->changed);
    pthread_mutex_destroy(&operation->shown_lock);
    pthread_mutex_destroy(&operation->lock);
    free(operation);
}

int operation_new(const struct operation_config *config, struct operation **ret,
                  struct error *error)
{
    struct ledger_opening opening = {.key = config->scope.key,
                                     .spec_uid = config->scope.spec_uid,
                                     .spec_created_at = config->spec_created_at,
                                     .epoch = config->epoch,
                                     .cancel = config->cancel};
    struct ledger *ledger = NULL;
    struct operation *operation;
    int r = ledger_open(config->ledgers, &opening, &ledger, error);

    if (r < 0)
        return r;
    operation = NEW(struct operation);
    operation->config = *config;
    arena_init(&operation->arena);
    copy_scope(operation, &config->scope);
    if (config->digest_key.length) /* a copy: visits under way outlive the owner */
        operation->config.digest_key.data =
            memcpy(arena_alloc(&operation->arena, config->digest_key.length),
                   config->digest_key.data, config->digest_key.length);
    operation->config.approved = approved_plan_ref(config->approved);
    operation->config.extensions = value_ref(config->extensions);
    operation->config.scope.is_inherited = ledger_is_inherited(ledger);
    operation->config.cancel = NULL;
    operation_ref_followings(operation, config->followings);
    operation->ledger = ledger;
    operation->cancel = cancel_new(NULL);
    operation->waits_for = operation->fails = STEP_NONE;
    operation->n_measured = SIZE_MAX;
    pthread_mutex_init(&operation->lock, NULL);
    pthread_mutex_init(&operation->shown_lock, NULL);
    condition_init(&operation->changed);
    operation->bindings = NEW_ARRAY(struct binding, config->n_runtimes + 1);
    for (size_t i = 0; i < config->n_runtimes; i++)
        operation->bindings[i].runtime = config->runtimes[i];
    operation->task =
        task_new(config->executor, &operation->config.scope.key, operation_run, operation);
    *ret = operation;
    return 0;
}

void operation_set_context(struct operation *operation, const struct value *context,
                           const struct error *why_not)
{
    struct runtime_scope *scope = &operation->config.scope;

    value_assign(&scope->context, context);
    scope->context_error = (struct error){0};
    err_copy(&scope->context_error, why_not);
}

void operation_take_over(struct operation *operation, const struct value *existing,
                         const struct error *why_not)
{
    struct runtime_scope *scope = &operation->config.scope;

    value_assign(&scope->existing, existing);
    scope->existing_error = (struct error){0};
    err_copy(&scope->existing_error, why_not);
}

void operation_free(struct operation *operation)
{
    if (!operation)
        return;
    pthread_mutex_lock(&operation->lock);
    operation->config.on_change = NULL; /* the owner is not notified any more */
    operation->config.on_park = NULL;
    operation->config.reserve = NULL;
    pthread_mutex_unlock(&operation->lock);
    operation_cancel(operation, "Abandoned");
    task_drop(operation->task, destroy_operation, operation);
}

struct ledger *operation_ledger(struct operation *operation)
{
    return operation->ledger;
}

/* ---- For its owner ---- */

void operation_send(struct operation *operation, const struct operation_errand *errand)
{
    pthread_mutex_lock(&operation->lock);
    if (operation->errand.free)
        operation->errand.free(operation->errand.arg);
    operation->errand = *errand;
    operation->errand_is_due = true;
    pthread_mutex_unlock(&operation->lock);
    task_poke(operation->task);
}

void operation_plan(struct operation *operation, struct spec *spec)
{
    struct error error = {0};
    int r;

    operation->spec = spec;
    operation->records = ledger_records(operation->ledger);
    operation->active_at = operation->progressed_at = operation_now(operation);
    operation_list_changes(operation);
    operation_list_outputs(operation);
    r = operation_relate(operation, &error);
    pthread_mutex_lock(&operation->lock);
    operation->held = operation_measure(operation);
    if (operation->phase == OPERATION_NEW && r < 0) {
        operation_end_planning(operation, &error);
    } else if (operation->phase == OPERATION_NEW) {
        operation->stage = STAGE_PREFETCHING;
        operation_set_phase(operation, OPERATION_PLANNING);
    }
    pthread_mutex_unlock(&operation->lock);
    task_poke(operation->task);
}

const struct plan *operation_get_plan(struct operation *operation)
{
    LOCKED(&operation->lock);

    return operation->is_planned ? operation->plan : NULL;
}

void operation_apply(struct operation *operation, const struct operation_apply *how)
{
    int64_t lost = operation_time_lost(operation, how->revision);
    bool was_done = operation_was_done(operation, how->revision);

    pthread_mutex_lock(&operation->lock);
    if (operation->is_planned && !operation->error.code && operation->phase == OPERATION_PLANNED) {
        operation->how = *how;
        operation->n_begun = 0;
        operation->active_at = operation_now(operation);
        operation->continues = lost >= 0;
        operation->counts_earlier = !how->anew && (operation->continues || was_done);
        operation_init_results(operation);
        operation->excused = 0;
        operation->progressed_at = operation->active_at - (lost > 0 ? lost : 0);
        operation->stage = STAGE_BEGINNING;
        operation_set_phase(operation, OPERATION_RUNNING);
    }
    pthread_mutex_unlock(&operation->lock);
    task_poke(operation->task);
}

/* The plan and the results stay, to be shown. */
void operation_cancel(struct operation *operation, const char *reason)
{
    struct error error = {0};

    cancel_fire(operation->cancel, reason);
    LOCKED(&operation->lock);
    if (operation->phase != OPERATION_ENDED) {
        err_set(&error, ERR_CANCELLED, "Cancelled", "%s", reason);
        if (operation->walk)
            walk_stop(operation->walk, false);
        operation_abandon_results(operation, &error);
        operation_end(operation, &error);
    }
    pthread_cond_broadcast(&operation->changed); /* visits that wait for another thread's call */
}

enum operation_phase operation_phase(struct operation *operation)
{
    LOCKED(&operation->lock);

    return operation->phase;
}

bool operation_has_begun(struct operation *operation)
{
    LOCKED(&operation->lock);

    return operation->phase >= OPERATION_RUNNING && operation->stage != STAGE_BEGINNING;
}

enum operation_phase operation_wait(struct operation *operation)
{
    const struct clock_source *clock = operation->config.clock;
    enum operation_phase phase;
    LOCKED(&operation->lock);

    while (operation->phase == OPERATION_PLANNING || operation->phase == OPERATION_RUNNING ||
           operation->phase == OPERATION_PARKED)
        clock->wait(clock, &operation->changed, &operation->lock, CLOCK_FOREVER);
    phase = operation->phase;
    return phase;
}

int operation_error(struct operation *operation, struct error *error)
{
    LOCKED(&operation->lock);

    return err_copy(error, &operation->error);
}
