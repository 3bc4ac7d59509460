/*
 * A loop, a client, and the server they talk to.
 */
#pragma once

#include "runtimes/io/clock.h"
#include "runtimes/io/http.h"
#include "test/unit/runtimes/io/http_server.h"
#include "test/unit/suite.h"

struct fixture {
    struct http_server *server;
    struct http_loop *loop;
    struct http_client *client;
};

void fixture_init(struct fixture *fixture, unsigned max_connections);
void fixture_done(struct fixture *fixture);

/* GET of a path by the fixture's client, with 10 s at most. */
int fixture_get(struct fixture *fixture, const char *path, struct http_response *response,
                struct error *error);

/* An http_do() on a thread of its own. */
struct background {
    struct http_client *client;
    struct http_request request;
    struct http_response response;
    struct error error;
    int result;
    pthread_t thread;
};

void background_start(struct background *background, struct http_client *client,
                      const struct http_request *request);
int background_wait(struct background *background);
void background_done(struct background *background);
