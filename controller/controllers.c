#include "controller/controllers.h"

#include <stdio.h>
#include <string.h>

#include "controller/core/informer.h"
#include "controller/core/workers.h"
#include "controller/priority.h"
#include "controller/reconcile/attempt.h"
#include "controller/reconcile/quarantine.h"
#include "controller/reconcile/release.h"
#include "controller/reconcile/spec.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/log/log.h"
#include "runtimes/io/clock.h"

#define ABSENT_CRDS                                                                          \
    "the API server does not serve " API_GROUP_VERSION ": are the CRDs installed? (kubectl " \
    "apply --server-side -f crds/)"
/* Previews that people ask for: reconciles at once. */
#define RELEASE_WORKERS 2

typedef struct reconcile_result reconcile_fn(void *arg, const char *key, struct cancel *cancel);

static const struct {
    const char *name;
    const struct kube_kind *kind;
    reconcile_fn *reconcile;
    priority_fn *priority;
} kinds[] = {
    [DESK_SPEC] = {"spec", &kube_specs, reconcile_spec, priority_of_spec},
    [DESK_RELEASE] = {"release", &kube_releases, reconcile_release, priority_of_release},
};

/* One kind: what is watched, what waits, who works. */
struct controller {
    struct controllers *all;
    enum desk_kind kind;
    struct workqueue *queue;
    struct workers *workers;
    struct informer *informer;
};

struct controllers {
    struct reconcile_context *context;
    struct desk *desk;
    struct metric *reconciles, *seconds;
    struct metric *depth, *oldest, *adds, *retries, *queue_seconds, *work_seconds;
    struct metric *parked, *parked_bytes, *waiting, *reserved_bytes;
    struct controller of[DESK_KINDS];
};

/* ---- One key ---- */

static struct reconcile_result reconcile(void *arg, const char *key, struct cancel *cancel)
{
    static const char *const results[] = {
        [RECONCILE_DONE] = "success",
        [RECONCILE_RETRY] = "error",
        [RECONCILE_AFTER] = "requeue_after",
        [RECONCILE_WAITING] = "requeue_after",
    };
    const struct controller *controller = arg;
    const struct controllers *all = controller->all;
    const char *name = kinds[controller->kind].name;
    int64_t begun = system_clock.monotonic(&system_clock), took;
    char after_text[24], took_text[24];
    struct reconcile_result result = kinds[controller->kind].reconcile(all->context, key, cancel);

    took = system_clock.monotonic(&system_clock) - begun;
    metric_add(all->reconciles, 1, name, results[result.kind], NULL);
    metric_observe(all->seconds, (double)took / 1e3, name, NULL);
    snprintf(after_text, sizeof(after_text), "%lld", (long long)result.after);
    snprintf(took_text, sizeof(took_text), "%lld", (long long)took);
    log_debug("reconciled", "controller", name, "key", key, "result", results[result.kind],
              "requeueMs", result.after ? after_text : NULL, "durationMs", took_text, NULL);
    return result;
}

/* A Release of an operation is the operation's to write. Of interest is that a person changes it,
 * perhaps to approve its plan; that it goes, since what is kept beside it goes, too; and that it
 * has no Spec any more. */
static bool is_own_write(const struct informer_object *old, const struct informer_object *now)
{
    bool is_changed = old && now && old->generation != now->generation;

    return now && now->is_generated && !now->is_orphan && !is_changed;
}

static void on_change(void *arg, const char *key, const struct informer_object *old,
                      const struct informer_object *now)
{
    struct controller *controller = arg;
    struct object_version version = {0};

    if (controller->kind == DESK_RELEASE && is_own_write(old, now))
        return;
    if (now)
        version = (struct object_version){.uid = now->uid,
                                          .generation = now->generation,
                                          .is_deleting = now->deleting,
                                          .is_new = !old && now->is_new,
                                          .version = now->version};
    else if (controller->kind == DESK_SPEC && old->is_bypassed)
        version.bypassed = old->uid;
    desk_observe(controller->all->desk, controller->kind, key, &version,
                 old && now && !str_equal(old->trigger, now->trigger));
    workqueue_add(controller->queue, key, kinds[controller->kind].priority(old, now));
}

/* An operation of it goes on. */
static void enqueue(void *arg, enum desk_kind kind, const char *key)
{
    struct controllers *controllers = arg;

    workqueue_add(controllers->of[kind].queue, key, WORKQUEUE_BEGUN);
}

static void on_queue(void *arg, enum workqueue_event event, int64_t ms)
{
    const struct controller *controller = arg;
    const struct controllers *all = controller->all;
    const char *name = kinds[controller->kind].name;

    switch (event) {
    case WORKQUEUE_ADDED:
        metric_add(all->adds, 1, name, NULL);
        break;
    case WORKQUEUE_RETRIED:
        metric_add(all->retries, 1, name, NULL);
        break;
    case WORKQUEUE_TAKEN:
        metric_observe(all->queue_seconds, (double)ms / 1e3, name, NULL);
        break;
    case WORKQUEUE_DONE:
        metric_observe(all->work_seconds, (double)ms / 1e3, name, NULL);
        break;
    }
}

/* ---- Lifetime ---- */

/* All but the oldest's are named as in client-go. */
static void make_queue_metrics(struct controllers *controllers, struct metrics *metrics)
{
    controllers->depth = metrics_gauge(
        metrics, "workqueue_depth", "Objects in the queue of a controller, ready to be reconciled.",
        "name", NULL);
    controllers->oldest =
        metrics_gauge(metrics, "kusion_workqueue_oldest_seconds",
                      "Age of the oldest object in the queue that is ready.", "name", NULL);
    controllers->adds = metrics_counter(metrics, "workqueue_adds_total",
                                        "Objects that were added to the queue.", "name", NULL);
    controllers->retries = metrics_counter(metrics, "workqueue_retries_total",
                                           "Retries after failures.", "name", NULL);
    controllers->queue_seconds =
        metrics_histogram(metrics, "workqueue_queue_duration_seconds",
                          "How long objects were ready before they were taken.", "name", NULL);
    controllers->work_seconds = metrics_histogram(metrics, "workqueue_work_duration_seconds",
                                                  "How long objects were worked on.", "name", NULL);
}

static void make_metrics(struct controllers *controllers, struct metrics *metrics)
{
    make_queue_metrics(controllers, metrics);
    controllers->reconciles =
        metrics_counter(metrics, "controller_runtime_reconcile_total",
                        "Reconciles by controller and result.", "controller", "result", NULL);
    controllers->seconds = metrics_histogram(metrics, "controller_runtime_reconcile_time_seconds",
                                             "Duration of reconciles.", "controller", NULL);
    controllers->parked = metrics_gauge(
        metrics, "kusion_operations_parked",
        "Operations that wait for their resources, without a thread.", "controller", NULL);
    controllers->parked_bytes = metrics_gauge(
        metrics, "kusion_operations_parked_bytes",
        "Memory of the operations that wait for their resources.", "controller", NULL);
    controllers->waiting = metrics_gauge(metrics, "kusion_operations_waiting",
                                         "Operations that wait for memory.", "controller", NULL);
    controllers->reserved_bytes =
        metrics_gauge(metrics, "kusion_operations_reserved_bytes",
                      "Memory that running operations have reserved.", "controller", NULL);
}

struct controllers *controllers_new(struct reconcile_context *context, struct metrics *metrics,
                                    size_t memory)
{
    struct controllers *controllers = NEW(struct controllers);

    controllers->context = context;
    make_metrics(controllers, metrics);
    for (enum desk_kind kind = 0; kind < DESK_KINDS; kind++) {
        struct controller *controller = &controllers->of[kind];

        controller->all = controllers;
        controller->kind = kind;
        controller->queue = workqueue_new(&system_clock, on_queue, controller);
    }
    context->desk = controllers->desk = desk_new(&(struct desk_config){
        .enqueue = enqueue,
        .arg = controllers,
        .clock = &system_clock,
        .memory = memory,
        .specs = metrics_gauge(metrics, "kusion_specs",
                               "Specs by the status and the reason of their condition Ready.",
                               "ready", "reason", NULL)});
    return controllers;
}

static int start(struct controller *controller, const struct connection *connection,
                 unsigned workers, struct error *error)
{
    const struct kube_kind *kind = kinds[controller->kind].kind;

    controller->workers = workers_new(&(struct workers_config){
        .name = kinds[controller->kind].name,
        .count = workers,
        .queue = controller->queue,
        .reconcile = reconcile,
        .arg = controller,
    });
    controller->informer =
        informer_new(&(struct informer_config){.client = connection->cluster.client,
                                               .ref = connection_collection(connection, kind),
                                               .selector = connection_selector(connection, kind),
                                               .on_change = on_change,
                                               .arg = controller,
                                               .absent = ABSENT_CRDS},
                     error);
    return controller->informer ? 0 : error->code;
}

int controllers_start(struct controllers *controllers, const struct connection *connection,
                      struct error *error)
{
    unsigned specs = (unsigned)connection->flags->concurrent;
    int r = start(&controllers->of[DESK_SPEC], connection, specs, error);

    return r < 0 ? r : start(&controllers->of[DESK_RELEASE], connection, RELEASE_WORKERS, error);
}

void controllers_stop(struct controllers *controllers, const char *reason)
{
    if (!controllers)
        return;
    desk_cancel(controllers->desk, reason);
    for (enum desk_kind kind = 0; kind < DESK_KINDS; kind++) {
        struct controller *controller = &controllers->of[kind];

        informer_free(TAKE(controller->informer));
        workers_stop(TAKE(controller->workers));
    }
    attempts_abandon(controllers->desk);
}

void controllers_free(struct controllers *controllers)
{
    if (!controllers)
        return;
    desk_free(controllers->desk);
    for (enum desk_kind kind = 0; kind < DESK_KINDS; kind++)
        workqueue_free(controllers->of[kind].queue);
    free(controllers);
}

/* ---- Questions ---- */

bool controllers_are_ready(struct controllers *controllers, int64_t patience, struct buf *why_not)
{
    for (enum desk_kind kind = 0; kind < DESK_KINDS; kind++) {
        struct informer *informer = controllers->of[kind].informer;

        if (informer_synced(informer) && informer_fails_for(informer) <= patience)
            continue;
        buf_printf(why_not, "watching %s: ", kinds[kind].kind->plural);
        informer_describe_outage(informer, why_not);
        return false;
    }
    return true;
}

int64_t controllers_blind_for(struct controllers *controllers)
{
    int64_t longest = 0;

    for (enum desk_kind kind = 0; kind < DESK_KINDS; kind++) {
        struct informer *informer = controllers->of[kind].informer;
        int64_t lasts = informer_is_refused(informer) ? 0 : informer_fails_for(informer);

        if (lasts > longest)
            longest = lasts;
    }
    return longest;
}

bool controllers_are_stuck(struct controllers *controllers, int64_t patience, struct buf *why)
{
    for (enum desk_kind kind = 0; patience && kind < DESK_KINDS; kind++) {
        struct workqueue_stats queue;

        workqueue_stats(controllers->of[kind].queue, &queue);
        if (queue.stuck < patience)
            continue;
        buf_printf(why, "%s wait, and none was reconciled for %lld s", kinds[kind].kind->plural,
                   (long long)queue.stuck / 1000);
        return true;
    }
    return false;
}

size_t controllers_count_ready(struct controllers *controllers)
{
    size_t count = 0;

    for (enum desk_kind kind = 0; kind < DESK_KINDS; kind++) {
        struct controller *controller = &controllers->of[kind];
        struct workqueue_stats queue;

        if (!informer_synced(controller->informer))
            return SIZE_MAX;
        workqueue_stats(controller->queue, &queue);
        count += queue.depth;
    }
    return count;
}

bool controllers_list(void *arg, const char *key)
{
    const struct controllers *controllers = arg;
    bool is_release = str_has_prefix(key, QUARANTINE_RELEASE);

    return desk_lists_key(controllers->desk, is_release ? DESK_RELEASE : DESK_SPEC,
                          is_release ? key + strlen(QUARANTINE_RELEASE) : key);
}

void controllers_measure(struct controllers *controllers)
{
    for (enum desk_kind kind = 0; kind < DESK_KINDS; kind++) {
        struct controller *controller = &controllers->of[kind];
        const char *name = kinds[kind].name;
        struct workqueue_stats queue;
        struct budget_stats memory;

        workqueue_stats(controller->queue, &queue);
        budget_stats(desk_budget(controllers->desk, kind), &memory);
        metric_set(controllers->depth, (double)queue.depth, name, NULL);
        metric_set(controllers->oldest, (double)queue.oldest / 1e3, name, NULL);
        metric_set(controllers->parked, (double)memory.n_parked, name, NULL);
        metric_set(controllers->parked_bytes, (double)memory.parked, name, NULL);
        metric_set(controllers->waiting, (double)memory.n_waiting, name, NULL);
        metric_set(controllers->reserved_bytes, (double)memory.reserved, name, NULL);
    }
}
