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
    strmap_init(&operations->attempts);
    strmap_init(&operations->listed);
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
    return attempt;
}

void attempt_empty(struct attempt *attempt)
{
    struct operation *operation;

    pthread_mutex_lock(&attempt->table->lock);
    operation = TAKE(attempt->operation);
    attempt->is_asked_for = attempt->is_chosen = false;
    attempt->reserved = 0;
    free(TAKE(attempt->preview_of));
    pthread_mutex_unlock(&attempt->table->lock);
    release_free(TAKE(attempt->release));
    run_done(&attempt->run);
    operation_free(operation);
    operations_account(attempt, 0);
    spec_free(TAKE(attempt->spec));
    attempt->kind = ATTEMPT_NEW;
    attempt->revision = 0;
    attempt->progress = (struct attempt_progress){0};
}

void attempt_end(struct attempt *attempt)
{
    attempt_empty(attempt);
    pthread_mutex_lock(&attempt->table->lock);
    object_version_done(&attempt->read);
    object_version_done(&attempt->told);
    attempt->was_told = attempt->has_left = false;
    operations_forget_turn(attempt);
    pthread_mutex_unlock(&attempt->table->lock);
    attempt->evictions = 0;
    attempt->rests_until = 0;
}

static void attempt_free(struct attempt *attempt)
{
    attempt_end(attempt);
    free(attempt->key);
    free(attempt->names);
    free(attempt->new_version);
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
    operations_free_listed(operations);
    operations_free_landings(operations);
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
    if (attempt) {
        free(attempt->new_version);
        attempt->new_version = operations_take_new_version(operations, key);
    }
    pthread_mutex_unlock(&operations->lock);
    return attempt;
}

void operations_leave(struct attempt *attempt)
{
    struct operations *operations = attempt->table;
    bool stays = attempt->operation || attempt->rests_until || attempt->ticket;

    pthread_mutex_lock(&operations->lock);
    operations_choose(operations);
    if (!stays)
        strmap_remove(&operations->attempts, attempt->key);
    operations_give_room(operations);
    pthread_mutex_unlock(&operations->lock);
    if (stays)
        return;
    operations_forget_landing(operations, attempt->key);
    attempt_free(attempt);
}

static void on_change(void *arg)
{
    const struct attempt *attempt = arg;
    const struct operations_config *config = &attempt->table->config;

    config->enqueue(config->arg, attempt->key);
}

int attempt_open(struct attempt *attempt, const struct operation_config *config,
                 struct error *error)
{
    struct operations *operations = attempt->table;
    struct operation_config own = *config;
    struct operation *operation = NULL;
    int r;

    own.on_change = on_change;
    own.on_park = operations_on_park;
    own.arg = attempt;
    if (!own.scope.thorough) { /* else it makes no calls that change anything */
        own.on_landed = operations_on_landed;
        own.landed_arg = operations;
    }
    operations_forget_landing(operations, attempt->key);
    r = operation_new(&own, &operation, error);
    if (r < 0)
        return r;
    pthread_mutex_lock(&operations->lock);
    attempt->operation = operation;
    if (operations->why_no_more)
        operation_cancel(operation, operations->why_no_more);
    pthread_mutex_unlock(&operations->lock);
    return 0;
}

void attempt_retry(struct attempt *attempt, const struct error *failure,
                   struct reconcile_result *ret)
{
    const struct run *run = &attempt->run;

    if (attempt_has_seen_landing(attempt)) /* what it waited for may be there */
        *ret = (struct reconcile_result){.kind = RECONCILE_AFTER, .priority = WORKQUEUE_RETRY};
    else
        *ret = (struct reconcile_result){.kind = RECONCILE_RETRY,
                                         .after = run->policy.retry_interval,
                                         .is_new_failure = !run_says_already(run, failure)};
}

/* ---- For everybody ---- */

void operations_stats(struct operations *operations, struct operations_stats *ret)
{
    *ret = (struct operations_stats){.parked_bytes = operations->parked};
    pthread_mutex_lock(&operations->lock);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&operations->attempts, e));)
        ret->parked += ((const struct attempt *)e->value)->parked > 0;
    pthread_mutex_unlock(&operations->lock);
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
