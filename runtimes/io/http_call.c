#include "runtimes/io/http_call.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/limits.h"
#include "engine/base/str.h"
#include "runtimes/io/address_filter.h"

#define REQUEST_TIMEOUT_MS 30000

/* The task is a call's first member. */
static struct http_call *call_of(struct task *task)
{
    return (struct http_call *)task;
}

static bool has_control_bytes(const char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < ' ' || *s == 0x7f)
            return true;
    return false;
}

static int bad_request(struct error *error, const char *what)
{
    return err_set(error, ERR_INVALID, "InvalidRequest", "HTTP request: %s", what);
}

static int check_request(const struct http_request *request, struct error *error)
{
    if (!request->method || !*request->method ||
        request->method[strspn(request->method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")])
        return bad_request(error, "the method is no upper-case word");
    if (!request->path || *request->path != '/')
        return bad_request(error, "the path does not begin with /");
    if (has_control_bytes(request->path) || strpbrk(request->path, " #"))
        return bad_request(error, "the path has bytes that must be escaped");
    if (request->n_fields > HTTP_FIELDS)
        return bad_request(error, "it asks for too many fields");
    for (size_t i = 0; i < request->n_headers; i++)
        if (!strchr(request->headers[i], ':') || has_control_bytes(request->headers[i]))
            return bad_request(error, "a header is not of the form Name: value");
    return 0;
}

static void add_header(struct http_call *call, const char *header)
{
    struct curl_slist *list = curl_slist_append(call->headers, header);

    if (!list)
        abort();
    call->headers = list;
}

static bool has_header(const struct http_request *request, const char *prefix)
{
    for (size_t i = 0; i < request->n_headers; i++)
        if (strncasecmp(request->headers[i], prefix, strlen(prefix)) == 0)
            return true;
    return false;
}

static void copy_headers(struct http_call *call)
{
    const struct http_request *request = &call->request;

    for (size_t i = 0; i < request->n_headers; i++)
        add_header(call, request->headers[i]);
    if (call->client->host_header && !has_header(request, "Host:"))
        add_header(call, call->client->host_header);
    /* curl would add these headers itself. */
    if (!has_header(request, "Content-Type:"))
        add_header(call, "Content-Type:");
    add_header(call, "Expect:");
}

int call_init(struct http_call *call, struct http_client *client,
              const struct http_request *request, struct http_response *response,
              struct error *error)
{
    int r = check_request(request, error);

    if (r < 0)
        return r;
    call->client = client;
    call->request = *request;
    call->response = response;
    buf_init(&response->body, request->max_response);
    copy_headers(call);
    call->request.headers = NULL;
    return 0;
}

void call_done(struct http_call *call)
{
    curl_slist_free_all(call->headers);
    task_done(&call->task);
}

/* "GET 10.0.0.1:6443/api/v1/pods: …", without the query, which may contain private data. */
static void name_request(struct http_call *call)
{
    const struct http_request *request = &call->request;

    err_wrap(&call->error, "%s %s%s%.*s", request->method, call->client->address,
             call->client->prefix, (int)strcspn(request->path, "?"), request->path);
}

static void call_end(struct http_call *call, bool quiet)
{
    const struct error *error = call->error.code ? &call->error : NULL;

    cancel_unlisten(call->request.cancel, TAKE(call->listener));
    if (error)
        name_request(call);
    if (call->on_end && !quiet)
        call->on_end(call->on_end_arg, call->response, error);
    task_end(&call->task);
}

static void leave_curl(struct http_call *call, CURLcode code)
{
    CURL *handle = TAKE(call->handle);

    if (!handle)
        return;
    /* Without an answer, the handle still has the status of its previous request. */
    if (call->heard) {
        http_response_read(call->response, handle, &call->request);
        call->client->has_connected = true;
    }
    call->task.loop->calls--;
    call->task.loop->ended++;
    curl_multi_remove_handle(call->task.loop->multi, handle);
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, NULL);
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, NULL);
    if (code == CURLE_OK)
        client_give_handle(call->client, handle);
    else
        curl_easy_cleanup(handle);
}

/* Ends a call that curl has not finished. */
static void call_abort(struct http_call *call, bool quiet)
{
    leave_curl(call, CURLE_ABORTED_BY_CALLBACK);
    call_end(call, quiet);
}

static void call_cancel(struct http_call *call, const char *reason, bool quiet)
{
    err_set(&call->error, ERR_CANCELLED, reason, "cancelled: %s", reason);
    call_abort(call, quiet);
}

static void refuse_address(struct http_call *call)
{
    err_set(&call->error, ERR_FORBIDDEN, ADDRESS_NOT_ALLOWED,
            "its address is not one that may be connected to");
}

static void call_finish(struct task *task, CURLcode code)
{
    struct http_call *call = call_of(task);

    leave_curl(call, code);
    if (code == CURLE_COULDNT_CONNECT && call->refused)
        refuse_address(call);
    if (code != CURLE_OK && !call->error.code)
        http_error_set(&call->error, code, call->curl_error);
    call_end(call, false);
}

/* Keeps the error of a callback that ended the request, or at least its code. */
static void keep_refusal(struct http_call *call, int code, const struct error *error)
{
    if (error->code)
        err_copy(&call->error, error);
    else
        err_set(&call->error, code, err_reason(code), "refused");
    call->error.code = code;
}

/* A connection that another client of the loop made may be to an address that this one may not
 * use. */
static bool is_allowed(const struct http_call *call, const char *to)
{
    struct sockaddr_in ipv4 = {.sin_family = AF_INET};
    struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6};
    const struct address_filter *filter = call->client->address_filter;

    if (!filter)
        return true;
    if (inet_pton(AF_INET, to, &ipv4.sin_addr) == 1)
        return address_filter_passes(filter, (const struct sockaddr *)&ipv4);
    return inet_pton(AF_INET6, to, &ipv6.sin6_addr) == 1 &&
           address_filter_passes(filter, (const struct sockaddr *)&ipv6);
}

/*
 * curl calls this when it has a connection, immediately before it sends the request's bytes. It
 * calls this a second time if the connection broke before an answer and curl wants to repeat the
 * request; that is refused, because the caller decides about repeats.
 */
static int on_ready(void *arg, char *to, char *from, int to_port, int from_port)
{
    struct http_call *call = arg;
    struct error error = {0};
    int code = 0;

    (void)from, (void)to_port, (void)from_port;
    if (!is_allowed(call, to)) {
        refuse_address(call);
        return CURL_PREREQFUNC_ABORT;
    }
    if (call->asked) {
        err_set(&call->error, ERR_UNAVAILABLE, err_reason(ERR_UNAVAILABLE),
                "the connection broke off before an answer");
        return CURL_PREREQFUNC_ABORT;
    }
    call->asked = true;
    if (call->request.permit)
        code = call->request.permit(call->request.permit_arg, &error);
    if (code != 0) {
        keep_refusal(call, code, &error);
        return CURL_PREREQFUNC_ABORT;
    }
    call->response->sent = true;
    return CURL_PREREQFUNC_OK;
}

/* curl calls this for each address of the name that it tries. */
static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct http_call *call = arg;

    (void)purpose;
    if (!address_filter_passes(call->client->address_filter, &address->addr)) {
        call->refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static void hear(struct http_call *call)
{
    call->heard = call->task.loop->heard = call->task.loop->now;
}

static long status_of(struct http_call *call)
{
    long status = 0;

    curl_easy_getinfo(call->handle, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

/* An empty line ends the headers; those of 1xx are followed by others. */
static size_t on_header(char *data, size_t size, size_t count, void *arg)
{
    struct http_call *call = arg;
    size_t length = size * count;
    long status;

    hear(call);
    if (!call->request.on_status || length > 2 || (*data != '\r' && *data != '\n'))
        return length;
    status = status_of(call);
    if (status >= 200)
        call->request.on_status(call->request.on_status_arg, (int)status);
    return length;
}

static bool take_body(struct http_call *call, const char *data, size_t length)
{
    struct buf *body = &call->response->body;
    struct error error = {0};
    int code;

    if (call->request.on_body && status_of(call) / 100 == 2) {
        code = call->request.on_body(call->request.on_body_arg, data, length, &error);
        if (code != 0)
            keep_refusal(call, code, &error);
        return code == 0;
    }
    buf_add(body, data, length);
    if (buf_overflowed(body))
        err_set(&call->error, ERR_TOO_LARGE, err_reason(ERR_TOO_LARGE),
                "the answer is larger than %zu bytes",
                body->maximum ? body->maximum : LIMIT_DOCUMENT_BYTES);
    return !buf_overflowed(body);
}

static size_t on_data(char *data, size_t size, size_t count, void *arg)
{
    struct http_call *call = arg;

    hear(call);
    return take_body(call, data, size * count) ? size * count : CURL_WRITEFUNC_ERROR;
}

#define SET(option, value) (result = result ? result : curl_easy_setopt(handle, (option), (value)))

static CURLcode set_method(const struct http_request *request, CURL *handle)
{
    CURLcode result = CURLE_OK;
    const char *method = request->method;
    bool empty = str_equal(method, "POST") || str_equal(method, "PUT") ||
                 str_equal(method, "PATCH"); /* without a body: Content-Length: 0 */

    SET(CURLOPT_NOBODY, 0L);
    SET(CURLOPT_CUSTOMREQUEST, NULL);
    if (request->body || empty) {
        SET(CURLOPT_POST, 1L);
        SET(CURLOPT_POSTFIELDS, request->body ? (const char *)request->body : "");
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)(request->body ? request->body_length : 0));
    } else {
        SET(CURLOPT_POSTFIELDS, NULL);
        SET(CURLOPT_HTTPGET, 1L);
    }
    if (str_equal(method, "HEAD"))
        SET(CURLOPT_NOBODY, 1L);
    else if (!str_equal(method, "GET") || request->body)
        SET(CURLOPT_CUSTOMREQUEST, method);
    return result;
}

static CURLcode set_request(struct http_call *call, CURL *handle)
{
    const struct http_client *client = call->client;
    _cleanup_free_ char *url =
        str_printf("%s%s%s", client->origin, client->prefix, call->request.path);
    CURLcode result = set_method(&call->request, handle);

    SET(CURLOPT_URL, url);
    SET(CURLOPT_HTTP_VERSION, client_version(client));
    SET(CURLOPT_HTTPHEADER, call->headers);
    SET(CURLOPT_PRIVATE, &call->task);
    SET(CURLOPT_ERRORBUFFER, call->curl_error);
    SET(CURLOPT_PREREQFUNCTION, on_ready);
    SET(CURLOPT_PREREQDATA, call);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, call);
    SET(CURLOPT_WRITEFUNCTION, on_data);
    SET(CURLOPT_WRITEDATA, call);
    if (client->address_filter) {
        SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
        SET(CURLOPT_OPENSOCKETDATA, call);
    }
    return result;
}

static void call_begin(struct http_call *call)
{
    struct http_loop *loop = call->task.loop;
    CURLcode result = CURLE_BAD_FUNCTION_ARGUMENT;

    call->handle = client_take_handle(call->client);
    if (call->handle) {
        loop->calls++;
        result = set_request(call, call->handle);
    }
    if (result == CURLE_OK && curl_multi_add_handle(loop->multi, call->handle) != CURLM_OK)
        result = CURLE_OUT_OF_MEMORY;
    if (result != CURLE_OK)
        call_finish(&call->task, result);
    else if (call->task.deadline.key)
        task_set_deadline(&call->task, call->task.deadline.key);
}

static bool is_beyond_cancel(const struct http_call *call)
{
    return call->request.complete_once_sent && call->response->sent;
}

static void call_notice(struct task *task, unsigned notices)
{
    struct http_call *call = call_of(task);

    if (notices & TASK_STOP)
        call_cancel(call, "Stopped", true);
    else if (notices & TASK_CANCEL && !is_beyond_cancel(call))
        call_cancel(call, cancel_reason(call->request.cancel), false);
    else if (notices & TASK_BEGIN)
        call_begin(call);
}

static void call_expire(struct task *task)
{
    struct http_call *call = call_of(task);
    int64_t limit = call->request.timeout;

    if (call->is_stream && call->heard + limit > task->loop->now) {
        task_set_deadline(task, call->heard + limit);
        return;
    }
    err_set(&call->error, ERR_TIMEOUT, err_reason(ERR_TIMEOUT),
            call->is_stream ? "nothing came for %lld ms" : "no whole answer within %lld ms",
            (long long)limit);
    call_abort(call, false);
}

static void call_shut(struct task *task)
{
    call_cancel(call_of(task), "Shutdown", false);
}

static const struct task_type call_type = {
    .notice = call_notice,
    .expire = call_expire,
    .finish = call_finish,
    .shut = call_shut,
};

static void on_cancel(void *arg)
{
    struct http_call *call = arg;

    task_notify(&call->task, TASK_CANCEL);
}

bool call_submit(struct http_call *call)
{
    struct http_request *request = &call->request;

    task_init(&call->task, &call_type, call->client->loop);
    if (!call->is_stream && request->timeout <= 0)
        request->timeout = REQUEST_TIMEOUT_MS;
    if (request->timeout > 0)
        call->task.deadline.key = loop_time_after(request->timeout);
    call->listener = cancel_listen(request->cancel, on_cancel, call);
    if (task_submit(&call->task))
        return true;
    cancel_unlisten(request->cancel, TAKE(call->listener));
    err_set(&call->error, ERR_CANCELLED, "Shutdown", "cancelled: the HTTP loop ended");
    name_request(call);
    return false;
}
