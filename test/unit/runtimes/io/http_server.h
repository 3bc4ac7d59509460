/*
 * A small HTTP/1.1 server for the tests: a thread for each connection, and an
 * answer for each path, good or broken (http_server.c has the table).
 */
#pragma once

#include <stddef.h>

struct http_server;

struct http_server *http_server_new(void);
void http_server_free(struct http_server *server);
const char *http_server_url(const struct http_server *server); /* "http://127.0.0.1:1234" */

unsigned http_server_connections(struct http_server *server);
unsigned http_server_requests(struct http_server *server);

/* Blocks until it has seen so many requests; false: not within 10 s. */
int http_server_await(struct http_server *server, unsigned requests);
/* Lets all requests of /hold be answered, those to come as well. */
void http_server_release(struct http_server *server);
