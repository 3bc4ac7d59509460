#include "test/unit/runtimes/io/http_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"

#define MAX_CONNECTIONS 512
#define STEP_MS         10

struct connection {
    struct http_server *server;
    pthread_t thread;
    int fd;
    unsigned served;
};

struct http_server {
    char *url;
    int listener;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct connection connections[MAX_CONNECTIONS];
    unsigned n_connections;
    unsigned n_requests;
    bool released;
    bool stopping;
};

/* head and body of one request, as they came. */
struct arrived {
    struct buf text;
    size_t head_length;
    char method[16];
    char path[256];
};

static bool send_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(fd, data, length, MSG_NOSIGNAL);

        if (sent <= 0)
            return false;
        data += sent;
        length -= (size_t)sent;
    }
    return true;
}

static bool send_str(int fd, const char *text)
{
    return send_all(fd, text, strlen(text));
}

static bool answer(int fd, const char *status, const char *headers, const char *body)
{
    _cleanup_free_ char *text = str_printf("HTTP/1.1 %s\r\nContent-Length: %zu\r\n%s\r\n%s", status,
                                           strlen(body), headers, body);

    return send_str(fd, text);
}

static bool stopping(struct http_server *server)
{
    bool result;

    pthread_mutex_lock(&server->lock);
    result = server->stopping;
    pthread_mutex_unlock(&server->lock);
    return result;
}

/* Sleeps; false: the server stops. */
static bool pause_ms(struct http_server *server, int ms)
{
    for (; ms > 0 && !stopping(server); ms -= STEP_MS)
        usleep(STEP_MS * 1000);
    return !stopping(server);
}

static bool hello(struct connection *c, const struct arrived *request)
{
    (void)request;
    return answer(c->fd, "200 OK", "Content-Type: text/plain; charset=utf-8\r\n", "hello");
}

static bool echo(struct connection *c, const struct arrived *request)
{
    return answer(c->fd, "200 OK", "", request->text.data);
}

static bool none(struct connection *c, const struct arrived *request)
{
    (void)request;
    return send_str(c->fd, "HTTP/1.1 204 No Content\r\n\r\n");
}

static bool head_only(struct connection *c, const struct arrived *request)
{
    (void)request;
    return send_str(c->fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
}

static bool failure(struct connection *c, const struct arrived *request)
{
    (void)request;
    return answer(c->fd, "500 Internal Server Error", "", "it is broken");
}

static bool redirect(struct connection *c, const struct arrived *request)
{
    (void)request;
    return answer(c->fd, "302 Found", "Location: /hello\r\n", "");
}

static bool busy(struct connection *c, const struct arrived *request)
{
    (void)request;
    return answer(c->fd, "429 Too Many Requests", "Retry-After: 7\r\n", "");
}

static bool hold(struct connection *c, const struct arrived *request)
{
    struct http_server *server = c->server;

    pthread_mutex_lock(&server->lock);
    while (!server->released && !server->stopping)
        pthread_cond_wait(&server->changed, &server->lock);
    pthread_mutex_unlock(&server->lock);
    return hello(c, request);
}

static bool hang_up(struct connection *c, const struct arrived *request)
{
    (void)c;
    (void)request;
    return false;
}

/* Answers once, and hangs up on the next request of the same connection. */
static bool hang_up_later(struct connection *c, const struct arrived *request)
{
    return c->served > 1 ? false : hello(c, request);
}

static bool broken_body(struct connection *c, const struct arrived *request)
{
    (void)request;
    send_str(c->fd, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
    return false;
}

static bool garbage(struct connection *c, const struct arrived *request)
{
    (void)request;
    send_str(c->fd, "what?\r\n\r\n");
    return false;
}

static bool huge(struct connection *c, const struct arrived *request)
{
    static const char chunk[] = "10\r\n0123456789abcdef\r\n";

    (void)request;
    if (!send_str(c->fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"))
        return false;
    while (!stopping(c->server) && send_str(c->fd, chunk))
        ;
    return false;
}

static bool chunks(struct connection *c, const struct arrived *request)
{
    (void)request;
    return send_str(c->fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n") &&
           pause_ms(c->server, 30) && send_str(c->fd, "3\r\ntwo\r\n") && pause_ms(c->server, 30) &&
           send_str(c->fd, "5\r\nthree\r\n0\r\n\r\n");
}

/* A byte each 200 ms, 15 times. */
static bool drip(struct connection *c, const struct arrived *request)
{
    (void)request;
    send_str(c->fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 15; i++)
        if (!pause_ms(c->server, 200) || !send_str(c->fd, "1\r\n.\r\n"))
            return false;
    return send_str(c->fd, "0\r\n\r\n");
}

/* One chunk, and then nothing. */
static bool stall(struct connection *c, const struct arrived *request)
{
    (void)request;
    send_str(c->fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
    while (pause_ms(c->server, 1000))
        ;
    return false;
}

static const struct {
    const char *path;
    bool (*serve)(struct connection *c, const struct arrived *request);
} routes[] = {
    {"/hello", hello},
    {"/echo", echo},
    {"/none", none},
    {"/head-only", head_only},
    {"/failure", failure},
    {"/redirect", redirect},
    {"/busy", busy},
    {"/hold", hold},
    {"/hang-up", hang_up},
    {"/hang-up-later", hang_up_later},
    {"/broken-body", broken_body},
    {"/garbage", garbage},
    {"/huge", huge},
    {"/chunks", chunks},
    {"/drip", drip},
    {"/stall", stall},
};

static bool receive_more(int fd, struct buf *text)
{
    char part[4096];
    ssize_t length = recv(fd, part, sizeof(part), 0);

    if (length > 0)
        buf_add(text, part, (size_t)length);
    return length > 0;
}

static bool receive_request(int fd, struct arrived *request)
{
    const char *end, *length;
    size_t body = 0;

    while (!(end = strstr(request->text.data, "\r\n\r\n")))
        if (!receive_more(fd, &request->text))
            return false;
    request->head_length = (size_t)(end - request->text.data) + 4;
    length = strcasestr(request->text.data, "\r\nContent-Length:");
    if (length && length < end)
        body = strtoul(length + strlen("\r\nContent-Length:"), NULL, 10);
    while (request->text.length < request->head_length + body)
        if (!receive_more(fd, &request->text))
            return false;
    return sscanf(request->text.data, "%15s %255s", request->method, request->path) == 2;
}

static void count_request(struct http_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->n_requests++;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

static bool serve_path(struct connection *c, const struct arrived *request)
{
    size_t length = strcspn(request->path, "?");

    for (size_t i = 0; i < ARRAY_SIZE(routes); i++)
        if (strlen(routes[i].path) == length && !strncmp(routes[i].path, request->path, length))
            return routes[i].serve(c, request);
    return answer(c->fd, "404 Not Found", "", request->path);
}

static bool serve_one(struct connection *c)
{
    struct arrived request = {.text = BUF_INIT};
    bool go_on = receive_request(c->fd, &request);

    if (go_on) {
        c->served++;
        count_request(c->server);
        go_on = serve_path(c, &request);
    }
    buf_done(&request.text);
    return go_on;
}

static void *run_connection(void *arg)
{
    struct connection *c = arg;

    while (!stopping(c->server) && serve_one(c))
        ;
    shutdown(c->fd, SHUT_RDWR);
    return NULL;
}

static void add_connection(struct http_server *server, int fd)
{
    struct connection *c;

    pthread_mutex_lock(&server->lock);
    if (server->n_connections == MAX_CONNECTIONS)
        abort();
    c = &server->connections[server->n_connections++];
    *c = (struct connection){.server = server, .fd = fd};
    if (pthread_create(&c->thread, NULL, run_connection, c) != 0)
        abort();
    pthread_mutex_unlock(&server->lock);
}

static void *run_server(void *arg)
{
    struct http_server *server = arg;
    struct pollfd poll_fd = {.fd = server->listener, .events = POLLIN};

    while (!stopping(server))
        if (poll(&poll_fd, 1, STEP_MS) > 0)
            add_connection(server, accept(server->listener, NULL, NULL));
    return NULL;
}

struct http_server *http_server_new(void)
{
    struct http_server *server = NEW(struct http_server);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);

    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->changed, NULL);
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(server->listener, (struct sockaddr *)&address, length) < 0 ||
        listen(server->listener, 128) < 0 ||
        getsockname(server->listener, (struct sockaddr *)&address, &length) < 0 ||
        pthread_create(&server->thread, NULL, run_server, server) != 0)
        abort();
    server->url = str_printf("http://127.0.0.1:%d", ntohs(address.sin_port));
    return server;
}

void http_server_free(struct http_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->stopping = true;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
    pthread_join(server->thread, NULL);
    for (unsigned i = 0; i < server->n_connections; i++) {
        shutdown(server->connections[i].fd, SHUT_RDWR);
        pthread_join(server->connections[i].thread, NULL);
        close(server->connections[i].fd);
    }
    close(server->listener);
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->lock);
    free(server->url);
    free(server);
}

const char *http_server_url(const struct http_server *server)
{
    return server->url;
}

unsigned http_server_connections(struct http_server *server)
{
    unsigned count;

    pthread_mutex_lock(&server->lock);
    count = server->n_connections;
    pthread_mutex_unlock(&server->lock);
    return count;
}

unsigned http_server_requests(struct http_server *server)
{
    unsigned count;

    pthread_mutex_lock(&server->lock);
    count = server->n_requests;
    pthread_mutex_unlock(&server->lock);
    return count;
}

int http_server_await(struct http_server *server, unsigned requests)
{
    struct timespec limit;
    bool seen;

    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 10;
    pthread_mutex_lock(&server->lock);
    while (server->n_requests < requests &&
           pthread_cond_timedwait(&server->changed, &server->lock, &limit) == 0)
        ;
    seen = server->n_requests >= requests;
    pthread_mutex_unlock(&server->lock);
    return seen;
}

void http_server_release(struct http_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->released = true;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}
