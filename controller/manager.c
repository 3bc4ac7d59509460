#include "controller/manager.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "controller/core/informer.h"
#include "controller/core/leader.h"
#include "controller/core/outage.h"
#include "controller/core/workers.h"
#include "controller/preflight.h"
#include "controller/reconcile/api.h"
#include "controller/reconcile/release.h"
#include "controller/reconcile/spec.h"
#include "controller/serve/server.h"
#include "engine/base/log.h"
#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/discovery.h"
#include "runtimes/kubernetes/client/path.h"
#include "runtimes/kubernetes/runtime.h"
#include "runtimes/kubernetes/store.h"

#define STATE_NAMESPACE "kusion-system"
#define ABSENT_CRDS                                                                          \
    "the API server does not serve " API_GROUP_VERSION ": are the CRDs installed? (kubectl " \
    "apply --server-side -f crds/)"
/* Previews that people ask for, at once. */
#define RELEASE_WORKERS 2

/* One kind: what is watched, what waits, who works. */
struct controller {
    const char *name;
    struct workqueue *queue;
    struct workers *workers;
    struct informer *informer;
    struct manager *manager;
    struct metric *reconciles, *seconds, *depth;
    struct reconcile_result (*reconcile)(void *arg, const char *key, struct cancel *cancel);
};

/* What the server's thread may look at: from RECONCILING on, all of the controllers. */
enum phase { CONNECTING, ELECTING, RECONCILING };

struct manager {
    const struct flags *flags;
    struct cancel *stop;

    char *state_namespace;
    char *identity;
    struct kube_config *config;
    struct http_loop *requests, *watches;
    struct kube_client *client;
    struct kube_discovery *discovery;
    struct leader *leader;
    struct runtime *runtime;
    struct state_store *store;
    struct event_recorder *events;
    struct metrics *metrics;
    struct operation_metrics operation_metrics;
    struct server *server;
    struct reconcile_context context;
    struct controller specs, releases;
    struct metric *leading;

    _Atomic enum phase phase;
    struct outage outage; /* of the connection, at start */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool started, lost;
};

/* ---- Connection ---- */

static int load_config(struct manager *manager, struct error *error)
{
    const struct flags *flags = manager->flags;
    int r;

    if (flags->kubeconfig || flags->context)
        return kube_config_load(flags->kubeconfig, flags->context, &manager->config, error);
    r = kube_config_in_cluster(NULL, &manager->config, error);
    if (r == ERR_NOT_FOUND)
        err_wrap(error, "outside a pod, --kubeconfig is to be given");
    return r;
}

static int connect_client(struct manager *manager, struct error *error)
{
    struct kube_client_config config = {
        .user_agent = "kusion-operator/" KUSION_VERSION,
        .http1 = manager->flags->http1,
        .guard = manager->flags->leader_elect ? leader_permit : NULL,
        .guard_arg = manager->leader,
    };
    int r = http_loop_new(&(struct http_loop_config){.name = "http"}, &manager->requests, error);

    if (r >= 0)
        r = http_loop_new(&(struct http_loop_config){.name = "watch", .max_connections = 64},
                          &manager->watches, error);
    if (r < 0)
        return r;
    config.config = manager->config;
    config.requests = manager->requests;
    config.watches = manager->watches;
    r = kube_client_new(&config, &manager->client, error);
    if (r < 0)
        return r;
    manager->discovery = kube_discovery_new(manager->client, &system_clock);
    return 0;
}

static char *collection_path(const struct manager *manager, const char *plural)
{
    _cleanup_free_ char *path =
        kube_path(API_GROUP_VERSION, manager->flags->watch_namespace, plural, NULL, NULL);
    struct buf query = BUF_INIT;

    buf_add_str(&query, path);
    if (manager->flags->watch_label_selector && str_equal(plural, "specs"))
        kube_path_query(&query, "labelSelector", manager->flags->watch_label_selector);
    return buf_take(&query);
}

static int preflight(struct manager *manager, struct error *error)
{
    _cleanup_free_ char *specs = collection_path(manager, "specs");
    int r = preflight_connect(manager->client, manager->state_namespace, &manager->outage,
                              manager->stop, error);

    return r < 0 ? r
                 : preflight_selector(manager->client, specs, manager->flags->watch_label_selector,
                                      manager->stop, error);
}

/* ---- Leadership ---- */

static void set_flag(struct manager *manager, bool *flag)
{
    pthread_mutex_lock(&manager->lock);
    *flag = true;
    pthread_cond_broadcast(&manager->changed);
    pthread_mutex_unlock(&manager->lock);
}

static void on_started(void *arg)
{
    struct manager *manager = arg;

    set_flag(manager, &manager->started);
}

static void on_stopped(void *arg)
{
    (void)arg;
    /* Nothing that runs may go on, and nothing needs to be put in order: State is as it is. */
    _exit(1);
}

static void on_stop(void *arg)
{
    struct manager *manager = arg;

    set_flag(manager, &manager->lost);
}

/* Until `flag` or the end. */
static bool wait_for(struct manager *manager, const bool *flag)
{
    struct cancel_listener *listener = cancel_listen(manager->stop, on_stop, manager);
    bool is_set;

    pthread_mutex_lock(&manager->lock);
    while (!*flag && !manager->lost)
        system_clock.wait(&system_clock, &manager->changed, &manager->lock, CLOCK_FOREVER);
    is_set = *flag;
    pthread_mutex_unlock(&manager->lock);
    cancel_unlisten(manager->stop, listener);
    return is_set;
}

static int64_t epoch(void *arg)
{
    struct manager *manager = arg;

    return manager->leader ? leader_epoch(manager->leader) : 0;
}

static void make_leader(struct manager *manager)
{
    if (manager->flags->leader_elect)
        manager->leader = leader_new(&(struct leader_config){
            .clock = &system_clock,
            .namespace_name = manager->state_namespace,
            .lease_name = manager->flags->lease_name,
            .identity = manager->identity,
            .on_started = on_started,
            .on_stopped = on_stopped,
            .arg = manager,
        });
}

static bool lead(struct manager *manager)
{
    if (!manager->leader)
        return true;
    log_info("waiting for the Lease", "identity", manager->identity, NULL);
    atomic_store(&manager->phase, ELECTING);
    leader_start(manager->leader, manager->client);
    return wait_for(manager, &manager->started);
}

/* ---- Reconcilers ---- */

static void on_change(void *arg, const char *key, const struct informer_object *old,
                      const struct informer_object *now)
{
    struct controller *controller = arg;

    if (old && (!now || now->generation != old->generation || now->deleting != old->deleting))
        workers_cancel_key(controller->workers, key, "Superseded");
    workqueue_add(controller->queue, key);
}

static void log_reconciled(const char *controller, const char *key, const char *result,
                           int64_t after, int64_t took)
{
    char after_text[24], took_text[24];

    snprintf(after_text, sizeof(after_text), "%lld", (long long)after);
    snprintf(took_text, sizeof(took_text), "%lld", (long long)took);
    log_debug("reconciled", "controller", controller, "key", key, "result", result, "requeueMs",
              after ? after_text : NULL, "durationMs", took_text, NULL);
}

static struct reconcile_result reconcile(void *arg, const char *key, struct cancel *cancel)
{
    static const char *const results[] = {"success", "error", "requeue_after"};
    struct controller *controller = arg;
    int64_t begun = system_clock.monotonic(&system_clock);
    struct reconcile_result result =
        controller->reconcile(&controller->manager->context, key, cancel);

    int64_t took = system_clock.monotonic(&system_clock) - begun;

    metric_add(controller->reconciles, 1, controller->name, results[result.kind], NULL);
    metric_observe(controller->seconds, (double)took / 1e3, controller->name, NULL);
    log_reconciled(controller->name, key, results[result.kind], result.after, took);
    return result;
}

static int controller_start(struct manager *manager, struct controller *controller,
                            const char *plural, unsigned workers, struct error *error)
{
    _cleanup_free_ char *path = collection_path(manager, plural);

    controller->manager = manager;
    controller->queue = workqueue_new(&system_clock);
    controller->workers = workers_new(&(struct workers_config){
        .name = controller->name,
        .count = workers,
        .queue = controller->queue,
        .clock = &system_clock,
        .reconcile = reconcile,
        .arg = controller,
    });
    controller->informer = informer_new(&(struct informer_config){.client = manager->client,
                                                                  .path = path,
                                                                  .on_change = on_change,
                                                                  .arg = controller,
                                                                  .absent = ABSENT_CRDS},
                                        error);
    return controller->informer ? 0 : error->code;
}

static void controller_stop(struct controller *controller)
{
    informer_free(controller->informer);
    workers_stop(controller->workers);
    workqueue_free(controller->queue);
}

static int start_reconcilers(struct manager *manager, struct error *error)
{
    const struct flags *flags = manager->flags;
    int r =
        api_plan_key(manager->client, manager->state_namespace, manager->context.plan_key, error);

    if (r >= 0)
        r = controller_start(manager, &manager->specs, "specs", (unsigned)flags->concurrent, error);
    if (r >= 0)
        r = controller_start(manager, &manager->releases, "releases", RELEASE_WORKERS, error);
    if (r >= 0)
        atomic_store(&manager->phase, RECONCILING);
    return r;
}

/* ---- Serving ---- */

static bool is_synced(const struct controller *controller, struct buf *why_not)
{
    if (informer_synced(controller->informer))
        return true;
    buf_printf(why_not, "watching %ss: ", controller->name);
    informer_tell_outage(controller->informer, why_not);
    return false;
}

static bool is_ready(void *arg, struct buf *why_not)
{
    struct manager *manager = arg;

    switch (atomic_load(&manager->phase)) {
    case CONNECTING:
        outage_is(&manager->outage, why_not);
        return false;
    case ELECTING: /* one that waits for the Lease is ready to take over */
        return !leader_is_in_the_dark(manager->leader, why_not);
    case RECONCILING:
        return is_synced(&manager->specs, why_not) && is_synced(&manager->releases, why_not);
    }
    return false;
}

static void set_gauges(void *arg)
{
    struct manager *manager = arg;
    struct controller *controllers[] = {&manager->specs, &manager->releases};
    bool is_reconciling = atomic_load(&manager->phase) == RECONCILING;

    metric_set(manager->leading, is_reconciling, manager->flags->lease_name, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(controllers); i++) {
        struct workqueue_stats stats = {0};

        if (is_reconciling)
            workqueue_stats(controllers[i]->queue, &stats);
        metric_set(controllers[i]->depth, (double)stats.depth, controllers[i]->name, NULL);
    }
}

static int serve(struct manager *manager, struct error *error)
{
    struct metric *reconciles, *seconds, *depth;

    manager->metrics = metrics_new();
    reconciles =
        metrics_counter(manager->metrics, "controller_runtime_reconcile_total",
                        "Reconciles, by controller and result.", "controller", "result", NULL);
    seconds = metrics_histogram(manager->metrics, "controller_runtime_reconcile_time_seconds",
                                "How long a reconcile took.", "controller", NULL);
    manager->leading = metrics_gauge(manager->metrics, "leader_election_master_status",
                                     "1: this process reconciles. 0: it waits.", "name", NULL);
    depth = metrics_gauge(manager->metrics, "workqueue_depth", "Keys that wait.", "name", NULL);
    manager->specs = (struct controller){.name = "spec",
                                         .reconcile = reconcile_spec,
                                         .reconciles = reconciles,
                                         .seconds = seconds,
                                         .depth = depth};
    manager->releases = (struct controller){.name = "release",
                                            .reconcile = reconcile_release,
                                            .reconciles = reconciles,
                                            .seconds = seconds,
                                            .depth = depth};
    operation_metrics_init(&manager->operation_metrics, manager->metrics);
    metrics_on_scrape(manager->metrics, set_gauges, manager);
    manager->server = server_new(
        &(struct server_config){
            .health_address = manager->flags->health_bind_address,
            .metrics_address = manager->flags->metrics_bind_address,
            .ready = is_ready,
            .arg = manager,
            .metrics = manager->metrics,
        },
        error);
    return manager->server ? 0 : error->code;
}

/* ---- The whole ---- */

static void on_wait(void *arg, bool waits)
{
    struct controller *controller = arg;

    workers_wait(controller->workers, waits);
}

static void fill_context(struct manager *manager)
{
    const struct flags *flags = manager->flags;

    manager->runtime = kube_runtime_new(&(struct kube_runtime_config){
        manager->client, manager->discovery, &system_clock, flags->act_as_controller});
    manager->store =
        kube_store_new(&(struct kube_store_config){manager->client, manager->state_namespace});
    manager->events =
        event_recorder_new(manager->client, &system_clock, "kusion-operator", manager->identity);
    manager->context = (struct reconcile_context){
        .client = manager->client,
        .clock = &system_clock,
        .store = manager->store,
        .state_namespace = manager->state_namespace,
        .runtimes = &manager->runtime,
        .n_runtimes = 1,
        .events = manager->events,
        .metrics = &manager->operation_metrics,
        .default_service_account = flags->default_service_account,
        .act_as_controller = flags->act_as_controller,
        .parallelism = (unsigned)flags->parallelism,
        .epoch = epoch,
        .epoch_arg = manager,
        .on_wait = on_wait,
        .on_wait_arg = &manager->specs,
    };
}

static void name_self(struct manager *manager)
{
    char host[128] = "localhost";
    const char *own = manager->flags->state_namespace;

    gethostname(host, sizeof(host) - 1);
    manager->identity = str_printf("%s_%ld_%llx", host, (long)getpid(),
                                   (unsigned long long)system_clock.now(&system_clock));
    if (!own)
        own = manager->flags->kubeconfig || manager->flags->context
                  ? STATE_NAMESPACE
                  : manager->config->namespace_name;
    manager->state_namespace = str_new(own);
}

static int start(struct manager *manager, struct error *error)
{
    int r = load_config(manager, error);

    if (r < 0)
        return r;
    name_self(manager);
    make_leader(manager);
    r = connect_client(manager, error);
    if (r >= 0)
        r = serve(manager, error);
    if (r >= 0)
        r = preflight(manager, error);
    if (r < 0)
        return r;
    fill_context(manager);
    if (!lead(manager))
        return 0;
    r = start_reconcilers(manager, error);
    if (r >= 0)
        log_info("reconciling", "version", KUSION_VERSION, "stateNamespace",
                 manager->state_namespace, NULL);
    return r;
}

static void finish(struct manager *manager)
{
    server_free(manager->server);
    controller_stop(&manager->specs);
    controller_stop(&manager->releases);
    event_recorder_free(manager->events);
    kube_store_free(manager->store);
    kube_runtime_free(manager->runtime);
    leader_free(manager->leader);
    kube_discovery_free(manager->discovery);
    kube_client_free(manager->client);
    http_loop_free(manager->watches);
    http_loop_free(manager->requests);
    metrics_free(manager->metrics);
    kube_config_free(manager->config);
    free(manager->state_namespace);
    free(manager->identity);
    pthread_cond_destroy(&manager->changed);
    pthread_mutex_destroy(&manager->lock);
    outage_done(&manager->outage);
}

int manager_run(const struct flags *flags, struct cancel *stop, struct error *error)
{
    struct manager manager = {.flags = flags, .stop = stop};
    const bool never = false;
    int r;

    pthread_mutex_init(&manager.lock, NULL);
    outage_init(&manager.outage, "the API server did not answer yet");
    system_clock_condition_init(&manager.changed);
    r = start(&manager, error);
    if (r >= 0)
        wait_for(&manager, &never);
    finish(&manager);
    return r == ERR_CANCELLED ? 0 : r;
}
