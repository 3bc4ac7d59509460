/*
 * One request on the loop, from either side of http.h: who blocks in http_do()
 * and who has a stream.
 */
#ifndef RUNTIMES_IO_HTTP_CALL_H
#define RUNTIMES_IO_HTTP_CALL_H

#include "runtimes/io/http_client.h"

struct http_call {
    struct task task;
    struct http_client *client;
    struct http_request request; /* what it points to is borrowed, but the headers */
    struct curl_slist *headers;
    struct http_response *response;
    struct error error; /* what ended it, if anything but an answer did */

    http_on_end *on_end; /* streams only; may be NULL */
    void *on_end_arg;
    bool is_stream;

    /* The loop's thread only. */
    CURL *handle; /* NULL: not begun */
    struct cancel_listener *listener;
    int64_t heard; /* when the last byte came */
    bool asked;    /* curl is past the last moment before sending */
    char curl_error[CURL_ERROR_SIZE];
};

/* Checks the request and copies its headers; on failure there is nothing to undo. */
int call_init(struct http_call *call, struct http_client *client,
              const struct http_request *request, struct http_response *response,
              struct error *error);
/* Hands it to the loop. False: the loop ends, and the call's error says so. */
bool call_submit(struct http_call *call);
void call_done(struct http_call *call); /* after its end, or instead of its submission */

#endif
