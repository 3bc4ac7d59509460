/*
 * One request on the loop: of http_do(), whose caller blocks, or of a stream.
 */
#pragma once

#include "runtimes/io/http_client.h"

struct http_call {
    struct task task;
    struct http_client *client;
    struct http_request request; /* its pointers are borrowed, except the headers */
    struct curl_slist *headers;
    struct http_response *response;
    struct error error; /* the error that ended it, if there was no answer */

    http_on_end *on_end; /* streams only; may be NULL */
    void *on_end_arg;
    bool is_stream;

    /* The loop's thread only. */
    CURL *handle; /* NULL: not begun */
    struct cancel_listener *listener;
    int64_t heard; /* when the last byte came */
    bool asked;    /* the permit was asked: curl may send from now on */
    bool refused;  /* an address that is not allowed was not connected to */
    char curl_error[CURL_ERROR_SIZE];
};

/* Checks the request and copies its headers; on failure there is nothing to undo. */
int call_init(struct http_call *call, struct http_client *client,
              const struct http_request *request, struct http_response *response,
              struct error *error);
/* Passes the call to the loop. False: the loop is ending; the call's error says so. */
bool call_submit(struct http_call *call);
void call_done(struct http_call *call); /* after the call ended, or if it was not submitted */

/* ---- http_error.c ---- */

/* What an error of curl means. text: curl's message where it has one, or "". Returns the error's
 * code. */
int http_error_set(struct error *error, CURLcode code, const char *text);

/* ---- http_response.c ---- */

/* Status and headers of a handle's last answer. */
void http_response_read(struct http_response *response, CURL *handle,
                        const struct http_request *request);
/* The delay of a Retry-After header, in ms from now (Unix ms); -1: neither seconds nor a date. */
int64_t http_retry_after(const char *value, int64_t now);
