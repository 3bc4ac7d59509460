#include "runtimes/terraform/finder.h"

#include <pthread.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/threads/condition.h"
#include "engine/threads/locked.h"
#include "engine/threads/thread.h"
#include "runtimes/io/clock.h"
#include "runtimes/terraform/looks.h"
#include "runtimes/terraform/recorded.h"

#define THREADS     3
#define PATIENCE    15000  /* ms */
#define FIRST_RETRY 1000   /* ms, doubled each time */
#define LAST_RETRY  300000 /* ms */
#define LAST_LOCAL  5000   /* ms, where nothing is asked over the network */
#define DOUBT_AFTER 60000  /* ms */

struct finder {
    struct finder_config config;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct looks looks;
    struct remote *remote;
    struct cancel *cancel;
    unsigned threads;
    bool stopping;

    pthread_mutex_t opening;
    struct cache *cache; /* NULL: not opened yet. Under `opening`; or once a fetch has used it */
};

static int64_t now(void)
{
    return system_clock.monotonic(&system_clock);
}

/* ---- Threads ---- */

static void succeed(struct look *look, struct found *found)
{
    free(look->version);
    free(look->package);
    free(look->program);
    look->version = TAKE(found->version);
    look->package = str_new(found->package->name);
    look->program = TAKE(found->program);
    look->is_locked = found->is_locked;
    look->failures = 0;
    look->phase = LOOK_FOUND;
}

static void fail(struct look *look, const struct error *error)
{
    /* The version that served so far is not there any more: another one may be. */
    if (error->code == ERR_NOT_FOUND)
        free(TAKE(look->version));
    look->error = *error;
    look->failures++;
    look->phase = LOOK_FAILED;
}

/* Reads what is there, and removes what was left: without the lock. */
static int open_cache(struct finder *finder, struct cache **ret, struct error *error)
{
    const struct finder_config *config = &finder->config;
    int r = 0;
    LOCKED(&finder->opening);

    if (!finder->cache)
        r = cache_new(config->cache, config->cache_bytes, &finder->cache, error);
    *ret = finder->cache;
    return r;
}

static int fetch(struct finder *finder, const struct wanted *wanted, struct found *ret,
                 struct error *error)
{
    struct fetching fetching = {
        .config = &finder->config, .remote = finder->remote, .cancel = finder->cancel};
    int r = open_cache(finder, &fetching.cache, error);

    return r < 0 ? r : fetch_provider(&fetching, wanted, ret, error);
}

/* What a version has to meet. version: that serves already; or NULL. */
static struct wanted wanted_of(const struct finder *finder, const struct source *allowed,
                               const struct source *wanted, const char *version)
{
    const struct locked *locked = lock_file_find(finder->config.locked, wanted->address);

    return (struct wanted){.source = wanted,
                           .allowed = allowed,
                           .constraints = {allowed->version, version ? version : wanted->version,
                                           locked ? locked->version : NULL}};
}

/* With the lock, which is released meanwhile. */
static void do_look(struct finder *finder, struct look *look)
{
    _cleanup_free_ char *version = str_new(look->version);
    struct wanted wanted = wanted_of(finder, &look->allowed, &look->wanted, version);
    _cleanup_(found_done) struct found found = {0};
    struct error error = {0};
    int r;

    pthread_mutex_unlock(&finder->lock);
    r = fetch(finder, &wanted, &found, &error);
    pthread_mutex_lock(&finder->lock);
    looks_end(look);
    if (r >= 0)
        succeed(look, &found);
    else
        fail(look, &error);
    look->since = now();
    pthread_cond_broadcast(&finder->changed);
}

/* What another thread's provider keeps waiting, that thread does next. */
static void *work(void *arg)
{
    struct finder *finder = arg;
    struct look *look;
    LOCKED(&finder->lock);

    while (!finder->stopping && (look = looks_begin(&finder->looks)))
        do_look(finder, look);
    finder->threads--;
    pthread_cond_broadcast(&finder->changed);
    return NULL;
}

static int queue(struct finder *finder, struct look *look, struct error *error)
{
    struct error problem = {0};
    pthread_t thread;

    look->phase = LOOK_QUEUED;
    look->since = now();
    if (finder->threads == THREADS)
        return 0;
    if (thread_start("tf-finder", THREAD_LARGE, work, finder, &thread, &problem) < 0) {
        look->phase = finder->threads ? LOOK_QUEUED : LOOK_IDLE;
        return finder->threads ? 0 : err_copy(error, &problem);
    }
    pthread_detach(thread);
    finder->threads++;
    return 0;
}

/* ---- Callers, with the lock ---- */

static bool is_retry_due(const struct finder *finder, const struct look *look)
{
    bool is_local =
        look->allowed.folder || (!finder->config.network_mirror && !finder->config.remote.n_hosts);
    int64_t last = is_local ? LAST_LOCAL : LAST_RETRY, delay = FIRST_RETRY;

    for (unsigned i = 1; i < look->failures && delay < last; i++)
        delay *= 2;
    return now() >= look->since + (delay < last ? delay : last);
}

/* Releases the lock meanwhile. False: the copy is gone. */
static bool take_found(struct finder *finder, const struct look *look, struct found *ret)
{
    _cleanup_free_ char *package = str_new(look->package);
    struct found found = {.version = str_new(look->version),
                          .program = str_new(look->program),
                          .is_locked = look->is_locked};

    pthread_mutex_unlock(&finder->lock);
    found.package = cache_find(finder->cache, package);
    pthread_mutex_lock(&finder->lock);
    if (!found.package) {
        found_done(&found);
        return false;
    }
    *ret = found;
    return true;
}

/* 1: it is under way. */
static int look_once(struct finder *finder, struct look *look, struct found *ret,
                     struct error *error)
{
    int r;

    if (look->phase == LOOK_FOUND && take_found(finder, look, ret))
        return 0;
    if (look->phase == LOOK_FAILED && !is_retry_due(finder, look))
        return err_copy(error, &look->error);
    if (look_is_at_work(look))
        return 1;
    r = queue(finder, look, error);
    return r < 0 ? r : 1;
}

/* How the last attempt ended; also while the next one is under way. */
static bool is_unreachable(const struct look *look)
{
    return look->failures && look->error.code == ERR_UNAVAILABLE &&
           str_equal(look->error.reason, REMOTE_FAILED);
}

/* Releases the lock meanwhile. */
static bool take_recorded(struct finder *finder, const struct finder_ask *ask, struct found *ret)
{
    const struct locked *locked = lock_file_find(finder->config.locked, ask->wanted->address);
    struct wanted wanted = wanted_of(finder, ask->allowed, ask->wanted, NULL);
    int r;

    pthread_mutex_unlock(&finder->lock);
    r = recorded_find(finder->cache, &wanted, ask->known, locked, ret);
    pthread_mutex_lock(&finder->lock);
    return r >= 0;
}

static int look_or_recall(struct finder *finder, struct look *look, const struct finder_ask *ask,
                          struct found *ret, struct error *error)
{
    struct error failure = {0};
    int r = look_once(finder, look, ret, &failure);

    if (r != 0 && is_unreachable(look) && take_recorded(finder, ask, ret))
        return 0;
    return r < 0 ? err_copy(error, &failure) : r;
}

static int wait(struct finder *finder, const struct look *look, int64_t limit,
                struct cancel *cancel, struct error *error)
{
    if (cancel_fired(cancel))
        return err_set(error, ERR_CANCELLED, cancel_reason(cancel), "cancelled: %s",
                       cancel_reason(cancel));
    if (now() >= limit)
        return err_set(error, ERR_UNAVAILABLE, "ProviderDownloading",
                       "the provider %s is being fetched", look->wanted.shown);
    system_clock.wait(&system_clock, &finder->changed, &finder->lock, limit);
    return 0;
}

static int find(struct finder *finder, const struct finder_ask *ask, int64_t limit,
                struct cancel *cancel, struct found *ret, struct error *error)
{
    struct claim *claim =
        looks_claim(&finder->looks, ask->namespace_name, ask->allowed, ask->wanted);
    int r;

    if (!claim)
        return err_set(error, ERR_UNAVAILABLE, "ProviderDownloading",
                       "the provider %s has to wait until others have been fetched: too many are "
                       "wanted at once, by this namespace or by all; it is tried again",
                       ask->wanted->shown);
    claim->callers++;
    while ((r = look_or_recall(finder, claim->look, ask, ret, error)) == 1 &&
           (r = wait(finder, claim->look, limit, cancel, error)) >= 0)
        ;
    claim->callers--;
    return r;
}

/* ---- For others ---- */

static void on_cancel(void *arg)
{
    struct finder *finder = arg;
    LOCKED(&finder->lock);

    pthread_cond_broadcast(&finder->changed);
}

int finder_find(struct finder *finder, const struct finder_ask *ask, int64_t deadline,
                struct cancel *cancel, struct found *ret, struct error *error)
{
    struct cancel_listener *listener = cancel_listen(cancel, on_cancel, finder);
    int64_t limit = now() + (finder->config.patience > 0 ? finder->config.patience : PATIENCE);
    int r;

    pthread_mutex_lock(&finder->lock);
    r = find(finder, ask, deadline < limit ? deadline : limit, cancel, ret, error);
    pthread_mutex_unlock(&finder->lock);
    cancel_unlisten(cancel, listener);
    return r;
}

void finder_doubt(struct finder *finder, const struct source *wanted)
{
    LOCKED(&finder->lock);
    struct look *look = looks_get(&finder->looks, wanted);

    if (look && look->phase == LOOK_FOUND && now() >= look->since + DOUBT_AFTER)
        look->phase = LOOK_IDLE;
}

struct finder *finder_new(const struct finder_config *config)
{
    struct finder *finder = NEW(struct finder);

    finder->config = *config;
    pthread_mutex_init(&finder->lock, NULL);
    pthread_mutex_init(&finder->opening, NULL);
    condition_init(&finder->changed);
    looks_init(&finder->looks);
    finder->remote = remote_new(&finder->config.remote);
    finder->cancel = cancel_new(NULL);
    return finder;
}

void finder_stop(struct finder *finder)
{
    if (!finder)
        return;
    cancel_fire(finder->cancel, "Shutdown");
    LOCKED(&finder->lock);
    finder->stopping = true;
    while (finder->threads)
        system_clock.wait(&system_clock, &finder->changed, &finder->lock, CLOCK_FOREVER);
}

void finder_free(struct finder *finder)
{
    if (!finder)
        return;
    finder_stop(finder);
    looks_done(&finder->looks);
    cache_free(finder->cache);
    remote_free(finder->remote);
    cancel_free(finder->cancel);
    pthread_cond_destroy(&finder->changed);
    pthread_mutex_destroy(&finder->opening);
    pthread_mutex_destroy(&finder->lock);
    free(finder);
}
