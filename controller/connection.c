#include "controller/connection.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/preflight.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/executor/executor.h"
#include "runtimes/io/address_filter.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/group.h"

#define STATE_NAMESPACE "kusion-system"

/* Enough that each of the executor's threads has a stream: a call never waits for another. */
#define STREAMS             100 /* of a connection; an API server's own limit is no lower */
#define TENANT_CONNECTIONS  (EXECUTOR_MAX_THREADS / STREAMS + 1)
#define CONTROL_CONNECTIONS 2
#define WATCH_CONNECTIONS   64
/* To each cluster that tenants chose. Each certificate takes connections of its own: they are more
 * than one namespace has calls (NAMESPACE_CALLS), and watches, so that none has all. */
#define FOREIGN_CONNECTIONS       64
#define FOREIGN_WATCH_CONNECTIONS 160

/* Under HTTP/1.1 a connection carries one request. */
#define CONTROL_CONNECTIONS_HTTP1 64

static int load_config(struct connection *connection, struct error *error)
{
    const struct flags *flags = connection->flags;
    const char *list = connection->is_typed ? getenv("KUBECONFIG") : NULL;
    int r;

    if (flags->kubeconfig || flags->context || (list && *list))
        return kube_config_load(flags->kubeconfig, flags->context, &connection->config, error);
    r = kube_config_in_cluster(NULL, &connection->config, error);
    connection->is_own = r >= 0;
    if (r == ERR_NOT_FOUND && connection->is_typed)
        return kube_config_load(NULL, NULL, &connection->config, error);
    if (r == ERR_NOT_FOUND)
        err_wrap(error, "outside a pod, --kubeconfig is to be given");
    return r;
}

static void name_self(struct connection *connection)
{
    const struct flags *flags = connection->flags;
    const char *own = flags->state_namespace;
    char host[128] = "localhost";

    gethostname(host, sizeof(host) - 1);
    connection->identity = str_printf("%s_%ld_%llx", host, (long)getpid(),
                                      (unsigned long long)system_clock.now(&system_clock));
    if (!own)
        own = connection->is_own ? connection->config->namespace_name : STATE_NAMESPACE;
    connection->state_namespace = str_new(own);
}

int connection_init(struct connection *connection, const struct flags *flags, struct error *error)
{
    int r;

    connection->flags = flags;
    r = load_config(connection, error);
    if (r >= 0)
        name_self(connection);
    return r;
}

/* What tenants may not have connected to, beside what a filter refuses anyway: the API server
 * itself, and the network of the cluster's Services, of which its own is the first. */
static int deny_own(struct address_filter *filter, struct error *error)
{
    const char *service = getenv("KUBERNETES_SERVICE_HOST");
    _cleanup_free_ char *range = NULL;

    if (!service || !*service)
        return 0;
    range = str_printf("%s/%s", service, strchr(service, ':') ? "112" : "16");
    return address_filter_deny(filter, range, error);
}

static int make_filter(struct connection *connection, struct error *error)
{
    const struct flag_values *allowed = &connection->flags->allow_cluster_addresses;
    int r;

    connection->address_filter = address_filter_new();
    r = deny_own(connection->address_filter, error);
    for (size_t i = 0; r >= 0 && i < allowed->count; i++) {
        r = address_filter_allow(connection->address_filter, allowed->items[i], error);
        if (r < 0)
            err_wrap(error, "--allow-cluster-address");
    }
    return r;
}

static int open_loops(struct connection *connection, struct error *error)
{
    bool http1 = connection->flags->http1;
    const struct {
        struct http_loop **ret;
        struct http_loop_config config;
    } loops[] = {
        {&connection->control,
         {"http", .max_connections = http1 ? CONTROL_CONNECTIONS_HTTP1 : CONTROL_CONNECTIONS}},
        {&connection->control_watches, {"watch", .max_connections = WATCH_CONNECTIONS}},
        {&connection->requests,
         {"tenant-http", .max_connections = http1 ? EXECUTOR_MAX_THREADS : TENANT_CONNECTIONS}},
        {&connection->watches, {"tenant-watch", .max_connections = WATCH_CONNECTIONS}},
        {&connection->foreign, {"foreign-http", .max_connections = FOREIGN_CONNECTIONS}},
        {&connection->foreign_watches,
         {"foreign-watch", .max_connections = FOREIGN_WATCH_CONNECTIONS}},
    };
    int r = 0;

    for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(loops); i++)
        r = http_loop_new(&loops[i].config, loops[i].ret, error);
    return r;
}

int connection_open(struct connection *connection, int (*guard)(void *arg, struct error *error),
                    void *guard_arg, struct error *error)
{
    struct kube_client_config config = {
        .config = connection->config,
        .user_agent = "kusion-operator/" KUSION_VERSION,
        .http1 = connection->flags->http1,
        .guard = guard,
        .guard_arg = guard_arg,
    };
    int r = open_loops(connection, error);

    connection->guard = guard;
    connection->guard_arg = guard_arg;
    if (r >= 0)
        r = make_filter(connection, error);
    if (r < 0)
        return r;
    config.requests = connection->requests;
    config.watches = connection->watches;
    config.control = connection->control;
    config.control_watches = connection->control_watches;
    r = kube_client_new(&config, &connection->cluster.client, error);
    if (r >= 0)
        connection->cluster.discovery =
            kube_discovery_new(connection->cluster.client, &system_clock);
    return r;
}

void connection_done(struct connection *connection)
{
    kube_discovery_free(connection->cluster.discovery);
    kube_client_free(connection->cluster.client);
    http_loop_free(connection->foreign_watches);
    http_loop_free(connection->foreign);
    address_filter_free(connection->address_filter);
    http_loop_free(connection->watches);
    http_loop_free(connection->requests);
    http_loop_free(connection->control_watches);
    http_loop_free(connection->control);
    kube_config_free(connection->config);
    free(connection->state_namespace);
    free(connection->identity);
}

struct kube_ref connection_collection(const struct connection *connection,
                                      const struct kube_kind *kind)
{
    return (struct kube_ref){kind, connection->flags->watch_namespace, NULL, NULL};
}

struct kube_selector connection_selector(const struct connection *connection,
                                         const struct kube_kind *kind)
{
    bool is_selected = kind == &kube_specs;

    return (struct kube_selector){.labels =
                                      is_selected ? connection->flags->watch_label_selector : NULL};
}

int connection_try(struct connection *connection, struct outage *outage, struct cancel *stop,
                   struct error *error)
{
    struct kube_ref specs = connection_collection(connection, &kube_specs);
    int r = preflight_connect(connection->cluster.client, connection->state_namespace, outage, stop,
                              error);

    return r < 0 ? r
                 : preflight_selector(connection->cluster.client, specs,
                                      connection->flags->watch_label_selector, stop, error);
}
