/*
 * A client's defaults, and its curl easy handles. Each handle is set up once with the options that
 * all requests share (TLS, timeouts, the proxy), and reused. The loop's thread takes handles and
 * gives them back.
 */
#pragma once

#include <curl/curl.h>
#include <pthread.h>

#include "runtimes/io/http_loop.h"

/* Few, as an idle handle may keep its buffers. With many requests in flight, a handle that is given
 * back is taken again at once. */
#define CLIENT_IDLE_HANDLES 4

struct http_client {
    struct http_loop *loop;
    char *origin;      /* "https://10.0.0.1:6443"; its host is tls_server_name if that is set */
    char *prefix;      /* the base address's path, or "" */
    char *address;     /* "10.0.0.1:6443", for messages */
    char *host_header; /* "Host: 10.0.0.1:6443" where the origin names another host; else NULL */
    struct curl_slist *connect_to; /* in the same case: maps the origin to the address */
    pthread_mutex_t lock;          /* of the PEM texts */
    char *ca_pem;
    char *cert_pem;
    char *key_pem;
    bool has_other_tls; /* the PEM texts changed since handles were made */
    char *proxy_url;
    char *user_agent;
    char *unix_socket;
    bool is_tls;
    bool trusts_one;
    bool http1;
    bool http2;
    int64_t connect_timeout;
    int64_t idle_time;
    const struct address_filter *address_filter; /* borrowed, or NULL */

    bool has_connected;              /* the loop's thread only; see client_version() */
    CURL *idle[CLIENT_IDLE_HANDLES]; /* the loop's thread only */
    size_t n_idle;
};

/* NULL: curl refuses the client's configuration. */
CURL *client_take_handle(struct http_client *client);
/* The version of HTTP for the next request, for CURLOPT_HTTP_VERSION. Loop's thread. */
long client_version(const struct http_client *client);
void client_give_handle(struct http_client *client, CURL *handle);
