#include "runtimes/terraform/pool.h"

#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/threads/condition.h"
#include "engine/threads/locked.h"
#include "engine/threads/thread.h"
#include "runtimes/io/clock.h"
#include "runtimes/terraform/environment.h"
#include "runtimes/terraform/plugin/folder.h"
#include "runtimes/terraform/pooled.h"
#include "runtimes/terraform/providers.h"

#define MOST_STREAMS   64    /* calls in flight to one process; others wait in libcurl */
#define USES_PER_LOOK  16    /* at its memory */
#define IDLE_TIME      60000 /* ms until a process that is not used is stopped */
#define UNUSED_TIME    60000 /* ms without a process until a provider is forgotten */
#define SWEEP_INTERVAL 5000  /* ms */
#define LOOK_INTERVAL  200   /* ms between looks at the memory of processes that are there */
/* Bytes that a process may ask for at least: Go asks for much that it does not use. */
#define LEAST_MEMORY (INT64_C(256) << 20)
#define RETIRE_TIME  10000 /* ms that a namespace waits for its first process */
#define START_TIME   60000 /* ms for a process to start and to be configured */
#define AGAIN        1

#define LATE_START                                                                            \
    "a start has 60 s, whatever the timeout of the Spec is: look whether what its provider "  \
    "is configured with (extensions.providerMeta, its environment) can be reached, and that " \
    "the operator has enough CPU"

struct pool {
    struct pool_config config;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct pooled_list list;
    struct providers providers;
    struct finder *finder;
    char *folder; /* folder_claim() */
    int folder_lock;
    bool has_begun, stopping;
    pthread_t sweeper;
    struct processes *processes;
    struct http_loop *loop;
};

static int64_t now(void)
{
    return system_clock.monotonic(&system_clock);
}

const struct source *pool_find_allowed(const struct pool *pool, const struct source *source)
{
    for (size_t i = 0; i < pool->config.n_allowed; i++)
        if (str_equal(pool->config.allowed[i].address, source->address))
            return &pool->config.allowed[i];
    return NULL;
}

char *pool_refusal(const struct pool *pool, const struct source *source)
{
    struct buf text = BUF_INIT;

    buf_printf(&text,
               "the provider %s is not one that the operator may run; its flag "
               "--terraform-provider allows %s",
               source->shown, pool->config.n_allowed ? "" : "none");
    source_list(&text, pool->config.allowed, pool->config.n_allowed);
    return buf_take(&text);
}

/* State may have objects of a provider that no flag allows any more. */
static int check_allowed(const struct pool *pool, const struct source *source, struct error *error)
{
    _cleanup_free_ char *refusal = NULL;
    struct error failure = {0};

    if (pool_find_allowed(pool, source))
        return 0;
    refusal = pool_refusal(pool, source);
    err_set(&failure, ERR_UNSUPPORTED, "ProviderNotAllowed", "%s", refusal);
    err_hint(&failure,
             "with that flag (in the chart: terraform.providers) it goes on by itself; to leave "
             "the object where it is, set deletionPolicy: Orphan for a Spec that is being deleted, "
             "prune: false for a resource that was taken out of the Spec");
    return err_copy(error, &failure);
}

/* ---- Starting a process ---- */

/* A package that the lock file lists is the platform's choice, for all Specs. */
static int check_package(struct pool *pool, const struct need *need, const struct found *found,
                         struct error *error)
{
    _cleanup_free_ char *name = str_printf("%s %s", need->source.shown, found->version);
    int r = found->is_locked ? 0
                             : known_check(need->known, need->source.address, found->version, name,
                                           found->package->h1, error);

    if (r < 0)
        finder_doubt(pool->finder, &need->source);
    return r;
}

static int find_program(struct pool *pool, const struct need *need, const struct plugin_call *call,
                        struct found *ret, struct error *error)
{
    const struct finder_ask ask = {.namespace_name = need->namespace_name,
                                   .allowed = pool_find_allowed(pool, &need->source),
                                   .wanted = &need->source,
                                   .known = need->known};
    int r = finder_find(pool->finder, &ask, call->deadline, call->cancel, ret, error);

    return r < 0 ? r : check_package(pool, need, ret, error);
}

/* What one may ask for: so it takes no more than all may have between two looks. 0: no limit. */
static int64_t memory_of_process(const struct pool *pool)
{
    int64_t most = quota_most_memory(pool->config.memory);

    return most && most < LEAST_MEMORY ? LEAST_MEMORY : most;
}

static int start(struct pool *pool, struct pooled *pooled, const struct need *need,
                 const struct plugin_call *call, struct error *error)
{
    struct instance *instance = &pooled->base;
    _cleanup_(environment_strings_free_p) char **environment =
        environment_strings(need->environment);
    int r;

    r = plugin_start(&(struct plugin_config){.processes = pool->processes,
                                             .loop = pool->loop,
                                             .name = instance->provider->name,
                                             .program = instance->provider->program,
                                             .package = pooled->package->folder,
                                             .folder = pool->folder,
                                             .environment = (const char *const *)environment,
                                             .max_memory = memory_of_process(pool),
                                             .allow_unconfined = pool->config.allow_unconfined},
                     call, &instance->plugin, error);
    if (r >= 0)
        r = provider_greet(instance->provider, instance->plugin, call, &instance->warnings, error);
    if (r >= 0)
        r = provider_configure(instance->provider, instance->plugin, need->configuration, call,
                               &instance->warnings, error);
    if (r < 0)
        need_redact(need, error); /* all who wait for the process get this error */
    return r;
}

/* ---- The pool, with the lock ---- */

static void drop(struct pool *pool, struct pooled *pooled)
{
    LIST_REMOVE(pooled, entry);
    provider_leave(pooled->base.provider, now());
    pthread_cond_broadcast(&pool->changed);
}

/* What a caller waits for: its error when there is no time left. */
struct late {
    const char *message, *hint;
};

static const struct late no_process = {
    "no process of a provider was free in time: this namespace or all have as many as they may, "
    "and their calls take long",
    "it is tried again; raise --terraform-memory or the timeout of the Spec, or put fewer "
    "configurations of providers into one namespace"};

static int check_time(const struct plugin_call *call, const struct late *late, struct error *error)
{
    struct error failure = {0};

    if (cancel_fired(call->cancel))
        return err_set(error, ERR_CANCELLED, cancel_reason(call->cancel), "cancelled: %s",
                       cancel_reason(call->cancel));
    if (now() < call->deadline)
        return 0;
    err_set(&failure, ERR_TIMEOUT, NULL, "%s", late->message);
    err_hint(&failure, "%s", late->hint);
    return err_copy(error, &failure);
}

/* Returns when something has changed, or at `until`. */
static int wait(struct pool *pool, const struct plugin_call *call, int64_t until,
                const struct late *late, struct error *error)
{
    int r = check_time(call, late, error);

    if (r >= 0)
        system_clock.wait(&system_clock, &pool->changed, &pool->lock,
                          until < call->deadline ? until : call->deadline);
    return r;
}

/* Frees the lock while it does so. */
static void stop_one(struct pool *pool, struct pooled *pooled)
{
    drop(pool, pooled);
    pthread_mutex_unlock(&pool->lock);
    pooled_free(pooled);
    pthread_mutex_lock(&pool->lock);
}

/* Somebody who wants one more process. */
struct wish {
    const struct need *need;
    const struct plugin_call *call;
    int64_t retire_at; /* when somebody else's process is retired for it, if its namespace has none
                          yet */
};

/* Returns when there may be room for one more. */
static int make_room(struct pool *pool, enum quota_answer answer, struct wish *wish,
                     struct error *error)
{
    bool is_own = answer == QUOTA_OWN_FULL, is_first = answer == QUOTA_FIRST_FULL;
    struct pooled *idle = pooled_find_idle(&pool->list, is_own ? wish->need->namespace_name : NULL);

    if (idle) {
        stop_one(pool, idle);
        return 0;
    }
    /* Whoever uses the largest goes on with it, and it ends with their calls. */
    if (is_first && now() >= wish->retire_at)
        wish->retire_at =
            pooled_retire(&pool->list, wish->need->namespace_name, now(), RETIRE_TIME) +
            RETIRE_TIME;
    return wait(pool, wish->call, is_first ? wish->retire_at : CLOCK_FOREVER, &no_process, error);
}

static void leave(struct pool *pool, struct pooled *pooled)
{
    bool is_useless;

    pooled->users--;
    pooled->idle_since = now();
    if (pooled->uses % USES_PER_LOOK == 0)
        pooled_look(pooled);
    is_useless = pooled->phase == POOLED_FAILED || pooled->is_retired || pooled_is_worn(pooled);
    if (!pooled->users && is_useless)
        stop_one(pool, pooled);
    else if (!pooled->users)
        pthread_cond_broadcast(&pool->changed);
}

static int launch(struct pool *pool, struct pooled *pooled, const struct need *need,
                  const struct plugin_call *given, struct error *error)
{
    int64_t limit = now() + (pool->config.start_time > 0 ? pool->config.start_time : START_TIME);
    bool is_less = given->deadline < limit; /* time than a start has */
    struct plugin_call call = *given;
    struct error failure = {0};
    int r;

    if (!is_less) {
        call.deadline = limit;
        call.late_hint = LATE_START;
    }
    pthread_mutex_unlock(&pool->lock);
    r = start(pool, pooled, need, &call, &failure);
    pthread_mutex_lock(&pool->lock);
    pooled->phase = r < 0 ? POOLED_FAILED : POOLED_READY;
    pooled->error = failure;
    pooled->is_given_up = r == ERR_CANCELLED || (r == ERR_TIMEOUT && is_less);
    pooled_look(pooled);
    pooled->first_memory = pooled->memory;
    pthread_cond_broadcast(&pool->changed);
    return err_copy(error, &failure);
}

/* AGAIN: whoever started it has given up, and this caller has not. */
static int wait_for_start(struct pool *pool, const struct pooled *pooled,
                          const struct plugin_call *call, struct error *error)
{
    _cleanup_free_ char *message =
        str_printf("the provider %s did not start in time, in a process that others wait for, too",
                   pooled->base.provider->name);
    const struct late late = {
        message, "it is tried again; if it needs more time, raise the timeout of the Spec"};
    int r = 0;

    while (pooled->phase == POOLED_STARTING && r >= 0)
        r = wait(pool, call, CLOCK_FOREVER, &late, error);
    if (r < 0 || pooled->phase != POOLED_FAILED)
        return r;
    if (!pooled->is_given_up)
        return err_copy(error, &pooled->error);
    r = check_time(call, &late, error);
    return r < 0 ? r : AGAIN;
}

/* ---- The sweeper ---- */

/* Frees the lock while it does so. */
static bool stop_idle(struct pool *pool)
{
    struct pooled *idle = pooled_find_idle(&pool->list, NULL);

    if (!idle || (now() < idle->idle_since + IDLE_TIME && !pooled_is_worn(idle)))
        return false;
    stop_one(pool, idle);
    return true;
}

/* Likewise. */
static bool forget_unused(struct pool *pool)
{
    struct provider *provider = providers_forget(&pool->providers, now() - UNUSED_TIME);

    if (!provider)
        return false;
    pthread_mutex_unlock(&pool->lock);
    provider_free(provider);
    pthread_mutex_lock(&pool->lock);
    return true;
}

/* Frees the lock if it stops an idle one. One in use ends with its calls. */
static bool end_grown(struct pool *pool)
{
    struct pooled *pooled, *grown;

    LIST_FOREACH(pooled, &pool->list, entry) {
        pooled_look(pooled);
    }
    grown = pooled_find_grown(&pool->list, pool->config.memory);
    if (!grown)
        return false;
    if (!grown->users) {
        stop_one(pool, grown);
        return true;
    }
    grown->is_retired = true;
    plugin_kill_for_memory(grown->base.plugin);
    return false;
}

static void *sweep(void *arg)
{
    struct pool *pool = arg;

    LOCKED(&pool->lock);
    while (!pool->stopping) {
        bool is_watching = pool->config.memory && !LIST_EMPTY(&pool->list);

        if (!stop_idle(pool) && !forget_unused(pool) && !end_grown(pool))
            system_clock.wait(&system_clock, &pool->changed, &pool->lock,
                              now() + (is_watching ? LOOK_INTERVAL : SWEEP_INTERVAL));
    }
    return NULL;
}

/* For the finder: ends processes that are idle. */
static bool free_copies(void *arg, struct cache *cache, uint64_t bytes)
{
    struct pool *pool = arg;
    struct pooled *idle[QUOTA_PROCESSES];
    size_t n;
    bool has_room;

    pthread_mutex_lock(&pool->lock);
    has_room = pooled_find_room(&pool->list, cache, bytes, idle, &n);
    for (size_t i = 0; i < n; i++)
        drop(pool, idle[i]);
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < n; i++)
        pooled_free(idle[i]);
    return has_room;
}

/* With the lock: what all processes need is made when the first is started. Without a provider that
 * is allowed there is no folder for them. */
static int begin_threads(struct pool *pool, struct error *error)
{
    struct http_loop_config loop = {.name = "terraform",
                                    .max_connections = 1,
                                    .max_streams = MOST_STREAMS,
                                    .max_idle = 4 * QUOTA_PROCESSES};
    int r = 0;

    if (!pool->processes)
        r = processes_new("tf-processes", &pool->processes, error);
    if (r >= 0 && !pool->loop)
        r = http_loop_new(&loop, &pool->loop, error);
    if (r >= 0 && !pool->folder)
        r = folder_claim(pool->config.folder, &pool->folder, &pool->folder_lock, error);
    if (r < 0 || pool->has_begun)
        return r;
    if (!pool->config.finder.cache)
        pool->config.finder.cache = pool->folder;
    pool->config.finder.make_room = free_copies;
    pool->config.finder.arg = pool;
    if (!pool->finder)
        pool->finder = finder_new(&pool->config.finder);
    r = thread_start("tf-pool", THREAD_LARGE, sweep, pool, &pool->sweeper, error);
    pool->has_begun = r >= 0;
    return r;
}

/* ---- For others ---- */

static void on_cancel(void *arg)
{
    struct pool *pool = arg;
    LOCKED(&pool->lock);

    pthread_cond_broadcast(&pool->changed);
}

/* With the lock. A process that is there, or may be begun: then it is NULL. */
static int find_or_wait(struct pool *pool, const struct provider *provider, struct wish *wish,
                        struct pooled **ret, bool *ret_is_beyond, struct error *error)
{
    const struct need *need = wish->need;
    enum quota_answer answer;
    int r = 0;

    while (r >= 0 && !(*ret = pooled_find(&pool->list, provider, need->key))) {
        answer = pooled_ask(&pool->list, need->namespace_name, pool->config.memory);
        *ret_is_beyond = answer == QUOTA_BEYOND;
        if (answer == QUOTA_FREE || (*ret_is_beyond && !pooled_find_idle(&pool->list, NULL)))
            break;
        r = make_room(pool, answer, wish, error);
    }
    return r;
}

/* With the lock. A process that is there, or was begun: with this user counted. Or AGAIN. */
static int take_of(struct pool *pool, struct provider *provider, const struct need *need,
                   struct found *found, const struct plugin_call *call, struct pooled **ret,
                   struct error *error)
{
    struct wish wish = {.need = need, .call = call, .retire_at = now() + RETIRE_TIME};
    struct pooled *pooled = NULL;
    bool is_beyond = false;
    int r = find_or_wait(pool, provider, &wish, &pooled, &is_beyond, error);

    if (r < 0)
        return r;
    if (pooled) {
        pooled->users++;
        r = wait_for_start(pool, pooled, call, error);
    } else {
        pooled = pooled_add(&pool->list, provider, TAKE(found->package), need);
        provider->users++; /* drop() */
        pooled->is_beyond = is_beyond;
        pooled->users++;
        r = launch(pool, pooled, need, call, error);
    }
    if (r != 0) {
        leave(pool, pooled);
        return r;
    }
    pooled->uses++;
    *ret = pooled;
    return 0;
}

static int take_once(struct pool *pool, const struct need *need, struct found *found,
                     const struct plugin_call *call, struct pooled **ret, struct error *error)
{
    struct provider *provider;
    int r;
    LOCKED(&pool->lock);

    provider = providers_use(&pool->providers, &need->source, found);
    r = take_of(pool, provider, need, found, call, ret, error);
    provider_leave(provider, now());
    return r;
}

static int take(struct pool *pool, const struct need *need, const struct plugin_call *call,
                struct pooled **ret, struct error *error)
{
    int r;

    do {
        _cleanup_(found_done) struct found found = {0};

        r = find_program(pool, need, call, &found, error);
        if (r < 0)
            break;
        r = take_once(pool, need, &found, call, ret, error);
    } while (r == AGAIN);
    return r;
}

int pool_take(struct pool *pool, struct need *need, const struct plugin_call *call,
              struct instance **ret, struct error *error)
{
    struct cancel_listener *listener;
    struct pooled *pooled;
    int r = check_allowed(pool, &need->source, error);

    if (r < 0)
        return r;
    listener = cancel_listen(call->cancel, on_cancel, pool);
    pthread_mutex_lock(&pool->lock);
    r = begin_threads(pool, error);
    pthread_mutex_unlock(&pool->lock);
    if (r >= 0)
        r = take(pool, need, call, &pooled, error);
    cancel_unlisten(call->cancel, listener);
    if (r >= 0)
        *ret = &pooled->base;
    return r;
}

void pool_give_back(struct pool *pool, struct instance *instance)
{
    if (!instance)
        return;
    LOCKED(&pool->lock);
    leave(pool, (struct pooled *)instance);
}

struct pool *pool_new(const struct pool_config *config)
{
    struct pool *pool = NEW(struct pool);

    pool->config = *config;
    pthread_mutex_init(&pool->lock, NULL);
    condition_init(&pool->changed);
    LIST_INIT(&pool->list);
    providers_init(&pool->providers);
    return pool;
}

static void stop(struct pool *pool)
{
    struct pooled *pooled;

    pthread_mutex_lock(&pool->lock);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
    if (pool->has_begun)
        pthread_join(pool->sweeper, NULL);
    finder_stop(pool->finder); /* it ends processes, too */
    while ((pooled = LIST_FIRST(&pool->list))) {
        drop(pool, pooled);
        pooled_free(pooled);
    }
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    stop(pool);
    processes_free(pool->processes);
    http_loop_free(pool->loop);
    providers_done(&pool->providers);
    finder_free(pool->finder);
    if (pool->folder) {
        folder_remove(pool->folder);
        close(pool->folder_lock);
    }
    pthread_cond_destroy(&pool->changed);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}
