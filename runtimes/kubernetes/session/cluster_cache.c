#include "runtimes/kubernetes/session/cluster_cache.h"

#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/threads/locked.h"

void cluster_caches_init(struct cluster_caches *caches, const struct clock_source *clock)
{
    caches->clock = clock;
    pthread_mutex_init(&caches->lock, NULL);
    LIST_INIT(&caches->list);
}

void cluster_caches_done(struct cluster_caches *caches)
{
    pthread_mutex_destroy(&caches->lock);
}

/* With the lock of the caches. */
static struct cluster_cache *add_cache(struct cluster_caches *caches,
                                       const struct kube_cluster *cluster)
{
    struct cluster_cache *cache = NEW(struct cluster_cache);

    cache->caches = caches;
    cache->client = cluster->client;
    cache->applied_at = INT64_MIN;
    pthread_mutex_init(&cache->lock, NULL);
    strmap_init(&cache->undefined);
    strmap_init(&cache->searches);
    strmap_init(&cache->accounts);
    LIST_INSERT_HEAD(&caches->list, cache, all);
    return cache;
}

struct cluster_cache *cluster_cache_get(struct cluster_caches *caches,
                                        const struct kube_cluster *cluster)
{
    struct cluster_cache *cache;
    LOCKED(&caches->lock);

    LIST_FOREACH(cache, &caches->list, all)
        if (cache->client == cluster->client)
            break;
    if (!cache)
        cache = add_cache(caches, cluster);
    cache->references++;
    return cache;
}

void cluster_cache_unref(struct cluster_cache *cache)
{
    struct cluster_caches *caches;
    bool is_last;

    if (!cache)
        return;
    caches = cache->caches;
    pthread_mutex_lock(&caches->lock);
    is_last = --cache->references == 0;
    if (is_last)
        LIST_REMOVE(cache, all);
    pthread_mutex_unlock(&caches->lock);
    if (!is_last)
        return;
    kube_forget_accounts(cache);
    kube_forget_definitions(cache);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}
