#include "runtimes/terraform/pool.h"

#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "engine/base/condition.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/terraform/environment.h"
#include "runtimes/terraform/plugin/folder.h"
#include "runtimes/terraform/quota.h"

#define MOST_STREAMS   64    /* calls in flight to one process; others wait in libcurl */
#define MOST_USES      20000 /* after which a process is started anew */
#define MOST_GROWTH    (INT64_C(128) << 20) /* bytes; likewise, when it has grown by that */
#define USES_PER_LOOK  16                   /* at its memory */
#define USUAL_MEMORY   (INT64_C(64) << 20)  /* bytes of a process of which nothing is known yet */
#define IDLE_TIME      60000                /* ms until a process that is not used is stopped */
#define SWEEP_INTERVAL 5000                 /* ms */
#define START_TIME     60000                /* ms for a process to start and to be configured */

enum phase { STARTING, READY, FAILED };

struct pooled {
    struct instance base;    /* first */
    struct package *package; /* that its program is of */
    LIST_ENTRY(pooled) entry;
    char key[HASH_HEX_SIZE];
    char *namespace_name;         /* whose it is */
    int64_t first_memory, memory; /* bytes: when it was ready, and when it was last looked at */
    enum phase phase;
    struct error error; /* of the start */
    unsigned users;     /* who use it, or wait for it */
    unsigned uses;
    bool is_retired; /* it is given to nobody any more */
    int64_t idle_since;
};

LIST_HEAD(pooled_list, pooled);

struct pool {
    struct pool_config config;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct pooled_list list;
    size_t count;
    struct strmap providers; /* program -> struct provider */
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

/* ---- Starting a process ---- */

/* With the lock: the provider whose program this is. */
static struct provider *provider_of(struct pool *pool, const struct source *source,
                                    const struct found *found)
{
    struct provider *provider = strmap_get(&pool->providers, found->program);

    if (!provider) {
        provider = provider_new(source, found);
        strmap_put(&pool->providers, provider->program, provider);
    }
    return provider;
}

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
    const struct source *allowed = pool_find_allowed(pool, &need->source);
    int r;

    if (!allowed)
        return err_set(error, ERR_UNSUPPORTED, "ProviderNotAllowed",
                       "the provider %s is not one that the operator may run: its flag "
                       "--terraform-provider names those",
                       need->source.shown);
    r = finder_find(pool->finder,
                    &(struct finder_ask){.namespace_name = need->namespace_name,
                                         .allowed = allowed,
                                         .wanted = &need->source,
                                         .known = need->known},
                    call->deadline, call->cancel, ret, error);
    return r < 0 ? r : check_package(pool, need, ret, error);
}

static int start(struct pool *pool, struct instance *instance, const struct need *need,
                 const struct plugin_call *given, struct error *error)
{
    _cleanup_(environment_strings_free_p) char **environment =
        environment_strings(need->environment);
    int64_t limit = now() + START_TIME;
    struct plugin_call call = *given;
    int r;

    if (limit < call.deadline)
        call.deadline = limit;
    r = plugin_start(&(struct plugin_config){.processes = pool->processes,
                                             .loop = pool->loop,
                                             .name = instance->provider->name,
                                             .program = instance->provider->program,
                                             .folder = pool->folder,
                                             .environment = (const char *const *)environment,
                                             .allow_unconfined = pool->config.allow_unconfined},
                     call.deadline, call.cancel, &instance->plugin, error);
    if (r >= 0)
        r = provider_greet(instance->provider, instance->plugin, &call, error);
    if (r >= 0)
        r = provider_configure(instance->provider, instance->plugin, need->configuration, &call,
                               error);
    if (r < 0)
        need_redact(need, error); /* all who wait for the process get this error */
    return r;
}

/* ---- The pool, with the lock ---- */

static void drop(struct pool *pool, struct pooled *pooled)
{
    LIST_REMOVE(pooled, entry);
    pool->count--;
    pthread_cond_broadcast(&pool->changed);
}

static void free_pooled(struct pooled *pooled)
{
    plugin_free(pooled->base.plugin);
    free(pooled->namespace_name);
    package_give_back(pooled->package);
    free(pooled);
}

static void look_at_memory(struct pooled *pooled)
{
    if (pooled->phase == READY)
        pooled->memory = plugin_memory(pooled->base.plugin);
}

static bool is_worn(struct pooled *pooled)
{
    return pooled->phase == READY &&
           (pooled->uses >= MOST_USES || pooled->memory - pooled->first_memory > MOST_GROWTH ||
            plugin_has_ended(pooled->base.plugin));
}

static struct pooled *find(struct pool *pool, const struct provider *provider, const char *key)
{
    struct pooled *pooled;

    LIST_FOREACH(pooled, &pool->list, entry) {
        if (pooled->phase != FAILED && is_worn(pooled))
            pooled->is_retired = true;
        if (!pooled->is_retired && pooled->phase != FAILED && pooled->base.provider == provider &&
            str_equal(pooled->key, key))
            return pooled;
    }
    return NULL;
}

/* The one that was not used for the longest time, of a namespace or (NULL) of all; NULL: all are in
 * use. */
static struct pooled *find_idle(struct pool *pool, const char *namespace_name)
{
    struct pooled *pooled, *found = NULL;

    LIST_FOREACH(pooled, &pool->list, entry) {
        if (!pooled->users && (!found || pooled->idle_since < found->idle_since) &&
            (!namespace_name || str_equal(pooled->namespace_name, namespace_name)))
            found = pooled;
    }
    return found;
}

static int wait(struct pool *pool, const struct plugin_call *call, struct error *error)
{
    if (cancel_fired(call->cancel))
        return err_set(error, ERR_CANCELLED, cancel_reason(call->cancel), "cancelled: %s",
                       cancel_reason(call->cancel));
    if (now() >= call->deadline)
        return err_set(error, ERR_TIMEOUT, NULL,
                       "no process of a provider was free in time: this namespace or all have as "
                       "many as they may, and their calls take long");
    system_clock.wait(&system_clock, &pool->changed, &pool->lock, call->deadline);
    return 0;
}

/* Frees the lock while it does so. */
static void stop_one(struct pool *pool, struct pooled *pooled)
{
    drop(pool, pooled);
    pthread_mutex_unlock(&pool->lock);
    free_pooled(pooled);
    pthread_mutex_lock(&pool->lock);
}

static enum quota_answer ask_quota(struct pool *pool, const struct need *need)
{
    struct quota_use use = {.processes = pool->count,
                            .memory = USUAL_MEMORY,
                            .memory_of_namespace = USUAL_MEMORY,
                            .memory_limit = pool->config.memory};
    struct pooled *pooled;

    LIST_FOREACH(pooled, &pool->list, entry) {
        look_at_memory(pooled);
        use.memory += pooled->memory;
        if (!str_equal(pooled->namespace_name, need->namespace_name))
            continue;
        use.of_namespace++;
        use.memory_of_namespace += pooled->memory;
    }
    return quota_ask(&use);
}

/* Returns when there may be room for one more. */
static int make_room(struct pool *pool, enum quota_answer answer, const struct need *need,
                     const struct plugin_call *call, struct error *error)
{
    struct pooled *idle = find_idle(pool, answer == QUOTA_OWN_FULL ? need->namespace_name : NULL);

    if (!idle)
        return wait(pool, call, error);
    stop_one(pool, idle);
    return 0;
}

static void leave(struct pool *pool, struct pooled *pooled)
{
    bool is_useless;

    pooled->users--;
    pooled->idle_since = now();
    if (pooled->uses % USES_PER_LOOK == 0)
        look_at_memory(pooled);
    is_useless = pooled->phase == FAILED || pooled->is_retired || is_worn(pooled);
    if (!pooled->users && is_useless)
        stop_one(pool, pooled);
    else if (!pooled->users)
        pthread_cond_broadcast(&pool->changed);
}

/* Takes the package over. */
static struct pooled *begin(struct pool *pool, struct provider *provider, struct found *found,
                            const struct need *need)
{
    struct pooled *pooled = NEW(struct pooled);

    pooled->base.provider = provider;
    pooled->package = TAKE(found->package);
    memcpy(pooled->key, need->key, sizeof(pooled->key));
    pooled->namespace_name = str_new(need->namespace_name);
    pooled->memory = USUAL_MEMORY;
    pooled->phase = STARTING;
    LIST_INSERT_HEAD(&pool->list, pooled, entry);
    pool->count++;
    return pooled;
}

static void launch(struct pool *pool, struct pooled *pooled, const struct need *need,
                   const struct plugin_call *call)
{
    struct error error = {0};
    int r;

    pthread_mutex_unlock(&pool->lock);
    r = start(pool, &pooled->base, need, call, &error);
    pthread_mutex_lock(&pool->lock);
    pooled->phase = r < 0 ? FAILED : READY;
    pooled->error = error;
    look_at_memory(pooled);
    pooled->first_memory = pooled->memory;
    pthread_cond_broadcast(&pool->changed);
}

/* ---- The sweeper ---- */

static void *sweep(void *arg)
{
    struct pool *pool = arg;

    pthread_mutex_lock(&pool->lock);
    while (!pool->stopping) {
        struct pooled *idle = find_idle(pool, NULL);

        if (idle && (now() >= idle->idle_since + IDLE_TIME || is_worn(idle))) {
            stop_one(pool, idle);
            continue;
        }
        system_clock.wait(&system_clock, &pool->changed, &pool->lock, now() + SWEEP_INTERVAL);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* With the lock: what all processes need is made when the first is started. */
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
    if (!pool->finder)
        pool->finder = finder_new(&pool->config.finder);
    if (pthread_create(&pool->sweeper, NULL, sweep, pool) != 0)
        return err_set(error, ERR_UNAVAILABLE, "ThreadNotStarted", "a thread cannot be started");
    pthread_setname_np(pool->sweeper, "tf-pool");
    pool->has_begun = true;
    return 0;
}

/* ---- For others ---- */

static void on_cancel(void *arg)
{
    struct pool *pool = arg;

    pthread_mutex_lock(&pool->lock);
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

/* With the lock. *ret: with this user counted. */
static int take_once(struct pool *pool, const struct need *need, struct found *found,
                     const struct plugin_call *call, struct pooled **ret, struct error *error)
{
    struct provider *provider = provider_of(pool, &need->source, found);
    struct pooled *pooled = NULL;
    enum quota_answer answer;
    int r = 0;

    while (r >= 0 && !(pooled = find(pool, provider, need->key)) &&
           (answer = ask_quota(pool, need)) != QUOTA_FREE)
        r = make_room(pool, answer, need, call, error);
    if (r < 0)
        return r;
    if (pooled) {
        pooled->users++;
    } else {
        pooled = begin(pool, provider, found, need);
        pooled->users++;
        launch(pool, pooled, need, call);
    }
    while (pooled->phase == STARTING && r >= 0)
        r = wait(pool, call, error);
    if (r >= 0 && pooled->phase == FAILED)
        r = err_copy(error, &pooled->error);
    if (r < 0) {
        leave(pool, pooled);
        return r;
    }
    pooled->uses++;
    *ret = pooled;
    return 0;
}

/* A start that another caller's cancellation ended is tried again. */
static int take(struct pool *pool, const struct need *need, const struct plugin_call *call,
                struct pooled **ret, struct error *error)
{
    struct error failure;
    int r;

    do {
        _cleanup_(found_done) struct found found = {0};

        failure = (struct error){0};
        r = find_program(pool, need, call, &found, &failure);
        if (r < 0)
            break;
        pthread_mutex_lock(&pool->lock);
        r = take_once(pool, need, &found, call, ret, &failure);
        pthread_mutex_unlock(&pool->lock);
    } while (r == ERR_CANCELLED && !cancel_fired(call->cancel));
    return err_copy(error, &failure);
}

int pool_take(struct pool *pool, struct need *need, const struct plugin_call *call,
              struct instance **ret, struct error *error)
{
    struct cancel_listener *listener = cancel_listen(call->cancel, on_cancel, pool);
    struct pooled *pooled;
    int r;

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
    pthread_mutex_lock(&pool->lock);
    leave(pool, (struct pooled *)instance);
    pthread_mutex_unlock(&pool->lock);
}

struct pool *pool_new(const struct pool_config *config)
{
    struct pool *pool = NEW(struct pool);

    pool->config = *config;
    pthread_mutex_init(&pool->lock, NULL);
    condition_init(&pool->changed);
    LIST_INIT(&pool->list);
    strmap_init(&pool->providers);
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
    while ((pooled = LIST_FIRST(&pool->list))) {
        LIST_REMOVE(pooled, entry);
        free_pooled(pooled);
    }
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    stop(pool);
    processes_free(pool->processes);
    http_loop_free(pool->loop);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&pool->providers, e));)
        provider_free(e->value);
    strmap_done(&pool->providers);
    finder_free(pool->finder);
    if (pool->folder) {
        folder_remove(pool->folder);
        close(pool->folder_lock);
    }
    pthread_cond_destroy(&pool->changed);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}
