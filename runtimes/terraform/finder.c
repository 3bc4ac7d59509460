#include "runtimes/terraform/finder.h"

#include <pthread.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "engine/base/condition.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/terraform/finder_fetch.h"

#define THREADS      3
#define MOST_ENTRIES 256
#define PATIENCE     15000  /* ms */
#define FIRST_RETRY  1000   /* ms, doubled each time */
#define LAST_RETRY   300000 /* ms */
#define LAST_LOCAL   5000   /* ms, where nothing is asked over the network */
#define DOUBT_AFTER  60000  /* ms */

enum phase { IDLE, QUEUED, FETCHING, FOUND, FAILED };

/* What one kind of caller wants: a provider, and a constraint. */
struct entry {
    TAILQ_ENTRY(entry) entry;
    char *key;
    struct source allowed, wanted;
    enum phase phase;
    unsigned callers;
    int64_t since;      /* when it was found, or failed */
    struct error error; /* FAILED */
    unsigned failures;
    char *version; /* that was found first; NULL: none yet */
    char *package; /* the name of the copy, which may be removed meanwhile; NULL: none yet */
    char *program;
    bool is_locked;
};

TAILQ_HEAD(entries, entry);

struct finder {
    struct finder_config config;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct entries entries; /* the last used is the first */
    size_t count;
    struct cache *cache;
    struct remote *remote;
    struct cancel *cancel;
    unsigned threads;
    bool stopping;
};

static int64_t now(void)
{
    return system_clock.monotonic(&system_clock);
}

void found_done(struct found *found)
{
    package_give_back(found->package);
    free(found->version);
    free(found->program);
    *found = (struct found){0};
}

/* ---- Entries, with the lock ---- */

static void free_entry(struct entry *entry)
{
    free(entry->key);
    source_done(&entry->allowed);
    source_done(&entry->wanted);
    free(entry->version);
    free(entry->package);
    free(entry->program);
    free(entry);
}

static bool is_at_work(const struct entry *entry)
{
    return entry->phase == QUEUED || entry->phase == FETCHING;
}

/* free() */
static char *key_of(const struct source *wanted)
{
    return str_printf("%s %s", wanted->address, wanted->version ? wanted->version : "");
}

static struct entry *find_entry(struct finder *finder, const struct source *wanted)
{
    _cleanup_free_ char *key = key_of(wanted);
    struct entry *entry;

    TAILQ_FOREACH(entry, &finder->entries, entry) {
        if (str_equal(entry->key, key))
            return entry;
    }
    return NULL;
}

/* False: all are in use. */
static bool make_room(struct finder *finder)
{
    struct entry *entry;

    if (finder->count < MOST_ENTRIES)
        return true;
    TAILQ_FOREACH_REVERSE(entry, &finder->entries, entries, entry)
    {
        if (entry->callers || is_at_work(entry))
            continue;
        TAILQ_REMOVE(&finder->entries, entry, entry);
        finder->count--;
        free_entry(entry);
        return true;
    }
    return false;
}

static struct entry *use_entry(struct finder *finder, const struct source *allowed,
                               const struct source *wanted)
{
    struct entry *entry = find_entry(finder, wanted);

    if (entry) {
        TAILQ_REMOVE(&finder->entries, entry, entry);
    } else {
        if (!make_room(finder))
            return NULL;
        entry = NEW(struct entry);
        entry->key = key_of(wanted);
        source_copy(&entry->allowed, allowed);
        source_copy(&entry->wanted, wanted);
        finder->count++;
    }
    TAILQ_INSERT_HEAD(&finder->entries, entry, entry);
    return entry;
}

/* ---- Threads ---- */

static void succeed(struct entry *entry, struct found *found)
{
    free(entry->version);
    free(entry->package);
    free(entry->program);
    entry->version = TAKE(found->version);
    entry->package = str_new(found->package->name);
    entry->program = TAKE(found->program);
    entry->is_locked = found->is_locked;
    entry->failures = 0;
    entry->phase = FOUND;
}

static void fail(struct entry *entry, const struct error *error)
{
    /* The version that served so far is not there any more: another one may be. */
    if (error->code == ERR_NOT_FOUND)
        free(TAKE(entry->version));
    entry->error = *error;
    entry->failures++;
    entry->phase = FAILED;
}

/* With the lock, which is released meanwhile. */
static void fetch(struct finder *finder, struct entry *entry)
{
    const struct locked *locked = lock_file_find(finder->config.locked, entry->wanted.address);
    _cleanup_free_ char *version = str_new(entry->version);
    struct wanted wanted = {.source = &entry->wanted,
                            .constraints = {entry->allowed.version,
                                            version ? version : entry->wanted.version,
                                            locked ? locked->version : NULL}};
    struct fetching fetching = {.config = &finder->config,
                                .cache = finder->cache,
                                .remote = finder->remote,
                                .cancel = finder->cancel};
    struct found found = {0};
    struct error error = {0};
    int r;

    entry->phase = FETCHING;
    pthread_mutex_unlock(&finder->lock);
    r = fetch_provider(&fetching, &wanted, &found, &error);
    pthread_mutex_lock(&finder->lock);
    if (r >= 0)
        succeed(entry, &found);
    else
        fail(entry, &error);
    entry->since = now();
    found_done(&found);
    pthread_cond_broadcast(&finder->changed);
}

static bool is_provider_busy(struct finder *finder, const struct source *source)
{
    struct entry *entry;

    TAILQ_FOREACH(entry, &finder->entries, entry) {
        if (entry->phase == FETCHING && str_equal(entry->wanted.address, source->address))
            return true;
    }
    return false;
}

/* The one that waits longest. */
static struct entry *next_entry(struct finder *finder)
{
    struct entry *entry, *next = NULL;

    TAILQ_FOREACH(entry, &finder->entries, entry) {
        if (entry->phase == QUEUED && (!next || entry->since < next->since) &&
            !is_provider_busy(finder, &entry->wanted))
            next = entry;
    }
    return next;
}

/* What another thread's provider keeps waiting, that thread does next. */
static void *work(void *arg)
{
    struct finder *finder = arg;
    struct entry *entry;

    pthread_mutex_lock(&finder->lock);
    while (!finder->stopping && (entry = next_entry(finder)))
        fetch(finder, entry);
    finder->threads--;
    pthread_cond_broadcast(&finder->changed);
    pthread_mutex_unlock(&finder->lock);
    return NULL;
}

static int queue(struct finder *finder, struct entry *entry, struct error *error)
{
    pthread_t thread;

    entry->phase = QUEUED;
    entry->since = now();
    if (finder->threads == THREADS)
        return 0;
    if (pthread_create(&thread, NULL, work, finder) != 0) {
        entry->phase = finder->threads ? QUEUED : IDLE;
        return finder->threads ? 0
                               : err_set(error, ERR_UNAVAILABLE, "ThreadNotStarted",
                                         "a thread cannot be started");
    }
    pthread_setname_np(thread, "tf-finder");
    pthread_detach(thread);
    finder->threads++;
    return 0;
}

/* ---- For others ---- */

static int begin(struct finder *finder, struct error *error)
{
    if (!finder->remote)
        finder->remote = remote_new(&finder->config.remote);
    return finder->cache
               ? 0
               : cache_new(finder->config.cache, finder->config.cache_bytes, &finder->cache, error);
}

static bool is_retry_due(const struct finder *finder, const struct entry *entry)
{
    bool is_local = !finder->config.network_mirror && !finder->config.remote.n_hosts;
    int64_t last = is_local ? LAST_LOCAL : LAST_RETRY, delay = FIRST_RETRY;

    for (unsigned i = 1; i < entry->failures && delay < last; i++)
        delay *= 2;
    return now() >= entry->since + (delay < last ? delay : last);
}

/* False: the copy is gone. */
static bool take_found(struct finder *finder, struct entry *entry, struct found *ret)
{
    struct found found = {0};

    if (cache_find(finder->cache, entry->package, &found.package, NULL) < 0)
        return false;
    found.version = str_new(entry->version);
    found.program = str_new(entry->program);
    found.is_locked = entry->is_locked;
    *ret = found;
    return true;
}

/* With the lock. 1: it is under way. */
static int look(struct finder *finder, struct entry *entry, struct found *ret, struct error *error)
{
    int r;

    if (entry->phase == FOUND && take_found(finder, entry, ret))
        return 0;
    if (entry->phase == FAILED && !is_retry_due(finder, entry))
        return err_copy(error, &entry->error);
    if (is_at_work(entry))
        return 1;
    r = queue(finder, entry, error);
    return r < 0 ? r : 1;
}

static int wait(struct finder *finder, const struct entry *entry, int64_t limit,
                struct cancel *cancel, struct error *error)
{
    if (cancel_fired(cancel))
        return err_set(error, ERR_CANCELLED, cancel_reason(cancel), "cancelled: %s",
                       cancel_reason(cancel));
    if (now() >= limit)
        return err_set(error, ERR_UNAVAILABLE, "ProviderDownloading",
                       "the provider %s is being fetched", entry->wanted.shown);
    system_clock.wait(&system_clock, &finder->changed, &finder->lock, limit);
    return 0;
}

static void on_cancel(void *arg)
{
    struct finder *finder = arg;

    pthread_mutex_lock(&finder->lock);
    pthread_cond_broadcast(&finder->changed);
    pthread_mutex_unlock(&finder->lock);
}

static int find(struct finder *finder, const struct source *allowed, const struct source *wanted,
                int64_t limit, struct cancel *cancel, struct found *ret, struct error *error)
{
    struct entry *entry;
    int r = begin(finder, error);

    if (r < 0)
        return r;
    entry = use_entry(finder, allowed, wanted);
    if (!entry)
        return err_set(error, ERR_UNAVAILABLE, "ProviderDownloading",
                       "too many providers are being fetched");
    entry->callers++;
    while ((r = look(finder, entry, ret, error)) == 1 &&
           (r = wait(finder, entry, limit, cancel, error)) >= 0)
        ;
    entry->callers--;
    return r;
}

int finder_find(struct finder *finder, const struct source *allowed, const struct source *wanted,
                int64_t deadline, struct cancel *cancel, struct found *ret, struct error *error)
{
    struct cancel_listener *listener = cancel_listen(cancel, on_cancel, finder);
    int64_t limit = now() + (finder->config.patience > 0 ? finder->config.patience : PATIENCE);
    int r;

    pthread_mutex_lock(&finder->lock);
    r = find(finder, allowed, wanted, deadline < limit ? deadline : limit, cancel, ret, error);
    pthread_mutex_unlock(&finder->lock);
    cancel_unlisten(cancel, listener);
    return r;
}

void finder_doubt(struct finder *finder, const struct source *wanted)
{
    struct entry *entry;

    pthread_mutex_lock(&finder->lock);
    entry = find_entry(finder, wanted);
    if (entry && entry->phase == FOUND && now() >= entry->since + DOUBT_AFTER)
        entry->phase = IDLE;
    pthread_mutex_unlock(&finder->lock);
}

struct finder *finder_new(const struct finder_config *config)
{
    struct finder *finder = NEW(struct finder);

    finder->config = *config;
    pthread_mutex_init(&finder->lock, NULL);
    condition_init(&finder->changed);
    TAILQ_INIT(&finder->entries);
    finder->cancel = cancel_new(NULL);
    return finder;
}

void finder_free(struct finder *finder)
{
    struct entry *entry;

    if (!finder)
        return;
    cancel_fire(finder->cancel, "Shutdown");
    pthread_mutex_lock(&finder->lock);
    finder->stopping = true;
    while (finder->threads)
        system_clock.wait(&system_clock, &finder->changed, &finder->lock, CLOCK_FOREVER);
    pthread_mutex_unlock(&finder->lock);
    while ((entry = TAILQ_FIRST(&finder->entries))) {
        TAILQ_REMOVE(&finder->entries, entry, entry);
        free_entry(entry);
    }
    cache_free(finder->cache);
    remote_free(finder->remote);
    cancel_free(finder->cancel);
    pthread_cond_destroy(&finder->changed);
    pthread_mutex_destroy(&finder->lock);
    free(finder);
}
