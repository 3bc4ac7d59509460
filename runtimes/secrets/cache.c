#include "runtimes/secrets/cache.h"

#include <pthread.h>
#include <string.h>
#include <sys/queue.h>

#include "engine/base/locked.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"

/* Of an entry, with its places in the map and the value's own. */
#define ENTRY_BYTES 256

struct entry {
    char *key;
    struct secret secret;
    int64_t used_at;
    size_t bytes;
    TAILQ_ENTRY(entry) by_use;
};

TAILQ_HEAD(entries, entry);

struct secret_cache {
    pthread_mutex_t lock;
    struct strmap by_key;
    struct entries by_use; /* the one that was used last is the first */
    size_t bytes;
};

struct secret_cache *secret_cache_new(void)
{
    struct secret_cache *cache = NEW(struct secret_cache);

    pthread_mutex_init(&cache->lock, NULL);
    TAILQ_INIT(&cache->by_use);
    return cache;
}

static void drop(struct secret_cache *cache, struct entry *entry)
{
    strmap_remove(&cache->by_key, entry->key);
    TAILQ_REMOVE(&cache->by_use, entry, by_use);
    cache->bytes -= entry->bytes;
    value_unref(entry->secret.value);
    free(entry->secret.version);
    free(entry->key);
    free(entry);
}

void secret_cache_free(struct secret_cache *cache)
{
    if (!cache)
        return;
    while (!TAILQ_EMPTY(&cache->by_use))
        drop(cache, TAILQ_FIRST(&cache->by_use));
    strmap_done(&cache->by_key);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

/* What is too much, or was not used for long. */
static void tidy(struct secret_cache *cache, int64_t now)
{
    struct entry *last;

    while ((last = TAILQ_LAST(&cache->by_use, entries)) &&
           (cache->bytes > SECRET_CACHE_BYTES || now - last->used_at > SECRET_CACHE_TIME))
        drop(cache, last);
}

bool secret_cache_find(struct secret_cache *cache, const char *key, int64_t now, struct secret *ret)
{
    struct entry *entry;

    LOCKED(&cache->lock);
    tidy(cache, now);
    entry = strmap_get(&cache->by_key, key);
    if (!entry)
        return false;
    entry->used_at = now;
    TAILQ_REMOVE(&cache->by_use, entry, by_use);
    TAILQ_INSERT_HEAD(&cache->by_use, entry, by_use);
    *ret = (struct secret){value_ref(entry->secret.value), str_new(entry->secret.version)};
    return true;
}

void secret_cache_drop(struct secret_cache *cache, const char *key)
{
    struct entry *entry;

    LOCKED(&cache->lock);
    entry = strmap_get(&cache->by_key, key);
    if (entry)
        drop(cache, entry);
}

void secret_cache_put(struct secret_cache *cache, const char *key, int64_t now,
                      const struct secret *secret)
{
    struct entry *entry = NEW(struct entry), *before;
    size_t length = 0;

    value_string_n(secret->value, &length);
    *entry = (struct entry){.key = str_new(key),
                            .secret = {value_ref(secret->value), str_new(secret->version)},
                            .used_at = now,
                            .bytes = ENTRY_BYTES + length + strlen(key) + strlen(secret->version)};
    LOCKED(&cache->lock);
    before = strmap_get(&cache->by_key, key);
    if (before)
        drop(cache, before);
    strmap_put(&cache->by_key, entry->key, entry);
    TAILQ_INSERT_HEAD(&cache->by_use, entry, by_use);
    cache->bytes += entry->bytes;
    tidy(cache, now);
}
