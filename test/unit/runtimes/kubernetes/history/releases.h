/*
 * The history of Release objects, over an API server in memory.
 */
#pragma once

#include "runtimes/kubernetes/history/history.h"
#include "test/unit/runtimes/kubernetes/client/api_server_client.h"

#define RELEASES "/apis/api.kusion.io/v1/namespaces/team/releases"

extern const struct spec_key releases_web; /* team/web */

struct releases {
    struct api_server *server; /* it has the Namespace team */
    struct api_client client;
    struct release_history *history;
    struct error error; /* of the last call below */
};

void releases_begin(struct releases *scene);
void releases_end(struct releases *scene);

/* A Destroy of team/web, of generation 4. */
int releases_create(struct releases *scene, int64_t revision, char **ret_version);
int releases_update(struct releases *scene, int64_t revision, const char *phase, char **version);
