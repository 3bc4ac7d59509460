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

static struct runtime *make_kubernetes(const struct backends *backends,
                                       const struct connection *connection)
{
    (void)backends;
    return kube_runtime_new(&(struct kube_runtime_config){
        .cluster = connection->cluster,
        .clock = &system_clock,
        .act_as_controller = connection->flags->act_as_controller,
        .health_namespace = connection->state_namespace,
        .effect_time = connection->flags->api_request_timeout,
    });
}

/* Specs may use it if a flag names a provider. */
static struct runtime *make_terraform(const struct backends *backends,
                                      const struct connection *connection)
{
    (void)connection;
    return tf_runtime_new(&backends->terraform.config);
}

#ifdef KUSION_TEST_RUNTIME
static struct runtime *make_cloud(const struct backends *backends,
                                  const struct connection *connection)
{
    (void)backends;
    return cloud_runtime_new(connection);
}
#endif

static struct runtime *(*const runtimes[])(const struct backends *backends,
                                           const struct connection *connection) = {
    make_kubernetes,
    make_terraform,
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

    if (r < 0)
        return r;
    for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++)
        backends->runtimes[backends->n_runtimes++] = runtimes[i](backends, connection);
    return open_store(backends, connection, error);
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
}
