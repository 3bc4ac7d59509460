#include "runtimes/chain/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "runtimes/io/clock.h"
#include "runtimes/io/close.h"

#define FILE_BYTES ((size_t)4 << 20) /* of a file with a credential, or with CAs */
#define SAID_BYTES 300               /* of what a server says of an error */
/* ms. Apache ends a connection that was idle for 5 s. One that is used at that very moment leaves a
 * request without an answer, and a change in doubt. */
#define IDLE_TIME 4000

/* ---- Files ---- */

static int file_error(const char *path, struct error *error)
{
    int code = errno;

    return err_set(error, code == ENOENT ? ERR_NOT_FOUND : ERR_FORBIDDEN, "StoreRefused",
                   "reading %s: %s", path, strerror(code));
}

static int read_text(const char *path, char **ret, struct error *error)
{
    _cleanup_(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
    _cleanup_buf_ struct buf text = BUF_INIT;
    char bytes[8192];
    ssize_t length = 0;

    if (fd < 0)
        return file_error(path, error);
    buf_init(&text, FILE_BYTES);
    while (!buf_overflowed(&text) && (length = read(fd, bytes, sizeof(bytes))) > 0)
        buf_add(&text, bytes, (size_t)length);
    explicit_bzero(bytes, sizeof(bytes));
    if (length < 0)
        return file_error(path, error);
    if (buf_overflowed(&text))
        return err_set(error, ERR_FORBIDDEN, "StoreRefused", "%s has more than %zu bytes", path,
                       FILE_BYTES);
    *ret = buf_take(&text);
    return 0;
}

int remote_read_secret(const char *folder, const char *name, char **ret, struct error *error)
{
    _cleanup_free_ char *path = folder ? str_printf("%s/%s", folder, name) : str_new(name);
    _cleanup_(str_free_secret_p) char *text = NULL;
    const char *first;
    size_t length;
    int r = read_text(path, &text, error);

    if (r < 0)
        return r;
    first = text + strspn(text, " \t\r\n");
    length = strlen(first);
    while (length && strchr(" \t\r\n", first[length - 1]))
        length--;
    if (!length || memchr(first, '\n', length) || memchr(first, '\r', length))
        return err_set(error, ERR_FORBIDDEN, "StoreRefused", "%s does not have one word", path);
    *ret = str_new_n(first, length);
    return 0;
}

/* ---- The server ---- */

int remote_init(struct remote *remote, const char *address, const char *ca_file,
                struct error *error)
{
    const struct http_loop_config loop = {.name = "store", .max_connections = REMOTE_CONNECTIONS};
    struct http_client_config config = {.base_url = address,
                                        .user_agent = "kusion-operator/" KUSION_VERSION,
                                        .http1 = true,
                                        .idle_time = IDLE_TIME};
    _cleanup_free_ char *ca = NULL;
    int r = 0;

    if (ca_file)
        r = read_text(ca_file, &ca, error);
    if (r < 0)
        return r;
    config.tls.ca_pem = ca;
    remote->address = str_new(address);
    remote->ca_file = str_new(ca_file);
    r = http_loop_new(&loop, &remote->loop, error);
    if (r == 0)
        r = http_client_new(remote->loop, &config, &remote->client, error);
    return r;
}

void remote_done(struct remote *remote)
{
    http_client_free(remote->client);
    http_loop_free(remote->loop);
    free(remote->ca_file);
    free(remote->address);
    *remote = (struct remote){0};
}

static int ask_permit(void *arg, struct error *error)
{
    const struct store_call *call = arg;

    return permit_ask(call->permit, call->use, error);
}

/* A certificate that is not valid now may be later; and a store that cannot be reached is no reason
 * to give up. */
static int no_answer(int code, bool is_in_doubt, const struct error *problem, struct error *error)
{
    if (code == ERR_INVALID)
        return err_set(error, ERR_UNAVAILABLE, problem->reason, "%s", problem->message);
    if (code == ERR_UNAVAILABLE)
        return err_set(error, code, is_in_doubt ? "StoreInDoubt" : "StoreUnreachable", "%s",
                       problem->message);
    if (code == ERR_TIMEOUT)
        return err_set(error, code, "StoreSlow", "%s", problem->message);
    return err_copy(error, problem);
}

static int send_once(struct remote *remote, struct http_request *request,
                     const struct store_call *call, bool is_change, struct http_response *response,
                     struct error *error)
{
    struct store_call copy = *call;
    struct error problem = {0};
    int r;

    if (call->deadline) {
        request->timeout = call->deadline - system_clock.monotonic(&system_clock);
        if (request->timeout <= 0)
            return err_set(error, ERR_TIMEOUT, NULL,
                           "%s %s: the deadline passed before it was sent", request->method,
                           remote->address);
    }
    request->cancel = call->cancel;
    request->complete_once_sent = is_change;
    if (is_change && call->permit) {
        request->permit = ask_permit;
        request->permit_arg = &copy;
    }
    r = http_do(remote->client, request, response, &problem);
    return r < 0 ? no_answer(r, is_change && response->sent, &problem, error) : 0;
}

int remote_do(struct remote *remote, struct http_request *request, const struct store_call *call,
              bool is_change, struct http_response *response, struct error *error)
{
    struct error problem = {0};
    int r = send_once(remote, request, call, is_change, response, &problem);

    if (r == ERR_UNAVAILABLE && response->sent && !is_change) {
        http_response_done(response);
        *response = (struct http_response)HTTP_RESPONSE_INIT;
        err_clear(&problem);
        r = send_once(remote, request, call, is_change, response, &problem);
    }
    return r < 0 ? err_copy(error, &problem) : r;
}

/* Statuses of answers that are no answer to the request itself. Others are not expected. */
static const struct {
    int status, code;
    const char *reason;
} statuses[] = {
    {207, ERR_UNAVAILABLE, "StoreBusy"},  {401, ERR_FORBIDDEN, "StoreRefused"},
    {403, ERR_FORBIDDEN, "StoreRefused"}, {408, ERR_UNAVAILABLE, "StoreBusy"},
    {413, ERR_TOO_LARGE, "StoreFull"},    {423, ERR_UNAVAILABLE, "StoreBusy"},
    {424, ERR_UNAVAILABLE, "StoreBusy"},  {429, ERR_UNAVAILABLE, "StoreBusy"},
    {507, ERR_UNAVAILABLE, "StoreFull"},
};

int remote_refused(int status, const char *what, const char *said, struct error *error)
{
    _cleanup_free_ char *short_text = said ? str_new_n(said, strnlen(said, SAID_BYTES)) : NULL;
    _cleanup_free_ char *shown = short_text ? utf8_show(short_text) : NULL;
    int code = status >= 500 ? ERR_UNAVAILABLE : ERR_INTERNAL;
    const char *reason = status >= 500 ? "StoreBusy" : "UnexpectedAnswer";

    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++)
        if (statuses[i].status == status) {
            code = statuses[i].code;
            reason = statuses[i].reason;
        }
    return err_set(error, code, reason, "%s: %d%s%s", what, status, shown ? ": " : "",
                   shown ? shown : "");
}
