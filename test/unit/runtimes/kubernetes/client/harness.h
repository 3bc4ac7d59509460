/*
 * A client and what it runs on, for tests: to a scripted server, or to any.
 */
#pragma once

#include "engine/threads/clock.h"
#include "runtimes/kubernetes/client/client.h"
#include "test/unit/runtimes/kubernetes/client/fake_server.h"

struct harness {
    struct fake_server *server;                     /* NULL: a real one */
    struct http_loop *requests, *watches, *control; /* requests: of one connection */
    struct kube_client *client;
};

/* to: what the client's configuration takes over beyond the server's address; may be NULL. */
void harness_start(struct harness *harness, const struct fake_step *steps, size_t n_steps,
                   const struct kube_client_config *to);
void harness_connect(struct harness *harness, const struct kube_client_config *to);
/* The last segment of a path. */
const char *harness_name(const char *path);
/* GET of a path as it is. */
int harness_get(struct kube_client *client, const char *path, const struct value **ret,
                struct error *error);
/* Fails the test for what the script did not expect; is_finished: nor for what it still did. */
void harness_stop(struct harness *harness, bool is_finished);

/* A kind whose collection is /api/v1/c. */
extern const struct kube_kind harness_things;

/* A clock that tests set. */
#define FAKE_CLOCK_START 1000000 /* ms, monotonic */
struct fake_clock {
    struct clock_source source;
    _Atomic int64_t now, monotonic; /* ms */
    int64_t step;                   /* added to monotonic by each look at it */
};
void fake_clock_init(struct fake_clock *clock);

/* Writes a file for a test, in a folder of its own that is removed by harness_remove(). */
char *harness_folder(void);
void harness_write(const char *folder, const char *name, const char *text);
void harness_remove(char *folder);
