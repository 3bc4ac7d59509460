/*
 * HTTP over one thread that owns a curl_multi: many requests on few
 * connections (HTTP/2, multiplexed), each with its own deadline and cancel.
 *
 * http_loop is the thread; an http_client is a set of defaults (base address,
 * TLS) whose requests run on a loop. Callers block in http_do() on their own
 * thread, or start a stream and get its bytes on the loop's thread. The
 * operator has a loop for requests and one for watches, so that a large list
 * cannot delay a watch, and another two for requests on behalf of tenants.
 *
 * A client may also speak HTTP/2 over a Unix socket, as gRPC servers on this
 * machine do, with TLS or without.
 *
 * TLS is always verified: against the client's CA, else the system's.
 * Redirects are not followed. Nothing here retries: the caller knows whether a
 * request may be repeated.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/buf.h"
#include "engine/base/error.h"
#include "engine/threads/cancel.h"

struct address_filter;
struct http_loop;

struct http_loop_config {
    const char *name;         /* the thread's name: "http", "watch" */
    unsigned max_connections; /* for each host; 0: 4 */
    unsigned max_streams;     /* on one HTTP/2 connection; 0: 100 */
    unsigned max_idle;        /* connections that are kept; 0: 4 for each of max_connections */
};

int http_loop_new(const struct http_loop_config *config, struct http_loop **ret,
                  struct error *error);
/* Ends all requests and timers with ERR_CANCELLED, then the thread. */
void http_loop_free(struct http_loop *loop);
DEFINE_CLEANUP(struct http_loop *, http_loop_free)

/* PEM texts. */
struct http_tls {
    const char *ca_pem;             /* trusted CAs; NULL: the system's */
    const char *cert_pem, *key_pem; /* the client's own certificate and its key; NULL: none */
};

struct http_client_config {
    const char *base_url; /* "https://127.0.0.1:6443", no slash at its end */
    struct http_tls tls;
    const char *tls_server_name; /* the server's name in its certificate, if it is not the address's
                                    host; NULL: the address's host */
    bool trusts_one;       /* ca_pem is the server's own certificate, made for this connection: its
                              name does not count, and its key may be short */
    const char *proxy_url; /* NULL: none (the environment's variables are not read) */
    const char *user_agent;
    const char *unix_socket; /* path; NULL: TCP. The address's host then only names the server, and
                                no two clients of a loop may share it */
    bool http1;              /* HTTP/1.1 only */
    bool http2;              /* HTTP/2 without TLS (http:// only). The first request has to end
                                before others begin */
    int64_t connect_timeout; /* ms; 0: 10 s */
    const struct address_filter *address_filter; /* borrowed, outlives the client; NULL: none.
                                It is also asked of a connection that another client of the loop
                                made */
    int64_t idle_time; /* ms that a connection may have been idle and is used again; 0: 118 s. A
                          server that has ended it meanwhile leaves a request without an answer */
};

struct http_client;

int http_client_new(struct http_loop *loop, const struct http_client_config *config,
                    struct http_client **ret, struct error *error);
void http_client_free(struct http_client *client); /* call it after its requests have ended */
DEFINE_CLEANUP(struct http_client *, http_client_free)
/* From the next connection on, trusts these CAs and shows this certificate. Requests that begin
 * from now on do not use a connection that was made with others; those under way keep theirs. A
 * text that was given before cannot be NULL. Thread-safe. */
void http_client_set_tls(struct http_client *client, const struct http_tls *tls);

#define HTTP_FIELDS 2

struct http_request {
    const char *method;         /* "GET", "PATCH" */
    const char *path;           /* with query, after base_url */
    const char *const *headers; /* "Name: value", n_headers of them */
    size_t n_headers;
    const void *body; /* NULL: none; borrowed until the request ends */
    size_t body_length;
    int64_t timeout;         /* ms for all of it; 0: 30 s. Streams: of silence, 0: none */
    struct cancel *cancel;   /* may be NULL */
    bool complete_once_sent; /* cancel stops the request only before it is sent; afterwards the
                                answer is waited for */
    size_t max_response;     /* bytes; 0: LIMIT_DOCUMENT_BYTES. Past it: ERR_TOO_LARGE */

    /*
     * Called on the loop's thread, immediately before the request's bytes are sent. Anything but 0
     * ends the request unsent, with that code. This is where the leader's Lease is checked.
     */
    int (*permit)(void *arg, struct error *error);
    void *permit_arg;

    /*
     * If set, receives a 2xx body as it arrives (on the loop's thread), instead of the response. A
     * nonzero result ends the request with that code and error. Bodies of other statuses go into
     * the response.
     */
    int (*on_body)(void *arg, const char *data, size_t length, struct error *error);
    void *on_body_arg;
    /* Names of up to HTTP_FIELDS headers or trailers that the response is to have in `fields`. */
    const char *const *fields;
    size_t n_fields;

    /* Called with the status, before the body (on the loop's thread); or NULL. */
    void (*on_status)(void *arg, int status);
    void *on_status_arg;
};

struct http_response {
    int status; /* 200 */
    struct buf body;
    char *content_type;        /* without parameters, or NULL */
    char *fields[HTTP_FIELDS]; /* those that the request asked for; NULL: it has none */
    int64_t retry_after;       /* ms, from Retry-After in seconds or as a date; -1: none */
    bool sent;                 /* false: certainly not sent, so any request may be repeated */
};

#define HTTP_RESPONSE_INIT                  \
    {                                       \
        .body = BUF_INIT, .retry_after = -1 \
    }
void http_response_done(struct http_response *response);
/* ms since 1970 of a date as headers have it ("Fri, 24 May 2013 00:00:00 GMT"); -1: it is none. */
int64_t http_date(const char *value);

/*
 * Runs a request and waits for its answer. 0 for any HTTP status; else
 *   ERR_UNAVAILABLE  no connection, or broken off (response->sent says if it may have arrived)
 *   ERR_TIMEOUT      no whole answer in time
 *   ERR_CANCELLED    cancel fired, or the loop ends
 *   ERR_FORBIDDEN    an address that is not allowed (address_filter.h)
 *   ERR_INVALID      a certificate that does not verify (reason TLSVerification)
 *   ERR_TOO_LARGE, or what permit and on_body gave.
 * Thread-safe.
 */
int http_do(struct http_client *client, const struct http_request *request,
            struct http_response *response, struct error *error);

/*
 * Starts a request whose answer goes to callbacks, all on the loop's thread: on_body as above, then
 * on_end once (response: borrowed; error: NULL for every HTTP status). Everything that the request
 * points to must live until on_end, except the headers, which are copied. http_stream_free() stops
 * the request: no callback runs after it returns. A callback must not call it, except for a stream
 * whose on_end has returned.
 */
struct http_stream;

typedef void http_on_end(void *arg, const struct http_response *response,
                         const struct error *error);

int http_stream_new(struct http_client *client, const struct http_request *request,
                    http_on_end *on_end, void *arg, struct http_stream **ret, struct error *error);
void http_stream_free(struct http_stream *stream);
DEFINE_CLEANUP(struct http_stream *, http_stream_free)

/* A timer on the loop's thread: fn(arg) once, after delay ms. Same rules as a stream. */
struct http_timer;
struct http_timer *http_timer_new(struct http_loop *loop, int64_t delay, void (*fn)(void *arg),
                                  void *arg);
void http_timer_free(struct http_timer *timer);
