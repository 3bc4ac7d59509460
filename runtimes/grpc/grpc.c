#include "runtimes/grpc/grpc.h"

#include <ctype.h>

#include "engine/base/str.h"
#include "engine/base/utf8.h"

#define PREFIX_BYTES 5 /* 0 for not compressed, and the length */

/* ---- The request ---- */

unsigned char *grpc_frame(struct buf *to, size_t length)
{
    buf_init(to, length + PREFIX_BYTES);
    buf_reserve(to, length + PREFIX_BYTES);
    buf_add_char(to, 0);
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_add_char(to, (char)(length >> shift));
    to->length += length;
    to->data[to->length] = '\0';
    return (unsigned char *)to->data + PREFIX_BYTES;
}

static int ask_permit(void *arg, struct error *error)
{
    return permit_ask(arg, PERMIT_ACT, error);
}

/* ---- The answer ---- */

/* grpc-message is percent-encoded. */
static char *decode_text(const char *text)
{
    _cleanup_buf_ struct buf decoded = BUF_INIT;

    for (; text && *text; text++) {
        unsigned byte;

        if (*text == '%' && isxdigit((unsigned char)text[1]) && isxdigit((unsigned char)text[2]) &&
            sscanf(text + 1, "%2x", &byte) == 1) {
            buf_add_char(&decoded, (char)byte);
            text += 2;
        } else {
            buf_add_char(&decoded, *text);
        }
    }
    return utf8_show(decoded.data);
}

/* gRPC's statuses that mean something to us. */
static const struct {
    int status, code;
} statuses[] = {
    {GRPC_CANCELLED, ERR_UNAVAILABLE}, /* by a Stop */
    {GRPC_DEADLINE_EXCEEDED, ERR_TIMEOUT}, {GRPC_RESOURCE_EXHAUSTED, ERR_TOO_LARGE},
    {GRPC_UNIMPLEMENTED, ERR_UNSUPPORTED}, {GRPC_UNAVAILABLE, ERR_UNAVAILABLE},
};

static int read_status(const struct http_response *response, int *ret_status, struct error *error)
{
    _cleanup_free_ char *text = NULL;
    int64_t status;

    *ret_status = GRPC_NO_STATUS;
    if (!response->fields[0] || !str_to_int64(response->fields[0], &status) || status < 0 ||
        status > 99)
        return 0;
    *ret_status = (int)status;
    if (status == 0)
        return 0;
    text = decode_text(response->fields[1]);
    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++)
        if (statuses[i].status == status)
            return err_set(error, statuses[i].code, NULL, "status %lld of gRPC: %s",
                           (long long)status, text);
    return err_set(error, ERR_INTERNAL, NULL, "status %lld of gRPC: %s", (long long)status, text);
}

int grpc_message(const struct http_response *response, const unsigned char **ret,
                 size_t *ret_length, struct error *error)
{
    const unsigned char *body = (const unsigned char *)response->body.data;
    size_t length = 0;

    for (size_t i = 1; i < PREFIX_BYTES && response->body.length >= PREFIX_BYTES; i++)
        length = length << 8 | body[i];
    if (response->body.length < PREFIX_BYTES || body[0] != 0 ||
        response->body.length - PREFIX_BYTES != length)
        return err_set(error, ERR_INTERNAL, NULL, "its answer is not one message");
    *ret = body + PREFIX_BYTES;
    *ret_length = length;
    return 0;
}

/* In the place of words about HTTP: what the server did. The permit's errors remain. */
static void describe(const struct grpc_request *request, struct error *failure)
{
    if (failure->code == ERR_TIMEOUT)
        err_set(failure, ERR_TIMEOUT, NULL, "no answer within %lld s",
                (long long)(request->timeout + 999) / 1000);
    else if (failure->code == ERR_TOO_LARGE)
        err_set(failure, ERR_TOO_LARGE, NULL, "its answer has more than %zu MiB",
                request->max_answer >> 20);
    else if (failure->code == ERR_UNAVAILABLE && str_equal(failure->reason, "Unavailable"))
        err_set(failure, ERR_UNAVAILABLE, NULL, "its process cannot be reached");
}

/* Libraries and proxies give these by themselves, while the server goes on. */
static bool is_of_transport(int status)
{
    return status == GRPC_CANCELLED || status == GRPC_DEADLINE_EXCEEDED ||
           status == GRPC_UNAVAILABLE;
}

enum grpc_delivery grpc_delivery(int r, bool was_sent, int status)
{
    bool is_whole = r >= 0 || r == ERR_TOO_LARGE; /* one that has too much is an answer, too */

    if (is_whole && !is_of_transport(status))
        return GRPC_ANSWERED;
    return is_whole || was_sent ? GRPC_SENT : GRPC_NOT_SENT;
}

int grpc_call(struct http_client *client, const struct grpc_request *request,
              struct http_response *response, struct grpc_end *ret_end, struct error *error)
{
    static const char *const headers[] = {"content-type: application/grpc", "te: trailers"};
    static const char *const fields[] = {"grpc-status", "grpc-message"};
    struct error failure = {0}, refusal = {0};
    int r, refused;

    r = http_do(client,
                &(struct http_request){.method = "POST",
                                       .path = request->path,
                                       .headers = headers,
                                       .n_headers = ARRAY_SIZE(headers),
                                       .body = request->body->data,
                                       .body_length = request->body->length,
                                       .timeout = request->timeout,
                                       .cancel = request->cancel,
                                       .complete_once_sent = request->is_change,
                                       .max_response = request->max_answer,
                                       .permit = request->permit ? ask_permit : NULL,
                                       .permit_arg = (void *)(uintptr_t)request->permit,
                                       .fields = fields,
                                       .n_fields = ARRAY_SIZE(fields)},
                response, &failure);
    refused = read_status(response, &ret_end->status, &refusal);
    ret_end->delivery = grpc_delivery(r, response->sent, ret_end->status);
    if (refused < 0)
        return err_copy(error, &refusal);
    if (r < 0) {
        describe(request, &failure);
        return err_copy(error, &failure);
    }
    if (ret_end->status == GRPC_NO_STATUS)
        return err_set(error, ERR_INTERNAL, NULL,
                       "its answer has no status of gRPC (HTTP status %d)", response->status);
    return 0;
}
