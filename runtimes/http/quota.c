#include "runtimes/http/quota.h"

#include <pthread.h>

#include "engine/base/locked.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"

/* Of a namespace that has a server. */
struct share {
    char *name;
    size_t servers, ca_bytes;
};

struct rest_quota {
    pthread_mutex_t lock;
    struct strmap shares;
};

struct rest_quota *rest_quota_new(void)
{
    struct rest_quota *quota = NEW(struct rest_quota);

    pthread_mutex_init(&quota->lock, NULL);
    strmap_init(&quota->shares);
    return quota;
}

void rest_quota_free(struct rest_quota *quota)
{
    if (!quota)
        return;
    strmap_done(&quota->shares);
    pthread_mutex_destroy(&quota->lock);
    free(quota);
}

static struct share *get_share(struct rest_quota *quota, const char *name)
{
    struct share *share = strmap_get(&quota->shares, name);

    if (share)
        return share;
    share = NEW(struct share);
    share->name = str_new(name);
    strmap_put(&quota->shares, share->name, share);
    return share;
}

static void drop_if_unused(struct rest_quota *quota, struct share *share)
{
    if (share->servers)
        return;
    strmap_remove(&quota->shares, share->name);
    free(share->name);
    free(share);
}

int rest_quota_take(struct rest_quota *quota, const char *namespace_name, size_t ca_bytes,
                    struct error *error)
{
    LOCKED(&quota->lock);
    struct share *share = get_share(quota, namespace_name);
    int r = 0;

    if (share->servers == QUOTA_SERVERS)
        r = err_set(error, ERR_UNAVAILABLE, "TooManyServers",
                    "resources of type HTTP in this namespace have %d different connections at "
                    "once, and may have no more",
                    QUOTA_SERVERS);
    else if (ca_bytes > QUOTA_CA_BYTES - share->ca_bytes)
        r = err_set(error, ERR_UNAVAILABLE, "TooManyServers",
                    "the CAs (caFrom) of the connections that resources of type HTTP in this "
                    "namespace have at once would have more than %u MiB",
                    QUOTA_CA_BYTES >> 20);
    share->servers += r >= 0;
    share->ca_bytes += r >= 0 ? ca_bytes : 0;
    drop_if_unused(quota, share);
    return r;
}

void rest_quota_give_back(struct rest_quota *quota, const char *namespace_name, size_t ca_bytes)
{
    LOCKED(&quota->lock);
    struct share *share = get_share(quota, namespace_name);

    share->servers--;
    share->ca_bytes -= ca_bytes;
    drop_if_unused(quota, share);
}
