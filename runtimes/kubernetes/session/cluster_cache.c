#include "runtimes/kubernetes/session/cluster_cache.h"

#include <stdlib.h>

#include "engine/base/mem.h"
#include "runtimes/kubernetes/session/session.h"

/* With the runtime's lock. */
static struct cluster_cache *add(struct kube_runtime *runtime, const struct kube_cluster *cluster)
{
    struct cluster_cache *cache = NEW(struct cluster_cache);

    cache->runtime = runtime;
    cache->client = cluster->client;
    cache->applied_at = INT64_MIN;
    pthread_mutex_init(&cache->lock, NULL);
    strmap_init(&cache->undefined);
    strmap_init(&cache->searches);
    strmap_init(&cache->accounts);
    LIST_INSERT_HEAD(&runtime->caches, cache, all);
    return cache;
}

struct cluster_cache *cluster_cache_get(struct kube_runtime *runtime,
                                        const struct kube_cluster *cluster)
{
    struct cluster_cache *cache;

    pthread_mutex_lock(&runtime->lock);
    LIST_FOREACH(cache, &runtime->caches, all)
        if (cache->client == cluster->client)
            break;
    if (!cache)
        cache = add(runtime, cluster);
    cache->references++;
    pthread_mutex_unlock(&runtime->lock);
    return cache;
}

void cluster_cache_unref(struct cluster_cache *cache)
{
    struct kube_runtime *runtime;
    bool is_last;

    if (!cache)
        return;
    runtime = cache->runtime;
    pthread_mutex_lock(&runtime->lock);
    is_last = --cache->references == 0;
    if (is_last)
        LIST_REMOVE(cache, all);
    pthread_mutex_unlock(&runtime->lock);
    if (!is_last)
        return;
    kube_forget_accounts(cache);
    kube_forget_definitions(cache);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}
