/*
 * A server of objects, as HTTP reaches it: requests with a call's deadline, cancel and permit, and
 * the kinds of errors of objects.h.
 */
#pragma once

#include "engine/store.h"
#include "runtimes/io/http.h"

struct remote {
    struct http_loop *loop; /* of this server alone: its answers wait for no others */
    struct http_client *client;
    char *ca_file; /* NULL: the system's CAs */
    char *address; /* "https://host:port", without a path: what the client was made with */
};

/* Connections at once: the probe of a server opens so many. */
#define REMOTE_CONNECTIONS 8

/* address: "https://host:port". ca_file: NULL: the system's CAs. */
int remote_init(struct remote *remote, const char *address, const char *ca_file,
                struct error *error);
void remote_done(struct remote *remote);

/* Sends one request; timeout, cancel and permit of it are those of the call (is_change: the permit
 * is asked). 0 for each status. The error of a request that had no answer is that of objects.h.
 * What is no change is sent once more, if the connection broke off before its answer. */
int remote_do(struct remote *remote, struct http_request *request, const struct store_call *call,
              bool is_change, struct http_response *response, struct error *error);

/* The error of an answer. what: "PUT https://…"; said: what the server says of it, or NULL. */
int remote_refused(int status, const char *what, const char *said, struct error *error);

/* Reads a file of a credential without the blanks around it; str_free_secret(). ERR_NOT_FOUND,
 * ERR_FORBIDDEN StoreRefused. A message names the path, never the content. */
int remote_read_secret(const char *folder, const char *name, char **ret, struct error *error);
