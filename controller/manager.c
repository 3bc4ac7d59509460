#include "controller/manager.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "controller/backends.h"
#include "controller/controllers.h"
#include "controller/core/ticker.h"
#include "controller/leadership.h"
#include "controller/reconcile/inputs/source_watches.h"
#include "controller/reconcile/quarantine.h"
#include "controller/reconcile/records/api.h"
#include "controller/reconcile/run/operation_log.h"
#include "controller/reconcile/run/retention.h"
#include "controller/serving.h"
#include "controller/store/store_check.h"
#include "engine/base/str.h"
#include "engine/log/log.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/pause.h"

#define LEDGERS_INTERVAL 1000    /* ms between tries to store what could not be stored */
#define RECORD_INTERVAL  1000    /* ms between records of what has ended (quarantine.h) */
#define SWEEP_INTERVAL   2000    /* ms between tries of the sweep */
#define TIDY_INTERVAL    3600000 /* ms between looks for what killed processes left in the store */
#define STORE_INTERVAL   1000    /* ms between questions whether the store is to be looked at */
#define STORE_PATIENCE   20000   /* ms for a store that does not answer at the start */
#define LOOKOUT_INTERVAL 500     /* ms between looks whether the watches fail */
/* The API server's priority and fairness lets some hundred requests of all ServiceAccounts run at
 * once. Calls of one namespace that hang, in a webhook say, leave most of these to others. */
#define NAMESPACE_CALLS 40
/* ms for calls in flight to end, where the API server answers so little that the Lease is given up
 */
#define CUT_OFF_DRAIN 5000
#define DRAIN_LOOK    20 /* ms between looks whether a call is still in flight */

struct manager {
    const struct flags *flags;
    struct outage outage; /* of the connection, at start */
    struct connection connection;
    struct leadership *leadership;
    struct backends backends;
    struct store_check *store_check;
    struct executor *executor;
    struct slots *slots;
    struct ledgers *ledgers;
    struct quarantine *quarantine;
    char *quarantine_name;
    struct ticker *housekeeping, *lookout, *cleaning, *recording, *checking;
    bool is_swept;   /* the sweep has succeeded */
    int64_t tidy_at; /* ms, monotonic: not before */
    struct event_recorder *events;
    struct metrics *metrics;
    struct operation_metrics operation_metrics;
    struct source_watches *source_watches, *secret_watches;
    struct reconcile_context context;
    struct controllers *controllers;
    struct serving_config serving_config;
    struct serving *serving;
    atomic_bool is_cut_off; /* the Lease is given up, since others may reach the API server */
    pthread_mutex_t ending; /* the drain's watchdog against what comes after the drain */
};

/* ---- Up ---- */

static int connect(struct manager *manager, struct error *error)
{
    int r = connection_init(&manager->connection, manager->flags, error);

    if (r < 0)
        return r;
    manager->leadership = leadership_new(&manager->connection);
    return connection_open(&manager->connection,
                           manager->flags->leader_elect ? leadership_guard : NULL,
                           manager->leadership, error);
}

static int serve(struct manager *manager, struct error *error)
{
    manager->metrics = metrics_new();
    operation_metrics_init(&manager->operation_metrics, manager->metrics);
    manager->controllers = controllers_new(&manager->context, manager->metrics,
                                           (size_t)manager->flags->operation_memory);
    manager->serving_config = (struct serving_config){.flags = manager->flags,
                                                      .metrics = manager->metrics,
                                                      .outage = &manager->outage,
                                                      .leadership = manager->leadership,
                                                      .backends = &manager->backends,
                                                      .controllers = manager->controllers};
    manager->serving = serving_new(&manager->serving_config, error);
    return manager->serving ? 0 : error->code;
}

static void retry_ledgers(void *arg)
{
    struct manager *manager = arg;

    ledgers_retry(manager->ledgers);
}

static void record_under_way(void *arg)
{
    struct manager *manager = arg;

    size_t ready = controllers_count_ready(manager->controllers);

    if (ready != SIZE_MAX)
        quarantine_forget_absent(manager->quarantine, controllers_list, manager->controllers);
    quarantine_tick(manager->quarantine, ready);
}

static void make_quarantine(struct manager *manager)
{
    const struct connection *connection = &manager->connection;

    manager->quarantine_name = str_printf("%s-under-way", manager->flags->lease_name);
    manager->quarantine =
        quarantine_new(&(struct quarantine_config){.client = connection->cluster.client,
                                                   .clock = &system_clock,
                                                   .namespace_name = connection->state_namespace,
                                                   .name = manager->quarantine_name,
                                                   .identity = connection->identity});
}

/* Before anything is reconciled. */
static void check_store(struct manager *manager, struct cancel *stop)
{
    const struct connection *connection = &manager->connection;
    const struct opened_store *opened = &manager->backends.opened;

    log_info("the store of State", "store", opened->place, NULL);
    manager->store_check = store_check_new(
        &(struct store_check_config){.store = opened->base,
                                     .gate = manager->backends.gate,
                                     .client = connection->cluster.client,
                                     .clock = &system_clock,
                                     .namespace_name = connection->state_namespace,
                                     .place = opened->place,
                                     .accept = manager->flags->accept_store,
                                     .permit = leadership_permit(manager->leadership),
                                     .patience = STORE_PATIENCE});
    store_check_begin(manager->store_check, stop);
    manager->checking =
        ticker_new(&system_clock, "store", STORE_INTERVAL, store_check_tick, manager->store_check);
}

static const char *why_cut_off(const struct manager *manager)
{
    int64_t timeout = manager->flags->blind_timeout;

    if (controllers_blind_for(manager->controllers) > timeout)
        return "the Lease is given up: the watches have failed for too long";
    if (kube_client_unanswered_for(manager->connection.cluster.client) > timeout)
        return "the Lease is given up: no change was answered for too long";
    return NULL;
}

/* Another may reach what we do not. */
static void look_out(void *arg)
{
    struct manager *manager = arg;
    const char *why = why_cut_off(manager);

    if (!why)
        return;
    atomic_store(&manager->is_cut_off, true);
    leadership_give_up(manager->leadership, why);
}

/* Once this process may act: its term begins. */
static void make_engine(struct manager *manager)
{
    manager->executor = executor_new(
        &(struct executor_config){.clock = &system_clock, .max_per_namespace = NAMESPACE_CALLS});
    manager->slots = slots_new(&(struct slots_config){.clock = &system_clock});
    manager->ledgers =
        ledgers_new(&(struct ledgers_config){.store = manager->backends.store,
                                             .clock = &system_clock,
                                             .permit = leadership_permit(manager->leadership),
                                             .term = system_clock.now(&system_clock),
                                             .effect_time = manager->flags->api_request_timeout});
    manager->housekeeping =
        ticker_new(&system_clock, "ledgers", LEDGERS_INTERVAL, retry_ledgers, manager);
    manager->events = event_recorder_new(manager->connection.cluster.client, &system_clock,
                                         "kusion-operator", manager->connection.identity);
}

static int fill_context(struct manager *manager, struct error *error)
{
    const struct flags *flags = manager->flags;
    struct reconcile_context *context = &manager->context;

    context->client = manager->connection.cluster.client;
    context->clock = &system_clock;
    context->executor = manager->executor;
    context->slots = manager->slots;
    context->store = manager->backends.store;
    context->gate = manager->backends.gate;
    context->ledgers = manager->ledgers;
    context->history = manager->backends.history;
    context->quarantine = manager->quarantine;
    manager->source_watches = source_watches_new(context->client, context->desk);
    context->source_watches = manager->source_watches;
    manager->secret_watches = source_watches_new(context->client, context->desk);
    context->secret_watches = manager->secret_watches;
    context->preview_ttl = flags->preview_ttl;
    context->preview_limit = (size_t)flags->preview_history_limit;
    context->secret_stores = &manager->backends.secrets.stores;
    context->runtimes = manager->backends.runtimes;
    context->n_runtimes = manager->backends.n_runtimes;
    context->permit = leadership_permit(manager->leadership);
    context->events = manager->events;
    context->metrics = &manager->operation_metrics;
    context->default_service_account = flags->default_service_account;
    context->act_as_controller = flags->act_as_controller;
    context->max_timeout = flags->max_timeout;
    context->min_interval = flags->min_interval;
    context->no_cross_namespace = flags->no_cross_namespace_refs;
    context->min_retry_interval = flags->min_retry_interval;
    context->verify_interval = flags->verify_interval;
    context->parallelism = (unsigned)flags->parallelism;
    context->epoch = leadership_epoch;
    context->epoch_arg = manager->leadership;
    return api_plan_key(context->client, manager->connection.state_namespace, context->plan_key,
                        error);
}

/* Documents of the store that nobody names any more, or pieces of them. */
static void tidy(struct manager *manager)
{
    struct store *store = manager->backends.store;
    const struct store_call call = {.permit = leadership_permit(manager->leadership)};
    struct error problem = {0};

    if (store->ops->tidy && store->ops->tidy(store, &call, &problem) < 0)
        log_warn("what earlier processes left in the store could not be removed", "reason",
                 problem.reason, "error", problem.message, NULL);
}

/* What earlier processes were killed over. */
static void clean_up(void *arg)
{
    struct manager *manager = arg;
    int64_t now = system_clock.monotonic(&system_clock);

    if (store_gate_ask(manager->backends.gate, NULL) < 0)
        return;
    if (!manager->is_swept)
        manager->is_swept =
            retention_sweep(&manager->context, manager->flags->watch_namespace) >= 0;
    if (!manager->is_swept || now < manager->tidy_at)
        return;
    tidy(manager);
    manager->tidy_at = now + TIDY_INTERVAL;
}

static int reconcile(struct manager *manager, struct cancel *stop, struct error *error)
{
    int r;

    check_store(manager, stop);
    make_engine(manager);
    make_quarantine(manager);
    r = fill_context(manager, error);
    if (r >= 0)
        r = controllers_start(manager->controllers, &manager->connection, error);
    if (r < 0)
        return r;
    manager->cleaning = ticker_new(&system_clock, "cleaning", SWEEP_INTERVAL, clean_up, manager);
    manager->recording =
        ticker_new(&system_clock, "under-way", RECORD_INTERVAL, record_under_way, manager);
    if (manager->flags->leader_elect)
        manager->lookout =
            ticker_new(&system_clock, "lookout", LOOKOUT_INTERVAL, look_out, manager);
    serving_set_phase(manager->serving, SERVING_RECONCILING);
    log_info("reconciling", "version", KUSION_VERSION, "stateNamespace",
             manager->connection.state_namespace, NULL);
    return 0;
}

static int start(struct manager *manager, struct cancel *stop, struct error *error)
{
    int r = connect(manager, error);

    if (r >= 0)
        r = serve(manager, error);
    if (r >= 0)
        r = connection_try(&manager->connection, &manager->outage, stop, error);
    if (r >= 0)
        r = backends_init(&manager->backends, &manager->connection, error);
    if (r < 0)
        return r;
    serving_set_phase(manager->serving, SERVING_ELECTING);
    r = leadership_take(manager->leadership, stop, error);
    return r < 0 ? r : reconcile(manager, stop, error);
}

/* ---- Down ---- */

/* What is stored is in order at any time. Who is cut off holds up nobody: calls that were sent are
 * in doubt for the next leader, as after a kill. */
static void end_anyway(void *arg)
{
    struct manager *manager = arg;

    log_error("a call in flight did not end in time", NULL);
    if (atomic_load(&manager->is_cut_off) && pthread_mutex_trylock(&manager->ending) == 0)
        leadership_resign(manager->leadership);
    _exit(1);
}

static bool is_call_in_flight(const struct manager *manager)
{
    struct executor_stats stats;

    executor_stats(manager->executor, &stats);
    return stats.running > 0;
}

/* Nothing new begins; what is in flight comes to its end, and its outcome is saved. */
static void drain(struct manager *manager, const char *reason)
{
    if (manager->serving)
        serving_set_phase(manager->serving, SERVING_DRAINING);
    ticker_free(TAKE(manager->lookout));
    ticker_free(TAKE(manager->cleaning));
    ticker_free(TAKE(manager->checking));
    ticker_free(TAKE(manager->recording));
    controllers_stop(manager->controllers, reason);
    source_watches_free(TAKE(manager->source_watches));
    source_watches_free(TAKE(manager->secret_watches));
    quarantine_end(manager->quarantine);
    backends_drain(&manager->backends);
    while (manager->executor && is_call_in_flight(manager))
        pause_for(DRAIN_LOOK, NULL);
    ticker_free(TAKE(manager->housekeeping));
    while (manager->ledgers && ledgers_drain(manager->ledgers) > 0)
        pause_for(LEDGERS_INTERVAL, NULL);
    executor_free(TAKE(manager->executor));
    slots_free(TAKE(manager->slots));
    ledgers_free(TAKE(manager->ledgers));
}

static void finish(struct manager *manager, const char *reason)
{
    int64_t time = manager->flags->drain_timeout;
    struct ticker *watchdog;

    if (atomic_load(&manager->is_cut_off) && time > CUT_OFF_DRAIN)
        time = CUT_OFF_DRAIN;
    watchdog = ticker_new(&system_clock, "drain", time, end_anyway, manager);

    drain(manager, reason);
    pthread_mutex_lock(&manager->ending);
    serving_free(manager->serving);
    controllers_free(manager->controllers);
    quarantine_free(manager->quarantine);
    free(manager->quarantine_name);
    event_recorder_free(manager->events);
    store_check_free(manager->store_check);
    backends_done(&manager->backends);
    leadership_free(manager->leadership);
    connection_done(&manager->connection);
    metrics_free(manager->metrics);
    outage_done(&manager->outage);
    ticker_free(watchdog);
    pthread_mutex_unlock(&manager->ending);
}

int manager_run(const struct flags *flags, struct cancel *stop, struct error *error)
{
    struct manager manager = {.flags = flags, .ending = PTHREAD_MUTEX_INITIALIZER};
    struct error problem = {0};
    int r;

    outage_init(&manager.outage, "the API server did not answer yet");
    r = start(&manager, stop, &problem);
    if (r >= 0)
        r = leadership_wait(manager.leadership, stop, &problem);
    finish(&manager, r == ERR_FENCED ? "LeaseLost" : "Shutdown");
    return r < 0 && r != ERR_CANCELLED ? err_copy(error, &problem) : 0;
}
