#include "controller/serve/server.h"

#include <libwebsockets.h>
#include <pthread.h>
#include <stdatomic.h>

#include "controller/serve/address.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/log/log.h"
#include "engine/threads/thread.h"

#define CHUNK_BYTES   4096 /* of a body, for each write */
#define HEADER_BYTES  1024 /* of an answer */
#define REQUEST_BYTES 2048 /* of a request's headers */
#define REQUESTS      32   /* whose headers are read at the same time */
#define CONNECTIONS   256
#define TIMEOUT       3 /* s: for a request, and of silence on a connection; less than a probe's */

struct server {
    struct server_config config;
    struct lws_context *context;
    struct lws_vhost *vhost;
    _Atomic bool is_stopping;
    bool is_running;
    pthread_t thread;
};

/* One request, in memory that lws gives and zeroes. */
struct exchange {
    struct buf body; /* after LWS_PRE bytes that lws writes into */
    size_t sent;     /* of it, LWS_PRE included */
    bool is_head;
    bool closes;
};

/* ---- One request ---- */

static int end_exchange(struct lws *wsi, struct exchange *exchange)
{
    bool closes = exchange->closes;

    buf_done(&exchange->body);
    *exchange = (struct exchange){0};
    return closes || lws_http_transaction_completed(wsi) ? -1 : 0;
}

static int send_headers(struct lws *wsi, struct exchange *exchange, unsigned status)
{
    static const char content_type[] = "text/plain; version=0.0.4; charset=utf-8";
    unsigned char headers[LWS_PRE + HEADER_BYTES], *at = headers + LWS_PRE;
    unsigned char *end = headers + sizeof(headers) - 1;

    if (lws_add_http_common_headers(wsi, status, content_type, exchange->body.length - LWS_PRE, &at,
                                    end) ||
        (status == HTTP_STATUS_METHOD_NOT_ALLOWED &&
         lws_add_http_header_by_token(wsi, WSI_TOKEN_HTTP_ALLOW, (const unsigned char *)"GET, HEAD",
                                      9, &at, end)) ||
        lws_finalize_write_http_header(wsi, headers + LWS_PRE, &at, end))
        return -1;
    if (exchange->is_head)
        return end_exchange(wsi, exchange);
    lws_callback_on_writable(wsi);
    return 0;
}

static int on_request(struct lws *wsi, struct exchange *exchange, const char *path, size_t length)
{
    static const char room[LWS_PRE];
    const struct server *server = lws_context_user(lws_get_context(wsi));
    bool is_get = lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) > 0;
    _cleanup_free_ char *text = str_new_n(path, length);
    unsigned status = HTTP_STATUS_METHOD_NOT_ALLOWED;

    buf_done(&exchange->body);
    *exchange = (struct exchange){.body = BUF_INIT, .sent = LWS_PRE};
    exchange->is_head = lws_hdr_total_length(wsi, WSI_TOKEN_HEAD_URI) > 0;
    exchange->closes = server->config.closes;
    buf_add(&exchange->body, room, sizeof(room));
    if (is_get || exchange->is_head) {
        status = server->config.answer(server->config.arg, text, &exchange->body);
    } else {
        exchange->closes = true; /* a body may follow that nobody reads */
        buf_add_str(&exchange->body, "method not allowed\n");
    }
    return send_headers(wsi, exchange, status);
}

static int on_writable(struct lws *wsi, struct exchange *exchange)
{
    size_t left = exchange->body.length - exchange->sent;
    size_t now = left < CHUNK_BYTES ? left : CHUNK_BYTES;
    bool is_last = now == left;

    if (exchange->body.length == 0)
        return 0;
    if (lws_write(wsi, (unsigned char *)exchange->body.data + exchange->sent, now,
                  is_last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) != (int)now)
        return -1;
    exchange->sent += now;
    if (is_last)
        return end_exchange(wsi, exchange);
    lws_callback_on_writable(wsi);
    return 0;
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                    size_t length)
{
    switch ((int)reason) {
    case LWS_CALLBACK_HTTP:
        return on_request(wsi, user, in, length);
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return on_writable(wsi, user);
    case LWS_CALLBACK_CLOSED_HTTP:
    case LWS_CALLBACK_HTTP_DROP_PROTOCOL:
        if (user)
            buf_done(&((struct exchange *)user)->body);
        return 0;
    case LWS_CALLBACK_HTTP_BODY: /* of a method that was refused */
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
    case LWS_CALLBACK_FILTER_HTTP_CONNECTION:
        return 0;
    default:
        return lws_callback_http_dummy(wsi, reason, user, in, length);
    }
}

static const struct lws_protocols protocols[] = {
    {.name = "http", .callback = on_event, .per_session_data_size = sizeof(struct exchange)},
    {0},
};

/* ---- Lifetime ---- */

static void log_line(int level, const char *line)
{
    _cleanup_free_ char *text = str_new_n(line, strcspn(line, "\n"));

    if (level == LLL_ERR)
        log_error("libwebsockets", "message", text, NULL);
}

static struct lws_vhost *listen_on(struct server *server, const struct address *address,
                                   bool only_v4)
{
    struct lws_context_creation_info info = {
        .port = address->port,
        .iface = *address->host ? address->host : NULL,
        .protocols = protocols,
        .vhost_name = server->config.name,
        .options = LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND |
                   (only_v4 ? LWS_SERVER_OPTION_DISABLE_IPV6 : 0),
        .timeout_secs = TIMEOUT,
        .keepalive_timeout = TIMEOUT,
    };

    return lws_create_vhost(server->context, &info);
}

static int serve(struct server *server, struct error *error)
{
    const struct server_config *config = &server->config;
    struct address address;
    int r = address_parse(config->address, &address, error);

    if (r < 0)
        return r;
    /* All addresses: by an IPv6 socket, which takes both, but where the kernel has none. */
    if (address.is_v6 || !*address.host)
        server->vhost = listen_on(server, &address, false);
    if (!server->vhost && !address.is_v6)
        server->vhost = listen_on(server, &address, true);
    if (!server->vhost)
        return err_set(error, ERR_UNAVAILABLE, "AddressUnavailable",
                       "cannot listen on \"%s\" for %s", config->address, config->name);
    return 0;
}

static void *run(void *arg)
{
    struct server *server = arg;

    while (!atomic_load(&server->is_stopping) && lws_service(server->context, 0) >= 0)
        ;
    return NULL;
}

static int server_start(struct server *server, struct error *error)
{
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN,
        .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_NO_LWS_SYSTEM_STATES,
        .user = server,
        .gid = (gid_t)-1,
        .uid = (uid_t)-1,
        .fd_limit_per_thread = CONNECTIONS, /* else its tables have the size of the ulimit */
        .max_http_header_data = REQUEST_BYTES,
        .max_http_header_pool = REQUESTS,
    };
    int r;

    lws_set_log_level(LLL_ERR, log_line);
    server->context = lws_create_context(&info);
    if (!server->context)
        return err_set(error, ERR_UNAVAILABLE, "NoServer", "libwebsockets does not start");
    r = serve(server, error);
    if (r >= 0)
        r = thread_start(server->config.name, THREAD_SMALL, run, server, &server->thread, error);
    server->is_running = r >= 0;
    return r;
}

struct server *server_new(const struct server_config *config, struct error *error)
{
    struct server *server = NEW(struct server);

    server->config = *config;
    if (server_start(server, error) < 0)
        server_free(TAKE(server));
    return server;
}

void server_free(struct server *server)
{
    if (!server)
        return;
    if (server->is_running) {
        atomic_store(&server->is_stopping, true);
        lws_cancel_service(server->context);
        pthread_join(server->thread, NULL);
    }
    if (server->context)
        lws_context_destroy(server->context);
    free(server);
}

int server_port(const struct server *server)
{
    return lws_get_vhost_listen_port(server->vhost);
}

unsigned server_not_found(struct buf *body)
{
    buf_add_str(body, "not found\n");
    return HTTP_STATUS_NOT_FOUND;
}
