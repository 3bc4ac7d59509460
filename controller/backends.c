#include "controller/backends.h"

#include "engine/base/str.h"
#include "engine/store/guarded.h"
#include "engine/trace/store_trace.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/history/history.h"
#include "runtimes/kubernetes/runtime.h"
#include "runtimes/kubernetes/store/documents.h"
#ifdef KUSION_TEST_RUNTIME
#include "test/runtime/cloud.h"
#endif

/* ---- Runtimes ---- */

static int make_kubernetes(const struct backends *backends, const struct connection *connection,
                           struct runtime **ret, struct error *error)
{
    (void)backends, (void)error;
    *ret = kube_runtime_new(&(struct kube_runtime_config){
        .cluster = connection->cluster,
        .clock = &system_clock,
        .foreign = {.requests = connection->foreign,
                    .watches = connection->foreign_watches,
                    .address_filter = connection->address_filter,
                    .user_agent = "kusion-operator/" KUSION_VERSION,
                    .http1 = connection->flags->http1,
                    .guard = connection->guard,
                    .guard_arg = connection->guard_arg},
        .act_as_controller = connection->flags->act_as_controller,
        .health_namespace = connection->state_namespace,
        .effect_time = connection->flags->api_request_timeout,
    });
    return 0;
}

/* Specs may use it if a flag names a provider. */
static int make_terraform(const struct backends *backends, const struct connection *connection,
                          struct runtime **ret, struct error *error)
{
    (void)connection, (void)error;
    *ret = tf_runtime_new(&backends->terraform.config);
    return 0;
}

/* Specs may use it if a flag names a host. */
static int make_http(const struct backends *backends, const struct connection *connection,
                     struct runtime **ret, struct error *error)
{
    (void)connection;
    return http_runtime_new(&backends->http.config, ret, error);
}

#ifdef KUSION_TEST_RUNTIME
static int make_cloud(const struct backends *backends, const struct connection *connection,
                      struct runtime **ret, struct error *error)
{
    (void)backends, (void)error;
    *ret = cloud_runtime_new(connection);
    return 0;
}
#endif

static int (*const runtimes[])(const struct backends *backends, const struct connection *connection,
                               struct runtime **ret, struct error *error) = {
    make_kubernetes,
    make_terraform,
    make_http,
#ifdef KUSION_TEST_RUNTIME
    make_cloud,
#endif
};
_Static_assert(ARRAY_SIZE(runtimes) <= BACKENDS_RUNTIMES, "room for all runtimes");

/* ---- The store ---- */

static int open_store(struct backends *backends, const struct connection *connection,
                      struct error *error)
{
    struct opened_store *opened = &backends->opened;
    int r =
        stores_open(connection, "--state-backend", connection->flags->state_backend, opened, error);

    if (r >= 0 && opened->keys)
        r = seal_keys_check(opened->keys, &(struct store_call){0}, error);
    if (r < 0)
        return r;
    if (str_equal(connection->flags->log_level, "debug"))
        opened->store = store_trace_new(opened->store, &system_clock);
    backends->gate = store_gate_new();
    backends->store = store_guarded_new(opened->store, backends->gate, opened->place);
    backends->history = stores_make_history(connection, opened, backends->store);
    return 0;
}

/* ---- All ---- */

int backends_init(struct backends *backends, const struct connection *connection,
                  struct error *error)
{
    int r = terraform_init(&backends->terraform, connection->flags, error);

    if (r >= 0)
        r = http_init(&backends->http, connection, error);
    if (r >= 0)
        r = secret_settings_init(&backends->secrets, connection, error);
    for (size_t i = 0; i < ARRAY_SIZE(runtimes) && r >= 0; i++) {
        r = runtimes[i](backends, connection, &backends->runtimes[i], error);
        backends->n_runtimes += r >= 0;
    }
    return r < 0 ? r : open_store(backends, connection, error);
}

void backends_drain(struct backends *backends)
{
    for (size_t i = 0; i < backends->n_runtimes; i++)
        if (backends->runtimes[i]->ops->drain)
            backends->runtimes[i]->ops->drain(backends->runtimes[i]);
}

void backends_done(struct backends *backends)
{
    for (size_t i = 0; i < backends->n_runtimes; i++)
        backends->runtimes[i]->ops->free(backends->runtimes[i]);
    if (backends->history)
        backends->history->ops->free(backends->history);
    if (backends->store)
        backends->store->ops->free(backends->store);
    store_gate_free(backends->gate);
    stores_close(&backends->opened);
    terraform_done(&backends->terraform);
    http_done(&backends->http);
    secret_settings_done(&backends->secrets);
}
