#include "controller/secrets.h"

#include <string.h>

#include "controller/hosts.h"
#include "engine/base/str.h"
#include "runtimes/io/http_hosts.h"
#include "runtimes/kubernetes/client/file.h"
#include "runtimes/secrets/cache.h"

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

int secret_settings_init(struct secret_settings *settings, const struct connection *connection,
                         struct error *error)
{
    const struct http_loop_config loop = {.name = "secrets", .max_connections = SECRET_CONNECTIONS};
    const char *ca_file = connection->flags->secret_store_ca_file;
    struct error failure = {0};
    int r = hosts_read("--secret-store-host", &connection->flags->secret_store_hosts, connection,
                       &settings->hosts, error);

    if (r < 0)
        return r;
    if (ca_file && file_read_text(ca_file, &settings->ca_pem, &failure) < 0)
        return err_set(error, ERR_INVALID, "InvalidFlag", "--secret-store-ca-file: %s",
                       failure.message);
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
