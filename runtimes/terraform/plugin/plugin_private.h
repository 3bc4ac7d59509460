/*
 * The parts of a plugin.
 */
#ifndef RUNTIMES_TERRAFORM_PLUGIN_PLUGIN_PRIVATE_H
#define RUNTIMES_TERRAFORM_PLUGIN_PLUGIN_PRIVATE_H

#include <stdatomic.h>

#include "runtimes/terraform/plugin/handshake.h"
#include "runtimes/terraform/plugin/plugin.h"

struct plugin {
    char *name;
    char *folder;
    struct process *process;
    struct handshake handshake;
    struct http_client *client;
    struct http_stream *prints; /* of its code, which are dropped */
    atomic_bool is_stuck;       /* plugin_is_stuck() */
    atomic_bool is_too_large;   /* plugin_kill_for_memory() */
};

#define GRPC_NO_STATUS (-1) /* the answer has none */

struct grpc_request {
    const char *path; /* "/tfplugin5.Provider/GetSchema" */
    const ProtobufCMessage *message;
    size_t max_answer;
    int64_t timeout; /* ms */
    struct cancel *cancel;
    bool is_change; /* it is not cancelled once it was sent */
    const struct permit *permit;
};

/* Of a call, also after an error. */
struct grpc_end {
    int status; /* of gRPC, or GRPC_NO_STATUS */
    enum plugin_delivery delivery;
};

/* r, was_sent: of the HTTP request; status: of gRPC, or GRPC_NO_STATUS. */
enum plugin_delivery grpc_delivery(int r, bool was_sent, int status);

/* The answer is in the response's body (grpc_message()). Errors are those of plugin_call(). */
int grpc_call(struct http_client *client, const struct grpc_request *request,
              struct http_response *response, struct grpc_end *ret_end, struct error *error);
/* Where the answer's message is. */
int grpc_message(const struct http_response *response, const unsigned char **ret,
                 size_t *ret_length, struct error *error);

#endif
