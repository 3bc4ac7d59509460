#include "controller/serve/server.h"

#include <arpa/inet.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "test/unit/suite.h"

struct fixture {
    struct metrics *metrics;
    struct server *server;
    _Atomic bool ready;
};

static bool is_ready(void *arg, struct buf *why_not)
{
    buf_add_str(why_not, "nobody answers");
    return atomic_load(&((struct fixture *)arg)->ready);
}

static void fixture_start(struct fixture *fixture)
{
    struct server_config config = {.health_address = "127.0.0.1:0",
                                   .metrics_address = "127.0.0.1:0",
                                   .ready = is_ready,
                                   .arg = fixture};
    struct error error = {0};

    config.metrics = fixture->metrics = metrics_new();
    atomic_store(&fixture->ready, false);
    fixture->server = server_new(&config, &error);
    EXPECT(fixture->server, error.message);
}

static void fixture_stop(struct fixture *fixture)
{
    server_free(fixture->server);
    metrics_free(fixture->metrics);
}

static int connect_to(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {.tv_sec = 10};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    close(fd);
    return -1;
}

/* The whole of what comes back until the other side closes; free() it. */
static char *ask(int port, const char *request)
{
    struct buf answer = BUF_INIT;
    int fd = connect_to(port);
    char part[4096];

    EXPECT(fd >= 0, request);
    EXPECT_INT(send(fd, request, strlen(request), MSG_NOSIGNAL), (long long)strlen(request),
               request);
    for (ssize_t n; (n = recv(fd, part, sizeof(part), 0)) > 0;)
        buf_add(&answer, part, (size_t)n);
    close(fd);
    return buf_take(&answer);
}

#define REQUEST(line) line " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

static const struct row {
    const char *request;
    bool on_metrics;
    const char *status;
    const char *body; /* how it ends; NULL: not looked at */
} rows[] = {
    {REQUEST("GET /healthz"), false, "HTTP/1.1 200", "\r\n\r\nok"},
    {REQUEST("GET /healthz?verbose"), false, "HTTP/1.1 200", "\r\n\r\nok"},
    {REQUEST("GET /readyz"), false, "HTTP/1.1 503", "\r\n\r\nnot ok: nobody answers\n"},
    {REQUEST("HEAD /healthz"), false, "HTTP/1.1 200", "\r\n\r\n"},
    {REQUEST("GET /metrics"), true, "HTTP/1.1 200", "\n"},
    {REQUEST("GET /metrics"), false, "HTTP/1.1 404", "not found\n"},
    {REQUEST("GET /healthz"), true, "HTTP/1.1 404", "not found\n"},
    {REQUEST("GET /"), false, "HTTP/1.1 404", "not found\n"},
    {REQUEST("GET /../etc/passwd"), false, "HTTP/1.1 40", NULL},
    {REQUEST("DELETE /healthz"), false, "HTTP/1.1 405", "method not allowed\n"},
    {"POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", false, "HTTP/1.1 405",
     "method not allowed\n"},
};

static void answers(void)
{
    struct fixture fixture;

    fixture_start(&fixture);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct row *row = &rows[i];
        int port = row->on_metrics ? server_metrics_port(fixture.server)
                                   : server_health_port(fixture.server);
        _cleanup_free_ char *answer = ask(port, row->request);

        EXPECT(str_has_prefix(answer, row->status), row->request);
        if (row->body)
            EXPECT(str_has_suffix(answer, row->body), row->request);
        if (!str_has_prefix(answer, row->status))
            fprintf(stderr, "%s\n", answer);
    }
    fixture_stop(&fixture);
}

static void follows_its_question(void)
{
    struct fixture fixture;
    _cleanup_free_ char *ready = NULL;

    fixture_start(&fixture);
    atomic_store(&fixture.ready, true);
    ready = ask(server_health_port(fixture.server), REQUEST("GET /readyz"));
    EXPECT(str_has_prefix(ready, "HTTP/1.1 200"), ready);
    fixture_stop(&fixture);
}

/* More than one write, and more than one request on a connection. */
static void serves_large_metrics(void)
{
    struct fixture fixture;
    struct metric *x;
    _cleanup_free_ char *answer = NULL;

    fixture_start(&fixture);
    x = metrics_counter(fixture.metrics, "x_total", "X.", "n", NULL);
    for (unsigned i = 0; i < METRIC_SERIES; i++) {
        _cleanup_free_ char *value = str_printf("%0200u", i);

        metric_add(x, 1, value, NULL);
    }
    answer = ask(server_metrics_port(fixture.server),
                 "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" REQUEST("GET /nothing"));
    EXPECT(strlen(answer) > 200000, "length");
    EXPECT(strcasestr(answer, "content-type: text/plain; version=0.0.4"), "type");
    EXPECT(strstr(answer, "000999\"} 1\nHTTP/1.1 404"), "the end, and the next answer");
    fixture_stop(&fixture);
}

static void stops_under_open_connections(void)
{
    struct fixture fixture;
    int idle, half;

    fixture_start(&fixture);
    idle = connect_to(server_health_port(fixture.server));
    half = connect_to(server_health_port(fixture.server));
    EXPECT_INT(send(half, "GET /hea", 8, MSG_NOSIGNAL), 8, "half a request");
    usleep(10000);
    fixture_stop(&fixture);
    close(idle);
    close(half);
}

static void says_what_it_cannot_listen_on(void)
{
    struct fixture fixture;
    struct server_config config = {0};
    struct error error = {0};
    struct server *none;
    _cleanup_free_ char *taken = NULL;

    config.health_address = "nonsense";
    EXPECT(!server_new(&config, &error), "no address");
    EXPECT_INT(error.code, ERR_INVALID, error.message);
    config.health_address = config.metrics_address = ":8080";
    EXPECT(!server_new(&config, &error), "the same twice");
    EXPECT_INT(error.code, ERR_INVALID, error.message);
    fixture_start(&fixture);
    taken = str_printf("127.0.0.1:%d", server_health_port(fixture.server));
    config = (struct server_config){.health_address = taken};
    EXPECT(!server_new(&config, &error), "taken");
    EXPECT_INT(error.code, ERR_UNAVAILABLE, error.message);
    fixture_stop(&fixture);
    config = (struct server_config){.health_address = ""};
    none = server_new(&config, &error);
    EXPECT(none && server_health_port(none) == 0 && server_metrics_port(none) == 0,
           "none asked for");
    server_free(none);
}

static void listens_on_all_addresses(void)
{
    struct server_config config = {.health_address = ":0"};
    struct error error = {0};
    struct server *server = server_new(&config, &error);
    _cleanup_free_ char *answer = NULL;

    EXPECT(server, error.message);
    answer = ask(server_health_port(server), REQUEST("GET /readyz"));
    EXPECT(str_has_prefix(answer, "HTTP/1.1 200"), "over IPv4 too");
    server_free(server);
}

SUITE(server, TEST(answers), TEST(follows_its_question), TEST(serves_large_metrics),
      TEST(stops_under_open_connections), TEST(says_what_it_cannot_listen_on),
      TEST(listens_on_all_addresses))
