#include "controller/backends.h"

#include "engine/base/str.h"
#include "engine/release/document_history.h"
#include "engine/trace/store_trace.h"
#include "runtimes/file/store.h"
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

/* ---- Stores: "type", or "type:argument" ---- */

static struct store *open_kubernetes(const struct connection *connection, const char *argument)
{
    return *argument ? NULL
                     : kube_documents_new(&(struct kube_documents_config){
                           .cluster = connection->cluster,
                           .namespace_name = connection->state_namespace,
                           .effect_time = connection->flags->api_request_timeout});
}

static struct release_history *make_objects(const struct connection *connection,
                                            struct store *store)
{
    (void)store;
    return kube_history_new(&connection->cluster);
}

static struct store *open_files(const struct connection *connection, const char *directory)
{
    (void)connection;
    return *directory ? file_store_new(directory) : NULL;
}

static struct release_history *make_documents(const struct connection *connection,
                                              struct store *store)
{
    (void)connection;
    return document_history_new(store);
}

static const struct {
    const char *type;
    struct store *(*open)(const struct connection *connection, const char *argument);
    struct release_history *(*make_history)(const struct connection *connection,
                                            struct store *store);
} stores[] = {
    {"kubernetes", open_kubernetes, make_objects},
    {"file", open_files, make_documents},
};

static int open_store(struct backends *backends, const struct connection *connection,
                      struct error *error)
{
    const char *wanted = connection->flags->state_backend;
    size_t length = strcspn(wanted, ":");
    const char *argument = wanted[length] ? wanted + length + 1 : "";

    for (size_t i = 0; i < ARRAY_SIZE(stores); i++) {
        if (strlen(stores[i].type) != length || strncmp(stores[i].type, wanted, length) != 0)
            continue;
        backends->store = stores[i].open(connection, argument);
        if (!backends->store)
            break;
        if (str_equal(connection->flags->log_level, "debug"))
            backends->store = store_trace_new(backends->store, &system_clock);
        backends->history = stores[i].make_history(connection, backends->store);
        return 0;
    }
    return err_set(error, ERR_INVALID, "InvalidFlag",
                   "--state-backend: \"%s\" is neither kubernetes nor file:DIRECTORY", wanted);
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
    terraform_done(&backends->terraform);
}
