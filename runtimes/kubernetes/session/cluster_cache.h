/*
 * What was learned of one cluster a moment ago, for all sessions there: which service accounts
 * exist, which kinds nothing defines, which definitions there are.
 *
 * Each cluster has a cache of its own, so that an answer of one is never taken for another's. A
 * cache is counted: the runtime keeps that of its own cluster, and each session keeps that of the
 * cluster of its objects. Thread-safe. No lock is held during requests.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <sys/queue.h>

#include "engine/base/strmap.h"
#include "engine/threads/clock.h"
#include "runtimes/kubernetes/client/cluster.h"

struct definitions;

/* The caches of a runtime. */
struct cluster_caches {
    const struct clock_source *clock;
    pthread_mutex_t lock;
    LIST_HEAD(, cluster_cache) list;
};

struct cluster_cache {
    struct cluster_caches *caches; /* that it is one of */
    LIST_ENTRY(cluster_cache) all; /* with the lock of the caches, like references */
    unsigned references;
    const struct kube_client *client; /* of this cluster */

    pthread_mutex_t lock;            /* of all below */
    struct strmap undefined;         /* "Kind.group/version" that no definition has; keys owned */
    struct strmap searches;          /* by namespace of Specs: searches for definitions; owned */
    int64_t undefined_before;        /* ms, monotonic: what is in both was learned since then */
    struct definitions *definitions; /* as they were listed last; NULL: not yet */
    int64_t applied_at;              /* ms, monotonic: kube_note_applied() */
    struct strmap accounts;          /* user names of service accounts that exist; keys are owned */
    int64_t accounts_since;          /* ms, monotonic: seen since then */
};

void cluster_caches_init(struct cluster_caches *caches, const struct clock_source *clock);
/* After all references are gone. */
void cluster_caches_done(struct cluster_caches *caches);

/* The cache of a cluster, made if nobody has it. A reference. */
struct cluster_cache *cluster_cache_get(struct cluster_caches *caches,
                                        const struct kube_cluster *cluster);
void cluster_cache_unref(struct cluster_cache *cache);

/* ---- account.c, definition.c: free what they keep there ---- */

void kube_forget_accounts(struct cluster_cache *cache);
void kube_forget_definitions(struct cluster_cache *cache);
