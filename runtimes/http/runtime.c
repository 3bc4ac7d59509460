#include "runtimes/http/runtime.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/threads/locked.h"
#include "engine/value/json.h"
#include "runtimes/http/session.h"
#include "runtimes/io/clock.h"

#define CONNECTIONS           64  /* to one server */
#define REQUESTS              256 /* at once */
#define REQUESTS_OF_NAMESPACE 16

/* ---- Sessions ---- */

static int open_session(struct runtime *runtime, const struct runtime_scope *scope,
                        const struct runtime_call *call, struct runtime_session **ret,
                        struct error *error)
{
    struct runtime_session *session = NEW(struct runtime_session);

    (void)call, (void)error;
    session->runtime = (struct http_runtime *)runtime;
    session->namespace_name = str_new(scope->key.namespace_name);
    session->account = str_new(value_get_string(scope->identity, "serviceAccountName"));
    session->is_foreign = scope->is_foreign;
    session->secrets = scope->secrets;
    pthread_mutex_init(&session->lock, NULL);
    strmap_init(&session->servers);
    seen_init(&session->seen);
    *ret = session;
    return 0;
}

static void drop_server(struct strmap *servers, const struct strmap_entry *entry)
{
    char *key = (char *)(uintptr_t)entry->key;
    struct rest_server *server = entry->value;

    strmap_remove(servers, key);
    rest_server_unref(server);
    free(key);
}

static void close_session(struct runtime_session *session)
{
    if (!session)
        return;
    for (struct strmap_entry *e; (e = strmap_next(&session->servers, NULL));)
        drop_server(&session->servers, e);
    strmap_done(&session->servers);
    seen_done(&session->seen);
    pthread_mutex_destroy(&session->lock);
    free(session->namespace_name);
    free(session->account);
    free(session);
}

/* Two threads may make one at once: that of the first counts. */
static struct rest_server *keep_server(struct runtime_session *session, char **key,
                                       struct rest_server *made)
{
    struct rest_server *kept;

    LOCKED(&session->lock);
    kept = strmap_get(&session->servers, *key);
    if (!kept) {
        kept = rest_server_ref(made);
        strmap_put(&session->servers, TAKE(*key), kept);
    }
    rest_server_ref(kept);
    return kept;
}

static struct rest_server *find_server(struct runtime_session *session, const char *key)
{
    LOCKED(&session->lock);
    return rest_server_ref(strmap_get(&session->servers, key));
}

int session_server(struct runtime_session *session, const struct http_description *description,
                   const struct runtime_call *call, struct rest_server **ret, struct error *error)
{
    const struct rest_server_owner owner = {.config = &session->runtime->config,
                                            .loop = session->runtime->loop,
                                            .quota = session->runtime->quota,
                                            .requests = session->runtime->requests,
                                            .namespace_name = session->namespace_name,
                                            .account = session->account,
                                            .secrets = session->secrets,
                                            .is_foreign = session->is_foreign};
    _cleanup_free_ char *key = json_to_str(description->connection);
    _cleanup_(rest_server_unref_p) struct rest_server *made = NULL;
    int r;

    *ret = find_server(session, key);
    if (*ret)
        return 0;
    r = rest_server_new(&owner, description, call, &made, error);
    if (r < 0)
        return r;
    *ret = keep_server(session, &key, made);
    return 0;
}

void session_forget(struct runtime_session *session, const struct rest_server *server)
{
    LOCKED(&session->lock);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&session->servers, e));)
        if (e->value == server) {
            drop_server(&session->servers, e);
            break;
        }
}

/* ---- The runtime ---- */

static void free_runtime(struct runtime *base)
{
    struct http_runtime *runtime = (struct http_runtime *)base;

    http_loop_free(runtime->loop);
    rest_quota_free(runtime->quota);
    slots_free(runtime->requests);
    free(runtime);
}

const struct runtime_ops http_runtime_ops = {
    .type = HTTP_RUNTIME_TYPE,
    .flags = RUNTIME_IS_RECORDED | RUNTIME_CREATES_BLINDLY,
    .free = free_runtime,
    .check = &http_checks,
    .own_secrets = "connection",
    .open = open_session,
    .close = close_session,
    .prefetch = http_prefetch,
    .read = http_read,
    .plan = http_plan,
    .step_free = http_step_free,
    .apply = http_apply,
    .health = http_health,
};

int http_runtime_new(const struct http_runtime_config *config, struct runtime **ret,
                     struct error *error)
{
    struct http_runtime *runtime = NEW(struct http_runtime);
    int r = http_loop_new(
        &(struct http_loop_config){.name = "tenant-rest", .max_connections = CONNECTIONS},
        &runtime->loop, error);

    if (r < 0) {
        free(runtime);
        return r;
    }
    runtime->base.ops = &http_runtime_ops;
    runtime->quota = rest_quota_new();
    runtime->requests = slots_new(&(struct slots_config){
        .clock = &system_clock, .count = REQUESTS, .max_per_namespace = REQUESTS_OF_NAMESPACE});
    runtime->config = *config;
    *ret = &runtime->base;
    return 0;
}
