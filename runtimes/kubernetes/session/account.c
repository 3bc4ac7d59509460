/* Whether the service account that a session acts as is there. */
#include "engine/base/str.h"
#include "engine/threads/locked.h"
#include "runtimes/kubernetes/session/session.h"

/* ms that an account counts as there after it was seen, for sessions that are opened meanwhile. */
#define SEEN_FOR 5000

/* ---- Accounts that are there ---- */

void kube_forget_accounts(struct cluster_cache *cache)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(&cache->accounts, e));)
        free((char *)(uintptr_t)e->key);
    strmap_done(&cache->accounts);
    strmap_init(&cache->accounts);
}

/* With the cache's lock. */
static void forget_old(struct cluster_cache *cache)
{
    const struct clock_source *clock = cache->caches->clock;
    int64_t now = clock->monotonic(clock);

    if (now < cache->accounts_since + SEEN_FOR)
        return;
    kube_forget_accounts(cache);
    cache->accounts_since = now;
}

static bool was_seen(struct runtime_session *session)
{
    struct cluster_cache *cache = session->cache;
    LOCKED(&cache->lock);

    forget_old(cache);
    return strmap_get(&cache->accounts, session->impersonate);
}

static void remember(struct runtime_session *session)
{
    struct cluster_cache *cache = session->cache;
    LOCKED(&cache->lock);

    forget_old(cache);
    if (!strmap_get(&cache->accounts, session->impersonate))
        strmap_put(&cache->accounts, str_new(session->impersonate), cache);
}

/* ---- One session ---- */

static int look_up_account(struct runtime_session *session, const struct runtime_call *call,
                           struct error *error)
{
    struct kube_request request = {
        .method = "GET",
        .ref = {&kube_service_accounts, session->spec_namespace, session->service_account, NULL},
        .accept = KUBE_METADATA,
        .cancel = call->cancel,
    };
    struct error problem = {0};
    int r = session_time_left(session, call, &request.timeout, error);

    if (r < 0)
        return r;
    r = kube_do(session->cluster.client, &request, NULL, &problem);
    if (r >= 0)
        remember(session);
    if (r == ERR_NOT_FOUND) {
        err_set(error, ERR_INVALID, "ServiceAccountNotFound",
                "the Spec acts as the service account \"%s\", which is not there",
                session->service_account);
        err_hint(error, "to create it: kubectl create serviceaccount %s --namespace=%s",
                 session->service_account, session->spec_namespace);
        return ERR_INVALID;
    }
    return r < 0 ? err_copy(error, &problem) : 0;
}

/* Whether it is known already; then *ret_code is what it came to. */
static bool is_account_known(struct runtime_session *session, int *ret_code, struct error *error)
{
    LOCKED(&session->lock);

    *ret_code = session->is_account_known && session->account_error
                    ? err_copy(error, session->account_error)
                    : 0;
    return session->is_account_known;
}

int session_check_account(struct runtime_session *session, const struct runtime_call *call,
                          struct error *error)
{
    struct error problem = {0};
    int r;

    if (!session->service_account || session->foreign || session->terminating ||
        session->identity_leaves)
        return 0;
    if (is_account_known(session, &r, error))
        return r;
    /* Several may ask at once, at first: none waits for another's request. */
    r = was_seen(session) ? 0 : look_up_account(session, call, &problem);
    pthread_mutex_lock(&session->lock);
    if (!session->is_account_known && (r >= 0 || r == ERR_INVALID)) {
        session->is_account_known = true;
        session->account_error = r < 0 ? err_new(&problem) : NULL;
    }
    pthread_mutex_unlock(&session->lock);
    return r < 0 ? err_copy(error, &problem) : 0;
}
