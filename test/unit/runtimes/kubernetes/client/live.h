/*
 * A real API server, that of $KUSION_TEST_KUBECONFIG, and a namespace of one test in it. Its user
 * must be an administrator. Tests that need no more than api_server.h can do have the server in
 * memory in its place, so that they run everywhere.
 */
#pragma once

#include "engine/base/buf.h"
#include "test/unit/api_server/api_server.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"

struct live {
    struct api_server *memory; /* NULL: a real one */
    struct harness harness;
    struct kube_config *config;
    char *space;
};

/* False: there is no server to test with, which is said once. */
bool live_start(struct live *live);
/* The same over a server in memory; always true. */
bool live_start_in_memory(struct live *live);
void live_stop(struct live *live);

/* One request as the administrator. body: JSON, of which each "@" is the namespace's name, or
 * NULL. Gives the code. */
int live_do(struct live *live, const char *method, const char *path, const char *body,
            const struct value **ret, struct error *error);

/* The text with the namespace's name for each "@"; free(). */
char *live_text(const struct live *live, const char *text);

/* Waits until check(arg) is true; false: not within 90 s. */
bool live_eventually(bool (*check)(void *arg), void *arg);
