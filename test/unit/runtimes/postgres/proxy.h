/*
 * A proxy between a store and the server, that fails at a chosen moment. What the client sends is
 * counted in chunks: what one read of its socket gives. On a connection that is up, the first chunk
 * of a change is BEGIN with the statement, the second is COMMIT.
 */
#pragma once

#include <stdbool.h>

enum proxy_fault {
    PROXY_PASS,
    PROXY_CUT_BEFORE, /* the chunk is lost, and the connection is cut */
    PROXY_CUT_AFTER,  /* the chunk arrives; its answer is lost, and the connection is cut */
    PROXY_HOLD,       /* the client's connection is cut; the chunk arrives at proxy_release() */
    PROXY_PAUSE,      /* the chunk arrives at proxy_release(); nothing is cut */
    PROXY_HANG,       /* this chunk and all after it are lost, and nothing is cut */
};

struct proxy;

struct proxy *proxy_new(const char *server_port);
void proxy_free(struct proxy *proxy);
const char *proxy_port(const struct proxy *proxy);

/* From now on: the nth chunk (from 1) meets the fault, once. */
void proxy_fail(struct proxy *proxy, enum proxy_fault fault, unsigned nth);
/* Whether it has. */
bool proxy_has_failed(struct proxy *proxy);
void proxy_release(struct proxy *proxy);
/* Cuts all connections. */
void proxy_cut(struct proxy *proxy);
