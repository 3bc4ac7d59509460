#include "runtimes/kubernetes/session/clusters.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "engine/base/hash.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/threads/locked.h"

#define KEPT_FOR       900000 /* ms without a use */
#define ASKED_AGAIN    10000  /* ms after it did not answer */
#define ASKING_AT_MOST 60000  /* ms */

struct foreign_cluster {
    struct clusters *in;
    LIST_ENTRY(foreign_cluster) all;
    char key[HASH_HEX_SIZE]; /* of the namespace and of all that a client is made of */
    char ca[HASH_HEX_SIZE];
    char *namespace_name; /* of the Specs */
    char *default_namespace;
    struct kube_cluster cluster;

    /* With the lock of all. */
    unsigned references;
    int64_t used_at;  /* ms, monotonic: when the last reference was given back */
    bool is_failing;  /* it did not answer when it was asked last */
    int64_t asked_at; /* ms, monotonic: when that was, or since when it is being asked */
    bool is_asked;    /* by a session, since it failed */
    struct error failure;
};

struct clusters {
    struct clusters_config config;
    const struct clock_source *clock;
    pthread_mutex_t lock;
    LIST_HEAD(list, foreign_cluster) list;
};

struct clusters *clusters_new(const struct clusters_config *config,
                              const struct clock_source *clock)
{
    struct clusters *clusters = NEW(struct clusters);

    clusters->config = *config;
    clusters->clock = clock;
    pthread_mutex_init(&clusters->lock, NULL);
    LIST_INIT(&clusters->list);
    return clusters;
}

static void close_cluster(struct foreign_cluster *cluster)
{
    kube_discovery_free(cluster->cluster.discovery);
    kube_client_free(cluster->cluster.client);
    free(cluster->namespace_name);
    free(cluster->default_namespace);
    free(cluster);
}

static void close_all(struct list *unused)
{
    struct foreign_cluster *each;

    while ((each = LIST_FIRST(unused))) {
        LIST_REMOVE(each, all);
        close_cluster(each);
    }
}

void clusters_free(struct clusters *clusters)
{
    if (!clusters)
        return;
    close_all(&clusters->list);
    pthread_mutex_destroy(&clusters->lock);
    free(clusters);
}

/* ---- Which are there ---- */

static int64_t now(const struct clusters *clusters)
{
    return clusters->clock->monotonic(clusters->clock);
}

/* Moves those to `ret` that nobody has used for so long. With the lock. */
static void take_unused(struct clusters *clusters, struct list *ret)
{
    struct foreign_cluster *each, *next;

    for (each = LIST_FIRST(&clusters->list); each; each = next) {
        next = LIST_NEXT(each, all);
        if (each->references || now(clusters) - each->used_at < KEPT_FOR)
            continue;
        LIST_REMOVE(each, all);
        LIST_INSERT_HEAD(ret, each, all);
    }
}

void clusters_tidy(struct clusters *clusters)
{
    struct list unused = LIST_HEAD_INITIALIZER(unused);

    pthread_mutex_lock(&clusters->lock);
    take_unused(clusters, &unused);
    pthread_mutex_unlock(&clusters->lock);
    close_all(&unused);
}

size_t clusters_count(struct clusters *clusters)
{
    LOCKED(&clusters->lock);
    const struct foreign_cluster *each;
    size_t count = 0;

    LIST_FOREACH(each, &clusters->list, all)
        count++;
    return count;
}

static struct foreign_cluster *find(const struct clusters *clusters, const char *key)
{
    struct foreign_cluster *each;

    LIST_FOREACH(each, &clusters->list, all)
        if (str_equal(each->key, key))
            break;
    return each;
}

/* Of the namespace (NULL: of all): how many, and the one that has not been used for longest, NULL:
 * all are in use. With the lock. */
static size_t count(const struct clusters *clusters, const char *namespace_name,
                    struct foreign_cluster **ret_oldest)
{
    struct foreign_cluster *each;
    size_t result = 0;

    *ret_oldest = NULL;
    LIST_FOREACH(each, &clusters->list, all) {
        if (namespace_name && !str_equal(each->namespace_name, namespace_name))
            continue;
        result++;
        if (!each->references && (!*ret_oldest || each->used_at < (*ret_oldest)->used_at))
            *ret_oldest = each;
    }
    return result;
}

/* Moves one that is not used to `unused` where there are too many. With the lock. */
static int make_room(struct clusters *clusters, const char *namespace_name, struct list *unused,
                     struct error *error)
{
    struct foreign_cluster *oldest;
    bool is_full = count(clusters, namespace_name, &oldest) >= CLUSTERS_OF_NAMESPACE;

    if (!is_full && count(clusters, NULL, &oldest) < CLUSTERS)
        return 0;
    if (!oldest)
        return err_set(error, ERR_UNAVAILABLE, "TooManyClusters",
                       is_full ? "%d other clusters of this namespace are in use"
                               : "%d other clusters are in use",
                       is_full ? CLUSTERS_OF_NAMESPACE : CLUSTERS);
    LIST_REMOVE(oldest, all);
    LIST_INSERT_HEAD(unused, oldest, all);
    return 0;
}

/* ---- One ---- */

static void make_key(const char *namespace_name, const struct kube_config *config,
                     char ret[HASH_HEX_SIZE])
{
    const char *const parts[] = {namespace_name,          config->server,        config->ca_pem,
                                 config->cert_pem,        config->key_pem,       config->token,
                                 config->tls_server_name, config->namespace_name};
    _cleanup_(hash_free_p) struct hash *hash = hash_new();

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        hash_add_str(hash, parts[i] ? parts[i] : "");
    hash_finish_hex(hash, ret);
}

static int open_cluster(struct clusters *clusters, const char *namespace_name,
                        const struct kube_config *config, struct foreign_cluster **ret,
                        struct error *error)
{
    const struct clusters_config *made = &clusters->config;
    const struct kube_client_config client = {.config = config,
                                              .requests = made->requests,
                                              .watches = made->watches,
                                              .user_agent = made->user_agent,
                                              .http1 = made->http1,
                                              .address_filter = made->address_filter,
                                              .guard = made->guard,
                                              .guard_arg = made->guard_arg};
    struct foreign_cluster *cluster = NEW(struct foreign_cluster);
    int r = kube_client_new(&client, &cluster->cluster.client, error);

    if (r < 0) {
        free(cluster);
        return r;
    }
    cluster->in = clusters;
    cluster->cluster.discovery = kube_discovery_new(cluster->cluster.client, clusters->clock);
    cluster->namespace_name = str_new(namespace_name);
    cluster->default_namespace = str_new(config->namespace_name);
    hash_hex(config->ca_pem, strlen(config->ca_pem), cluster->ca);
    *ret = cluster;
    return 0;
}

/* With the lock. */
static int add(struct clusters *clusters, const char *namespace_name,
               const struct kube_config *config, struct list *unused, struct foreign_cluster **ret,
               struct error *error)
{
    int r = make_room(clusters, namespace_name, unused, error);

    if (r >= 0)
        r = open_cluster(clusters, namespace_name, config, ret, error);
    if (r < 0)
        return r;
    make_key(namespace_name, config, (*ret)->key);
    LIST_INSERT_HEAD(&clusters->list, *ret, all);
    return 0;
}

int clusters_get(struct clusters *clusters, const char *namespace_name,
                 const struct kube_config *config, struct foreign_cluster **ret,
                 struct error *error)
{
    struct list unused = LIST_HEAD_INITIALIZER(unused);
    struct foreign_cluster *cluster;
    char key[HASH_HEX_SIZE];
    int r = 0;

    make_key(namespace_name, config, key);
    pthread_mutex_lock(&clusters->lock);
    take_unused(clusters, &unused);
    cluster = find(clusters, key);
    if (!cluster)
        r = add(clusters, namespace_name, config, &unused, &cluster, error);
    if (r >= 0)
        cluster->references++;
    pthread_mutex_unlock(&clusters->lock);
    close_all(&unused);
    if (r >= 0)
        *ret = cluster;
    return r;
}

void foreign_cluster_unref(struct foreign_cluster *cluster)
{
    if (!cluster)
        return;
    LOCKED(&cluster->in->lock);

    cluster->references--;
    cluster->used_at = now(cluster->in);
}

const struct kube_cluster *foreign_cluster_get(const struct foreign_cluster *cluster)
{
    return &cluster->cluster;
}

const char *foreign_cluster_ca(const struct foreign_cluster *cluster)
{
    return cluster->ca;
}

const char *foreign_cluster_namespace(const struct foreign_cluster *cluster)
{
    return cluster->default_namespace;
}

/* ---- Whether it answers ---- */

int foreign_cluster_begin(struct foreign_cluster *cluster, struct error *error)
{
    LOCKED(&cluster->in->lock);
    int64_t since = now(cluster->in) - cluster->asked_at;

    if (!cluster->is_failing)
        return 0;
    if (since < (cluster->is_asked ? ASKING_AT_MOST : ASKED_AGAIN))
        return err_copy(error, &cluster->failure);
    cluster->is_asked = true;
    cluster->asked_at = now(cluster->in);
    return 0;
}

void foreign_cluster_end(struct foreign_cluster *cluster, const struct error *failure)
{
    LOCKED(&cluster->in->lock);

    cluster->is_failing = failure && str_equal(failure->reason, KUBE_UNREACHABLE);
    cluster->is_asked = false;
    cluster->asked_at = now(cluster->in);
    if (cluster->is_failing)
        cluster->failure = *failure;
}
