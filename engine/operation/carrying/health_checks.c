#include "engine/operation/carrying/health_checks.h"

#include "engine/base/mem.h"
#include "engine/operation/carrying/carrying.h"
#include "engine/operation/session.h"
#include "engine/threads/locked.h"
#include "engine/value/redaction.h"

/* A message names so many, and counts the rest. */
#define NAMED 3

/* Its visits, one at a time, write the fields. */
struct health_check {
    struct operation *operation;
    const struct spec_health_check *wanted;
    struct binding *binding; /* NULL: no runtime of its type */
    unsigned failures;       /* in a row, of those that may heal */
    struct runtime_subscription *subscription;

    /* Under the operation's lock. */
    struct error *error; /* why it is not healthy, or not known to be; NULL: it is, or was not
                            looked at */
    bool is_late;
};

/* ---- Looking ---- */

static void on_object_event(void *arg)
{
    struct health_check *check = arg;
    struct operation *operation = check->operation;

    LOCKED(&operation->lock);
    if (operation->stage == STAGE_CHECKING &&
        walk_wake(operation->walk, (uint32_t)(check - operation->health_checks)))
        task_poke(operation->task);
}

static enum walk_verdict park(struct health_check *check, struct walk_visit *visit,
                              struct runtime_session *session, const struct runtime_target *target)
{
    const struct runtime_ops *ops = check->binding->runtime->ops;

    if (!check->subscription && ops->subscribe)
        ops->subscribe(session, target, on_object_event, check, &check->subscription, NULL);
    visit->retry_after = operation_look_delay(visit->count, check->subscription);
    return WALK_PARKED;
}

static enum walk_verdict fail(struct health_check *check, struct walk_visit *visit,
                              const struct error *error)
{
    if (!operation_may_heal(error))
        return WALK_FAILED;
    visit->retry_after = operation_retry_delay(check->failures++);
    return WALK_PARKED;
}

/* The object as it was read. */
static enum walk_verdict judge(struct health_check *check, struct walk_visit *visit,
                               struct runtime_session *session, const struct runtime_target *target,
                               const struct observation *now, const struct runtime_call *call,
                               struct error *error)
{
    const struct runtime_ops *ops = check->binding->runtime->ops;
    struct health health = {.status = HEALTH_CURRENT};
    enum walk_verdict verdict;

    if (now->presence != PRESENCE_PRESENT) {
        err_set(error, ERR_TIMEOUT, "HealthCheckFailed", "it is not there");
        return park(check, visit, session, target);
    }
    if (ops->health && ops->health(session, target, now, call, &health, error) < 0)
        return fail(check, visit, error);
    check->failures = 0;
    if (health.status == HEALTH_CURRENT)
        return WALK_DONE;
    err_set(error, health.status == HEALTH_FAILED ? ERR_INVALID : ERR_TIMEOUT, "HealthCheckFailed",
            "%s", health.message);
    if (*health.hint)
        err_hint(error, "%s", health.hint);
    redact_error(error, &now->result, 1);
    if (health.status == HEALTH_FAILED)
        return WALK_FAILED;
    verdict = park(check, visit, session, target);
    if (health.look_again && health.look_again < visit->retry_after)
        visit->retry_after = health.look_again;
    return verdict;
}

static enum walk_verdict look(struct health_check *check, struct walk_visit *visit,
                              struct error *error)
{
    struct operation *operation = check->operation;
    const struct runtime_target target = {.id = check->wanted->id,
                                          .attributes = check->wanted->attributes};
    struct slot large = operation_slot(operation);
    struct runtime_call call = operation_call(operation, &large);
    _cleanup_(outcome_done) struct runtime_outcome outcome = {0};
    struct runtime_session *session;
    enum walk_verdict verdict;
    int r;

    if (!check->binding) {
        err_set(error, ERR_UNSUPPORTED, "Unsupported", "there is no runtime for it");
        return WALK_FAILED;
    }
    r = operation_open_session(operation, check->binding, &session, error);
    if (r >= 0)
        r = check->binding->runtime->ops->read(session, &target, &call, &outcome, error);
    verdict = r < 0 ? fail(check, visit, error)
                    : judge(check, visit, session, &target, &outcome.now, &call, error);
    slot_give_back(&large);
    return verdict;
}

static void unsubscribe(struct health_check *check)
{
    if (check->subscription)
        check->binding->runtime->ops->unsubscribe(TAKE(check->subscription));
}

static void set_error(struct health_check *check, const struct error *error)
{
    free(check->error);
    check->error = error->code ? err_new(error) : NULL;
}

void operation_visit_health_check(struct operation *operation, struct walk_visit *visit)
{
    struct health_check *check = &operation->health_checks[visit->node];
    struct error error = {0};
    enum walk_verdict verdict;
    int64_t now;

    operation_set_phase(operation, OPERATION_RUNNING);
    pthread_mutex_unlock(&operation->lock);
    verdict = look(check, visit, &error);
    if (verdict != WALK_PARKED)
        unsubscribe(check);
    now = operation_now(operation);
    if (verdict != WALK_PARKED)
        ledger_progress(operation->ledger);
    pthread_mutex_lock(&operation->lock);
    if (verdict == WALK_DONE)
        err_clear(&error);
    set_error(check, &error);
    if (verdict != WALK_PARKED)
        operation->progressed_at = operation->active_at = now;
    walk_end_visit(operation->walk, visit, verdict, now);
}

/* ---- All of them ---- */

/* Under the lock. */
static void end_check(void *arg, uint32_t node, enum walk_outcome outcome, uint32_t cause)
{
    struct operation *operation = arg;
    struct health_check *check = &operation->health_checks[node];
    struct error error = {0};

    (void)cause;
    if (outcome != WALK_OUTCOME_TIMED_OUT && outcome != WALK_OUTCOME_CANCELLED)
        return;
    if (check->error)
        err_copy(&error, check->error);
    else
        err_set(&error, ERR_TIMEOUT, "HealthCheckFailed", "not looked at");
    err_wrap(&error, "not healthy within %lld s (timeout)",
             (long long)operation->config.timeout / 1000);
    set_error(check, &error);
    check->is_late = true;
    operation->results.is_late = true;
}

static struct walk *make_walk(struct operation *operation, size_t n)
{
    struct walk_config config = {
        .parallelism = operation->config.parallelism, .on_end = end_check, .arg = operation};

    if (graph_new((uint32_t)n, NULL, 0, NULL, NULL, NULL, &operation->health_graph, NULL) < 0)
        return NULL;
    config.graph = operation->health_graph;
    return walk_new(&config);
}

bool operation_begin_health_checks(struct operation *operation)
{
    const struct spec *spec = operation->spec;
    size_t n = spec ? spec->n_health_checks : 0;
    struct binding *binding = operation_binding(operation, SPEC_HEALTH_CHECK_TYPE);
    bool succeeded;
    struct walk *walk;

    pthread_mutex_lock(&operation->lock);
    succeeded = !operation->stale.code && !operation->exceeded.code &&
                operation_results_error(&operation->results, "", NULL) == 0;
    pthread_mutex_unlock(&operation->lock);
    if (!n || !succeeded || !operation->how.verify)
        return false;
    operation->health_checks = NEW_ARRAY(struct health_check, n);
    for (size_t i = 0; i < n; i++)
        operation->health_checks[i] = (struct health_check){
            .operation = operation, .wanted = &spec->health_checks[i], .binding = binding};
    walk = make_walk(operation, n);
    pthread_mutex_lock(&operation->lock);
    operation->n_health_checks = n;
    walk_free(operation->walk);
    operation->walk = walk;
    operation->active_at = operation_now(operation);
    pthread_mutex_unlock(&operation->lock);
    return true;
}

const struct error *operation_waiting_health_check(const struct operation *operation,
                                                   struct buf *to)
{
    for (size_t i = 0; i < operation->n_health_checks; i++) {
        const struct health_check *check = &operation->health_checks[i];

        if (!check->error || walk_outcome(operation->walk, (uint32_t)i) != WALK_OUTCOME_NONE)
            continue;
        operation_add_message(to, check->wanted->id, check->error);
        return check->error;
    }
    return NULL;
}

int operation_health_checks_error(const struct operation *operation, struct error *error)
{
    const struct health_check *worst = NULL;
    struct buf text, hints = BUF_INIT;
    size_t failed = 0;

    buf_init(&text, 4096);
    for (size_t i = 0; i < operation->n_health_checks; i++) {
        const struct health_check *check = &operation->health_checks[i];

        if (!check->error)
            continue;
        if (!worst || (worst->is_late && !check->is_late))
            worst = check;
        if (failed++ >= NAMED)
            continue;
        buf_add_str(&text, failed > 1 ? "; " : "");
        operation_add_message(&text, check->wanted->id, check->error);
        buf_add_str(&hints, err_hints(check->error->message));
    }
    if (failed > NAMED)
        buf_printf(&text, "; and %zu more", failed - NAMED);
    if (worst) {
        err_set(error, worst->error->code, worst->error->reason,
                "healthChecks: %zu of %zu failed: %s", failed, operation->n_health_checks,
                text.data);
        err_add_hints(error, hints.data);
    }
    buf_done(&text);
    buf_done(&hints);
    return worst ? worst->error->code : 0;
}

void operation_free_health_checks(struct operation *operation)
{
    for (size_t i = 0; i < operation->n_health_checks; i++) {
        unsubscribe(&operation->health_checks[i]);
        free(operation->health_checks[i].error);
    }
    free(operation->health_checks);
    graph_free(operation->health_graph);
}
