/*
 * Unary calls of gRPC, by libcurl over a Unix socket (runtimes/io/http.h): one request message, one
 * answer. Providers of Terraform and KMS plugins are called so.
 *
 * Messages are bytes here. Who calls packs and reads them, by protobuf-c or otherwise.
 *
 * Wire format: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/buf.h"
#include "engine/base/error.h"
#include "engine/threads/cancel.h"
#include "engine/threads/permit.h"
#include "runtimes/io/http.h"

#define GRPC_NO_STATUS (-1) /* the answer has none */

/* grpc.io/docs/guides/status-codes */
enum {
    GRPC_CANCELLED = 1,
    GRPC_DEADLINE_EXCEEDED = 4,
    GRPC_RESOURCE_EXHAUSTED = 8,
    GRPC_UNIMPLEMENTED = 12,
    GRPC_UNAVAILABLE = 14,
};

/* How far a call has come. */
enum grpc_delivery {
    GRPC_NOT_SENT, /* the server has not got it */
    GRPC_SENT,     /* the server may have got it, and may still carry it out */
    GRPC_ANSWERED, /* the server is done with it, though its answer may be no message */
};

struct grpc_request {
    const char *path;       /* "/tfplugin5.Provider/GetSchema" */
    const struct buf *body; /* the message, as grpc_frame() began it */
    size_t max_answer;      /* bytes */
    int64_t timeout;        /* ms */
    struct cancel *cancel;
    bool is_change; /* it is not cancelled once it was sent */
    const struct permit *permit;
};

/* Of a call, also after an error. */
struct grpc_end {
    int status; /* of gRPC, or GRPC_NO_STATUS */
    enum grpc_delivery delivery;
};

/* Begins a request's body in *to, which is not initialised: what comes before a message of that
 * length, and room for it. Returns where the message is to be written, all `length` bytes. */
unsigned char *grpc_frame(struct buf *to, size_t length);

/*
 * The answer is in the response's body (grpc_message()); http_response_done() in any case.
 *
 * ERR_UNAVAILABLE: it cannot be reached, or says so; ERR_TIMEOUT; ERR_TOO_LARGE; ERR_CANCELLED;
 * ERR_UNSUPPORTED: it has no such method; ERR_INTERNAL: its answer is none, or another status;
 * what the permit said. The messages have the server's own text, as one line that can be shown.
 */
int grpc_call(struct http_client *client, const struct grpc_request *request,
              struct http_response *response, struct grpc_end *ret_end, struct error *error);
/* Where the answer's message is. ERR_INTERNAL: it is not one message. */
int grpc_message(const struct http_response *response, const unsigned char **ret,
                 size_t *ret_length, struct error *error);

/* r, was_sent: of the HTTP request; status: of gRPC, or GRPC_NO_STATUS. */
enum grpc_delivery grpc_delivery(int r, bool was_sent, int status);
