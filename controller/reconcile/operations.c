#include "controller/reconcile/operations_private.h"

#include "controller/reconcile/api.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"

/* ---- Lifetime ---- */

struct operations *operations_new(const struct operations_config *config)
{
    struct operations *operations = NEW(struct operations);

    operations->config = *config;
    pthread_mutex_init(&operations->lock, NULL);
    pthread_mutex_init(&operations->landed_lock, NULL);
    budget_init(&operations->budget, &(struct budget_config){.bytes = config->memory,
                                                             .clock = config->clock,
                                                             .wake = config->enqueue,
                                                             .arg = config->arg});
    strmap_init(&operations->attempts);
    strmap_init(&operations->listed);
    strmap_init(&operations->previews);
    strmap_init(&operations->landed);
    return operations;
}

/* ---- One attempt ---- */

static struct attempt *attempt_new(struct operations *operations, const char *key)
{
    struct attempt *attempt;
    const char *name;
    char *names;

    if (!api_key_split(key, &names, &name))
        return NULL;
    attempt = NEW(struct attempt);
    attempt->table = operations;
    attempt->key = str_new(key);
    attempt->names = names;
    attempt->object = (struct spec_key){names, name};
    attempt->reservation = (struct reservation){.namespace_name = names, .key = attempt->key};
    return attempt;
}

void attempt_empty(struct attempt *attempt)
{
    struct operation *operation;

    pthread_mutex_lock(&attempt->table->lock);
    operation = TAKE(attempt->operation);
    attempt->is_asked_for = false;
    operations_forget_preview(attempt);
    pthread_mutex_unlock(&attempt->table->lock);
    release_free(TAKE(attempt->release));
    release_free(TAKE(attempt->rejected));
    run_done(&attempt->run);
    operation_free(operation);
    ledger_unref(TAKE(attempt->ledger));
    free(TAKE(attempt->superseded_by));
    spec_free(TAKE(attempt->spec));
    approved_plan_unref(TAKE(attempt->approved));
    release_approval_done(&attempt->approval);
    attempt->is_approval_spent = false;
    free(TAKE(attempt->approval_lost));
    operations_give_back(attempt);
    attempt->kind = ATTEMPT_NEW;
    release_revisions_done(&attempt->revisions);
    attempt->knows_revisions = false;
    attempt->knows_state = false;
    attempt->revision = 0;
    attempt->progress = (struct attempt_progress){0};
}

void attempt_end(struct attempt *attempt)
{
    attempt_empty(attempt);
    pthread_mutex_lock(&attempt->table->lock);
    object_version_done(&attempt->read);
    object_version_done(&attempt->observed);
    attempt->was_observed = attempt->has_left = false;
    pthread_mutex_unlock(&attempt->table->lock);
    operations_stop_waiting(attempt);
    free(TAKE(attempt->to_preview));
    attempt->evictions = 0;
    attempt->rests_until = 0;
}

static void attempt_free(struct attempt *attempt)
{
    attempt_end(attempt);
    free(attempt->key);
    free(attempt->names);
    free(attempt->shown);
    free(attempt);
}

void operations_abandon(struct operations *operations)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(&operations->attempts, e));)
        attempt_end(e->value);
}

void operations_free(struct operations *operations)
{
    if (!operations)
        return;
    for (struct strmap_entry *e = NULL; (e = strmap_next(&operations->attempts, e));)
        attempt_free(e->value);
    strmap_done(&operations->attempts);
    strmap_done(&operations->previews);
    operations_free_listed(operations);
    operations_free_landings(operations);
    budget_done(&operations->budget);
    pthread_mutex_destroy(&operations->landed_lock);
    pthread_mutex_destroy(&operations->lock);
    free(operations);
}

/* ---- For the reconcile of a key ---- */

struct attempt *operations_enter(struct operations *operations, const char *key)
{
    struct attempt *attempt;

    pthread_mutex_lock(&operations->lock);
    attempt = strmap_get(&operations->attempts, key);
    if (!attempt) {
        attempt = attempt_new(operations, key);
        if (attempt)
            strmap_put(&operations->attempts, attempt->key, attempt);
    }
    if (attempt)
        operations_take_listed(attempt);
    pthread_mutex_unlock(&operations->lock);
    return attempt;
}

void operations_leave(struct attempt *attempt)
{
    struct operations *operations = attempt->table;
    bool stays = attempt->operation || attempt->rests_until || attempt->reservation.ticket ||
                 attempt->needed || attempt->to_preview;

    if (!attempt->operation) {
        operations_give_back(attempt);
        run_done(&attempt->run);
        ledger_unref(TAKE(attempt->ledger));
    }
    if (stays)
        return;
    pthread_mutex_lock(&operations->lock);
    strmap_remove(&operations->attempts, attempt->key);
    pthread_mutex_unlock(&operations->lock);
    operations_forget_landing(operations, attempt->key);
    attempt_free(attempt);
}

static void on_change(void *arg)
{
    const struct attempt *attempt = arg;
    const struct operations_config *config = &attempt->table->config;

    config->enqueue(config->arg, attempt->key);
}

static int make_operation(struct attempt *attempt, const struct operation_config *config,
                          struct operation **ret, struct error *error)
{
    struct operations *operations = attempt->table;
    struct operation_config own = *config;

    own.on_change = on_change;
    own.on_park = operations_on_park;
    own.reserve = operations_grow;
    own.arg = attempt;
    if (!attempt->preview_of) { /* else it makes no calls that change anything */
        own.on_landed = operations_on_landed;
        own.landed_arg = operations;
    }
    operations_forget_landing(operations, attempt->key);
    return operation_new(&own, ret, error);
}

int attempt_open(struct attempt *attempt, const struct operation_config *config,
                 const struct spec *spec, struct error *error)
{
    struct operations *operations = attempt->table;
    _cleanup_(operation_free_p) struct operation *operation = NULL;
    size_t approved = approved_plan_memory(config->approved);
    int r;

    if (!operations_reserve(attempt, operation_estimate(spec, NULL) + approved))
        return 1;
    r = make_operation(attempt, config, &operation, error);
    if (r < 0)
        return r;
    if (!operations_reserve(attempt,
                            operation_estimate(spec, operation_ledger(operation)) + approved))
        return 1;
    attempt->needed = 0;
    pthread_mutex_lock(&operations->lock);
    attempt->operation = TAKE(operation);
    if (operations->why_no_more)
        operation_cancel(attempt->operation, operations->why_no_more);
    pthread_mutex_unlock(&operations->lock);
    return 0;
}

/* At once if somebody asked for it, else as planned. A request that comes later puts the key into
 * the queue, where it waits until this reconcile is done. */
static struct reconcile_result unless_asked_for(struct attempt *attempt,
                                                struct reconcile_result planned)
{
    const struct reconcile_result at_once = {.kind = RECONCILE_AFTER, .priority = WORKQUEUE_CHANGE};

    return attempt_is_asked_for(attempt) ? at_once : planned;
}

void attempt_check_later(struct attempt *attempt, struct reconcile_result *ret)
{
    *ret =
        unless_asked_for(attempt, (struct reconcile_result){.kind = RECONCILE_AFTER,
                                                            .after = attempt->run.policy.interval});
}

void attempt_retry(struct attempt *attempt, const struct error *failure,
                   struct reconcile_result *ret)
{
    const struct run *run = &attempt->run;
    int64_t patience = conditions_may_heal(failure) ? run_patience(run) : 0;
    int64_t within = run_retry_within(run, failure);
    struct reconcile_result retry = {.kind = RECONCILE_RETRY,
                                     .after = run->policy.retry_interval,
                                     .most = within && (!patience || within < patience) ? within
                                                                                        : patience,
                                     .is_new_failure = !run_says_already(run, failure)};

    if (attempt_has_seen_landing(attempt)) /* what it waited for may be there */
        retry = (struct reconcile_result){.kind = RECONCILE_AFTER, .priority = WORKQUEUE_RETRY};
    *ret = unless_asked_for(attempt, retry);
}

/* ---- For everybody ---- */

void operations_request(struct operations *operations, const char *key)
{
    struct attempt *attempt;

    pthread_mutex_lock(&operations->lock);
    attempt = strmap_get(&operations->attempts, key);
    if (attempt)
        attempt->is_asked_for = true;
    pthread_mutex_unlock(&operations->lock);
    operations->config.enqueue(operations->config.arg, key);
}

void operations_stats(struct operations *operations, struct operations_stats *ret)
{
    struct budget_stats memory;

    budget_stats(&operations->budget, &memory);
    *ret = (struct operations_stats){.parked = memory.n_parked,
                                     .parked_bytes = memory.parked,
                                     .waiting = memory.n_waiting,
                                     .reserved_bytes = memory.reserved};
}

void operations_cancel(struct operations *operations, const char *reason)
{
    pthread_mutex_lock(&operations->lock);
    operations->why_no_more = reason;
    for (struct strmap_entry *e = NULL; (e = strmap_next(&operations->attempts, e));) {
        struct attempt *attempt = e->value;

        if (attempt->operation)
            operation_cancel(attempt->operation, reason);
    }
    pthread_mutex_unlock(&operations->lock);
}
