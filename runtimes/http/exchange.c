#include "runtimes/http/exchange.h"

#include <string.h>
#include <strings.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "engine/value/json.h"
#include "runtimes/io/clock.h"

#define SAID_BYTES   200 /* of a server's own words in a message */
#define MOST_HEADERS 64
/* Bytes of what a server says of a change that it refuses. */
#define REFUSAL_BYTES (1u << 20)

void answer_done(struct answer *answer)
{
    value_unref(answer->document);
    free(answer->etag);
    *answer = (struct answer){0};
}

/* ---- The request ---- */

struct headers {
    char *items[MOST_HEADERS];
    size_t count;
};

static void headers_done(struct headers *headers)
{
    for (size_t i = 0; i < headers->count; i++)
        str_free_secret(headers->items[i]);
}

static void PRINTF_LIKE(2, 3) add_header(struct headers *headers, const char *format, ...)
{
    va_list args;

    if (headers->count == MOST_HEADERS)
        return;
    va_start(args, format);
    headers->items[headers->count++] = str_vprintf(format, args);
    va_end(args);
}

static bool has_header(const struct value *headers, const char *name)
{
    size_t length;

    for (size_t i = 0; i < value_count(headers); i++)
        if (strcasecmp(value_member_key(headers, i, &length), name) == 0)
            return true;
    return false;
}

static void collect_headers(const struct exchange *exchange, struct headers *headers)
{
    const struct value *own = value_get(exchange->request, "headers");
    size_t length;

    for (size_t i = 0; i < exchange->server->n_headers; i++)
        add_header(headers, "%s", exchange->server->headers[i]);
    for (size_t i = 0; i < value_count(own); i++)
        add_header(headers, "%s: %s", value_member_key(own, i, &length),
                   value_string(value_member(own, i)));
    if (!has_header(own, "Accept"))
        add_header(headers, "Accept: application/json");
    if (exchange->body && !has_header(own, "Content-Type"))
        add_header(headers, "Content-Type: application/json");
    if (exchange->if_match && !has_header(own, "If-Match"))
        add_header(headers, "If-Match: %s", exchange->if_match);
}

static int ask_permit(void *arg, struct error *error)
{
    return permit_ask(arg, PERMIT_ACT, error);
}

/* Keeps the beginning of an answer to a change, which nobody can ask for again. */
struct bounded {
    struct buf text;
    bool is_cut;
};

static int take_beginning(void *arg, const char *data, size_t length, struct error *error)
{
    struct bounded *bounded = arg;

    (void)error;
    if (bounded->text.length + length > RUNTIME_SMALL_ANSWER)
        bounded->is_cut = true;
    else if (!bounded->is_cut)
        buf_add(&bounded->text, data, length);
    return 0;
}

/* ms; 0: there is no time left. */
static int64_t time_for(const struct exchange *exchange, const struct runtime_call *call)
{
    int64_t timeout = description_timeout(exchange->request);
    int64_t left = call->deadline - system_clock.monotonic(&system_clock);

    if (exchange->is_change || call->deadline == CLOCK_FOREVER)
        return timeout;
    return left < timeout ? (left > 0 ? left : 0) : timeout;
}

/* What curl says of a connection tells where a name leads, and which ports are open there. */
static int explain(const struct exchange *exchange, const struct error *problem,
                   struct error *error)
{
    if (problem->code == ERR_UNAVAILABLE)
        err_set(error, ERR_UNAVAILABLE, err_reason(ERR_UNAVAILABLE),
                "%s %s: no connection could be made, or it broke off before an answer",
                description_method(exchange->request), exchange->path);
    else
        err_copy(error, problem);
    if (error)
        rest_server_redact(exchange->server, error);
    return problem->code;
}

static int read_document(const struct exchange *exchange, const struct buf *body,
                         struct answer *ret, struct error *error)
{
    if (!body->length || json_read(body->data, body->length, &ret->document, NULL) >= 0 ||
        exchange->is_change || !exchange_is_success(ret->status))
        return 0;
    return err_set(error, ERR_INTERNAL, "UnexpectedAnswer", "%s %s: the answer is not JSON",
                   description_method(exchange->request), exchange->path);
}

static int send_once(const struct exchange *exchange, const struct runtime_call *call,
                     size_t max_response, struct answer *ret, struct error *error)
{
    static const char *const fields[] = {"ETag"};
    _cleanup_(headers_done) struct headers headers = {0};
    _cleanup_(http_response_done) struct http_response response = HTTP_RESPONSE_INIT;
    _cleanup_buf_ struct buf body;
    struct bounded bounded = {.text = BUF_INIT};
    struct http_request request = {
        .method = description_method(exchange->request),
        .path = exchange->path,
        .timeout = time_for(exchange, call),
        .cancel = call->cancel,
        .complete_once_sent = exchange->is_change,
        .max_response = max_response,
        .permit = exchange->is_change ? ask_permit : NULL,
        .permit_arg = (void *)(uintptr_t)call->permit,
        .on_body = exchange->is_change ? take_beginning : NULL,
        .on_body_arg = &bounded,
        .fields = fields,
        .n_fields = ARRAY_SIZE(fields),
    };
    int r;

    buf_init(&body, LARGEST_BODY);
    if (!request.timeout)
        return err_set(error, ERR_TIMEOUT, NULL, "out of time");
    collect_headers(exchange, &headers);
    request.headers = (const char *const *)headers.items;
    request.n_headers = headers.count;
    if (exchange->body) {
        json_write(&body, exchange->body, JSON_COMPACT);
        if (buf_overflowed(&body))
            return err_set(error, ERR_INVALID, "TooLarge", "%s %s: its body has more than %u MiB",
                           request.method, exchange->path, LARGEST_BODY >> 20);
        request.body = body.data;
        request.body_length = body.length;
    }
    r = http_do(exchange->server->client, &request, &response, error);
    ret->sent = response.sent;
    if (r >= 0) {
        ret->status = response.status;
        ret->etag = TAKE(response.fields[0]);
        ret->is_too_large = bounded.is_cut;
        r = read_document(exchange, bounded.text.length ? &bounded.text : &response.body, ret,
                          error);
    }
    buf_done(&bounded.text);
    return r;
}

/* A server may have its answers come slowly: a namespace does not have all connections to it. */
static int send_in_turn(const struct exchange *exchange, const struct runtime_call *call,
                        size_t max_response, struct answer *ret, struct error *error)
{
    struct slot slot = {.slots = exchange->server->requests,
                        .namespace_name = exchange->server->namespace_name};
    int r = slot_take(&slot, call->deadline, call->cancel, error);

    if (r >= 0)
        r = send_once(exchange, call, max_response, ret, error);
    slot_give_back(&slot);
    return r;
}

int exchange_do(const struct exchange *exchange, const struct runtime_call *call,
                struct answer *ret, struct error *error)
{
    struct error problem = {0};
    int r = 0;

    if (exchange->is_change || (call->large && !call->large->is_taken)) {
        r = send_in_turn(exchange, call, exchange->is_change ? REFUSAL_BYTES : RUNTIME_SMALL_ANSWER,
                         ret, &problem);
        if (r != ERR_TOO_LARGE || exchange->is_change)
            return r < 0 ? explain(exchange, &problem, error) : 0;
        answer_done(ret);
        r = slot_take(call->large, call->deadline, call->cancel, error);
        if (r < 0)
            return r;
        err_clear(&problem);
    }
    r = send_in_turn(exchange, call, LARGEST_ANSWER, ret, &problem);
    return r < 0 ? explain(exchange, &problem, error) : 0;
}

/* ---- What a status means ---- */

bool exchange_is_success(int status)
{
    return status / 100 == 2;
}

bool exchange_is_refusal(int status)
{
    return status / 100 == 4 && status != 408;
}

static const struct {
    int status, code;
    const char *reason, *meaning;
} meanings[] = {
    {401, ERR_FORBIDDEN, "CredentialsRefused", "the credentials are missing, or are not accepted"},
    {403, ERR_FORBIDDEN, "CredentialsRefused", "the credentials do not allow it"},
    {408, ERR_UNAVAILABLE, "Unavailable", "the server asks to try again"},
    {409, ERR_UNAVAILABLE, "RequestRefused", "it conflicts with what is there"},
    {412, ERR_CONFLICT, "Conflict", "it was changed since it was planned"},
    {423, ERR_UNAVAILABLE, "RequestRefused", "it is locked"},
    {425, ERR_UNAVAILABLE, "RequestRefused", "the server asks to try again"},
    {429, ERR_UNAVAILABLE, "TooManyRequests", "the server asks for fewer requests"},
};

/* A server's own words: of JSON alone, on one line. */
static void add_words(const struct answer *answer, struct error *error)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    char words[SAID_BYTES];

    if (!error ||
        !(value_is(answer->document, VALUE_OBJECT) || value_is(answer->document, VALUE_STRING)))
        return;
    json_write(&text, answer->document, JSON_VISIBLE);
    str_copy(words, sizeof(words), text.data);
    str_copy(error->message + strlen(error->message),
             sizeof(error->message) - strlen(error->message), ": ");
    str_copy(error->message + strlen(error->message),
             sizeof(error->message) - strlen(error->message), words);
}

int exchange_refuse(const struct exchange *exchange, const struct answer *answer,
                    struct error *error)
{
    const char *method = description_method(exchange->request);
    int status = answer->status, code = ERR_INVALID;
    const char *reason = "RequestRefused", *meaning = "the server refuses it";

    if (status / 100 == 3) {
        meaning = "redirects are not followed: the path that they lead to is to be given";
    } else if (status / 100 == 5) {
        code = ERR_UNAVAILABLE;
        reason = "ServerError";
        meaning = "the server failed";
    } else if (exchange_is_success(status)) {
        code = ERR_INTERNAL;
        reason = "UnexpectedAnswer";
        meaning = "the answer has no body";
    }
    for (size_t i = 0; i < ARRAY_SIZE(meanings); i++)
        if (meanings[i].status == status) {
            code = meanings[i].code;
            reason = meanings[i].reason;
            meaning = meanings[i].meaning;
        }
    err_set(error, code, reason, "%s %s: status %d, %s", method, exchange->path, status, meaning);
    add_words(answer, error);
    if (error)
        rest_server_redact(exchange->server, error);
    return code;
}
