/* The real client, to an API server in memory. */
#pragma once

#include "runtimes/kubernetes/client/client.h"
#include "test/unit/api_server/api_server.h"

struct api_client {
    struct http_loop *requests, *watches;
    struct kube_client *client;
};

/* guard: as of kube_client_config; or NULL. */
void api_client_start(struct api_client *to, const struct api_server *server,
                      int (*guard)(void *arg, struct error *error), void *guard_arg);
void api_client_stop(struct api_client *client);
