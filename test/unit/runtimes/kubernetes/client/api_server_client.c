#include "test/unit/runtimes/kubernetes/client/api_server_client.h"

#include "engine/base/str.h"

void api_client_start(struct api_client *to, const struct api_server *server,
                      int (*guard)(void *arg, struct error *error), void *guard_arg)
{
    struct kube_config config = {.server = str_new(api_server_url(server))};
    struct kube_client_config client = {
        .config = &config, .user_agent = "kusion-test", .guard = guard, .guard_arg = guard_arg};
    struct error error = {0};
    int r = http_loop_new(&(struct http_loop_config){.name = "http", .max_connections = 16},
                          &to->requests, &error);

    /* A watch keeps a connection for itself where there is no HTTP/2. */
    if (r >= 0)
        r = http_loop_new(&(struct http_loop_config){.name = "watch", .max_connections = 64},
                          &to->watches, &error);
    client.requests = to->requests;
    client.watches = to->watches;
    if (r >= 0)
        r = kube_client_new(&client, &to->client, &error);
    if (r < 0) {
        fprintf(stderr, "client: %s\n", error.message);
        abort();
    }
    free(config.server);
}

void api_client_stop(struct api_client *client)
{
    kube_client_free(client->client);
    http_loop_free(client->requests);
    http_loop_free(client->watches);
    *client = (struct api_client){0};
}
