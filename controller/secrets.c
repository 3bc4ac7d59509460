#include "controller/secrets.h"

#include <string.h>

#include "engine/base/str.h"
#include "runtimes/io/http_hosts.h"
#include "runtimes/kubernetes/client/file.h"
#include "runtimes/secrets/cache.h"

static int invalid(const char *flag, const struct error *failure, struct error *error)
{
    return err_set(error, ERR_INVALID, "InvalidFlag", "--%s: %s", flag, failure->message);
}

/* A store at the address of the API server could be sent requests that look like the operator's.
 * What is no address, but a name, is not refused by its address. */
static void deny_api_server(struct http_hosts *hosts, const struct connection *connection)
{
    const char *service = getenv("KUBERNETES_SERVICE_HOST");
    const char *server = connection->config ? connection->config->server : NULL;
    const char *host = server ? strstr(server, "://") : NULL;
    _cleanup_free_ char *address = NULL;

    if (service)
        http_hosts_deny(hosts, service, NULL);
    if (!host)
        return;
    host += strlen("://");
    address = *host == '[' ? str_new_n(host + 1, strcspn(host + 1, "]"))
                           : str_new_n(host, strcspn(host, ":/"));
    http_hosts_deny(hosts, address, NULL);
}

#ifdef KUSION_TEST_RUNTIME
/* KUSION_SECRET_ENDPOINTS has "CLOUD=SERVER,…": https://sts.eu-west-1.amazonaws.com is at SERVER.
 */
static char *endpoint(const char *address)
{
    const char *all = getenv("KUSION_SECRET_ENDPOINTS");
    _cleanup_free_ char *copy = str_new(all);
    char *rest = copy, *one;

    while (all && (one = strsep(&rest, ","))) {
        char *equals = strchr(one, '=');

        if (equals && strncmp(address, one, (size_t)(equals - one)) == 0 && !address[equals - one])
            return str_new(equals + 1);
    }
    return NULL;
}
#endif

static int read_hosts(struct secret_settings *settings, const struct connection *connection,
                      struct error *error)
{
    const struct flag_values *hosts = &connection->flags->secret_store_hosts;
    struct error failure = {0};

    settings->hosts = http_hosts_new();
    for (size_t i = 0; i < hosts->count; i++)
        if (http_hosts_add(settings->hosts, hosts->items[i], &failure) < 0)
            return invalid("secret-store-host", &failure, error);
    deny_api_server(settings->hosts, connection);
    return 0;
}

int secret_settings_init(struct secret_settings *settings, const struct connection *connection,
                         struct error *error)
{
    const struct http_loop_config loop = {.name = "secrets", .max_connections = SECRET_CONNECTIONS};
    const char *ca_file = connection->flags->secret_store_ca_file;
    struct error failure = {0};
    int r = read_hosts(settings, connection, error);

    if (r < 0)
        return r;
    if (ca_file && file_read_text(ca_file, &settings->ca_pem, &failure) < 0)
        return invalid("secret-store-ca-file", &failure, error);
    settings->stores.hosts = settings->hosts;
    settings->stores.ca_pem = settings->ca_pem;
    settings->stores.cache = secret_cache_new();
#ifdef KUSION_TEST_RUNTIME
    settings->stores.endpoint = endpoint;
#endif
    return http_loop_new(&loop, &settings->stores.loop, error);
}

void secret_settings_done(struct secret_settings *settings)
{
    http_loop_free(settings->stores.loop);
    http_hosts_free(settings->hosts);
    secret_cache_free(settings->stores.cache);
    free(settings->ca_pem);
    *settings = (struct secret_settings){0};
}
