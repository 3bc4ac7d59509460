/*
 * A small HTTP server: GET and HEAD of pages that one function makes. It has a
 * thread, a libwebsockets context and connections of its own, so what is asked of
 * one server never delays another.
 *
 * A path without a page is 404, another method 405. There is no TLS and nothing
 * secret here; a NetworkPolicy says which pods may connect.
 */
#pragma once

#include <stdbool.h>

#include "engine/base/buf.h"
#include "engine/base/error.h"

struct server_config {
    const char *name; /* of the thread, and in errors: "health" */
    /* "host:port": ":9440" is every address of the machine, "127.0.0.1:0" a port that is free. */
    const char *address;
    /* Each answer ends its connection: clients cannot hold connections that they do not use. */
    bool closes;
    /* Puts the page of the path into the body, and returns the HTTP status. On the server's thread:
     * quick. */
    unsigned (*answer)(void *arg, const char *path, struct buf *body);
    void *arg;
};

struct server;

/* NULL: error says why (ERR_INVALID: an address that makes no sense; ERR_UNAVAILABLE: one that
 * cannot be listened on). Listens when it returns. The config's strings are borrowed. */
struct server *server_new(const struct server_config *config, struct error *error);
void server_free(struct server *server);
DEFINE_CLEANUP(struct server *, server_free)

int server_port(const struct server *server);

/* For a path without a page. */
unsigned server_not_found(struct buf *body);
